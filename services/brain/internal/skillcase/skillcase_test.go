// SPDX-License-Identifier: Apache-2.0

package skillcase

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "adapter" { // the program under test
		os.Exit(Main(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// kase is one case. README.md beside the handed ones says what its parts mean.
type kase struct {
	Name         string            `json:"name"`
	Files        map[string]any    `json:"files"`
	Modes        map[string]string `json:"modes"`
	NeedsNonRoot bool              `json:"needs_non_root"`
	Expect       struct {
		Names          []string         `json:"names"`
		NamesAny       [][]string       `json:"names_any"`
		InOrder        bool             `json:"in_order"`
		Descriptions   map[string]oneOf `json:"descriptions"`
		DescriptionsIf map[string]oneOf `json:"descriptions_if"`
		Never          []string         `json:"descriptions_never"`
		DescMax        int              `json:"desc_max"`
		Texts          map[string]oneOf `json:"texts"`
		TextNever      []string         `json:"text_never"`
		TextMax        int              `json:"text_max"`
		Refused        []string         `json:"text_refused"`
		Warnings       []string         `json:"warnings_contain"`
		Mentions       []mention        `json:"mentions"`
	} `json:"expect"`
}

type mention struct {
	User     string     `json:"user"`
	Loads    []string   `json:"loads"`
	LoadsAny [][]string `json:"loads_any"`
	Text     oneOf      `json:"text"`
}

// oneOf is a text or a list of accepted ones.
type oneOf []string

func (o *oneOf) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*o = oneOf{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(o))
}

var repeat = regexp.MustCompile(`(?s)<repeat:(.*?):(\d+)>`)

// expand fills in what stands for much text.
func expand(s string) string {
	return repeat.ReplaceAllStringFunc(s, func(m string) string {
		part := repeat.FindStringSubmatch(m)
		n, _ := strconv.Atoi(part[2])
		return strings.Repeat(part[1], n)
	})
}

func expandAny(v any) any {
	switch v := v.(type) {
	case string:
		return expand(v)
	case []any:
		for i := range v {
			v[i] = expandAny(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = expandAny(v[k])
		}
	}
	return v
}

// decodeCase reads a case and fills in its placeholders.
func decodeCase(t *testing.T, raw []byte, dir string) (k kase) {
	t.Helper()
	var all any
	if err := json.Unmarshal(bytes.ReplaceAll(raw, []byte("<case>"), []byte(dir)), &all); err != nil {
		t.Fatal(err)
	}
	full, err := json.Marshal(expandAny(all))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(full, &k); err != nil {
		t.Fatal(err)
	}
	return k
}

// TestCases runs testdata/cases, which is the public third of a larger set, and
// testdata/own, which holds what the readings behind it say besides: one a line.
func TestCases(t *testing.T) {
	raw := map[string][]byte{}
	handed, err := filepath.Glob("testdata/cases/*/*.json")
	if err != nil || len(handed) < 50 {
		t.Fatalf("%d cases, %v", len(handed), err)
	}
	for _, path := range handed {
		raw[path], err = os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
	}
	own, err := filepath.Glob("testdata/own/*.jsonl")
	if err != nil || len(own) == 0 {
		t.Fatal(own, err)
	}
	for _, path := range own {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(content) {
			raw[fmt.Sprintf("%s:%d", path, len(raw))] = line
		}
	}
	for path, body := range raw {
		dir := t.TempDir()
		k := decodeCase(t, body, dir)
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			k.write(t, dir)
			k.run(t, dir, strings.Contains(path, "own/"))
		})
	}
}

func (k kase) write(t *testing.T, dir string) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for rel, body := range k.Files {
		path := filepath.Join(dir, rel)
		must(os.MkdirAll(filepath.Dir(path), 0o755))
		switch body := body.(type) {
		case string:
			must(os.WriteFile(path, []byte(body), 0o644))
		case map[string]any:
			switch {
			case body["symlink"] != nil:
				must(os.Symlink(body["symlink"].(string), path))
			case body["fifo"] != nil:
				must(syscall.Mkfifo(path, 0o644))
			default:
				var content []byte
				must(json.Unmarshal([]byte(strconv.Quote(body["b64"].(string))), &content))
				must(os.WriteFile(path, content, 0o644))
			}
		}
	}
	for rel, mode := range k.Modes {
		bits, err := strconv.ParseUint(mode, 8, 32)
		must(err)
		path := filepath.Join(dir, rel)
		must(os.Chmod(path, os.FileMode(bits)))
		t.Cleanup(func() { _ = os.Chmod(path, 0o755) })
	}
}

// talk asks all of a case in one go.
func (k kase) talk(t *testing.T, dir string, requests []any) []map[string]any {
	t.Helper()
	var in, out bytes.Buffer
	for _, r := range requests {
		body, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(body, '\n'))
	}
	switch {
	case k.NeedsNonRoot && os.Geteuid() == 0:
		cmd := nobody(t, dir)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, t.Output()
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
	default:
		if err := Serve(&in, &out); err != nil {
			t.Fatal(err)
		}
	}
	var answers []map[string]any
	lines := bufio.NewScanner(&out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if !utf8.Valid(lines.Bytes()) {
			t.Fatalf("not UTF-8: %q", lines.Bytes())
		}
		var a map[string]any
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
	if len(answers) != len(requests) {
		t.Fatalf("%d answers to %d", len(answers), len(requests))
	}
	return answers
}

// nobody is this program as a user who may not read everything.
func nobody(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	place, err := os.MkdirTemp("", "skillcase-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(place) })
	program := filepath.Join(place, "skills")
	body, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, body, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{place, dir, filepath.Dir(dir)} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), program, "adapter")
	cmd.Env, cmd.Dir = []string{"PATH=" + os.Getenv("PATH")}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534, NoSetGroups: true}}
	return cmd
}

func (k kase) run(t *testing.T, dir string, own bool) {
	skills := map[string]string{"op": "load", "skills_dir": filepath.Join(dir, "skills")}
	listed := k.talk(t, dir, []any{skills})[0]
	var names []string
	lines := map[string]string{}
	for _, s := range listed["skills"].([]any) {
		item := s.(map[string]any)
		name := item["name"].(string)
		names, lines[name] = append(names, name), item["description"].(string)
	}
	k.checkNames(t, names)
	k.checkLines(t, lines)
	warnings := fmt.Sprint(listed["warnings"])
	for _, part := range k.Expect.Warnings {
		if !strings.Contains(warnings, part) {
			t.Errorf("no warning names %q: %s", part, warnings)
		}
	}
	if own && len(names) < len(k.Expect.Names) {
		t.Errorf("warnings %s", warnings)
	}
	requests := []any{skills}
	for _, n := range slices.Concat(names, k.Expect.Refused) {
		requests = append(requests, map[string]string{"op": "text", "name": n})
	}
	for _, m := range k.Expect.Mentions {
		requests = append(requests, map[string]string{"op": "match", "user": m.User})
	}
	answers := k.talk(t, dir, requests)[1:]
	k.checkTexts(t, names, answers)
	for i, m := range k.Expect.Mentions {
		m.check(t, answers[len(names)+len(k.Expect.Refused)+i])
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

func (k kase) checkNames(t *testing.T, names []string) {
	bad := func(r rune) bool { return r == '/' || r == '\\' || unicode.IsControl(r) }
	for _, n := range names {
		if n == "" || n == "." || n == ".." || strings.ContainsFunc(n, bad) {
			t.Errorf("unusable name %q", n)
		}
	}
	if list := sorted(names); len(slices.Compact(list)) != len(names) {
		t.Errorf("one is listed twice: %q", names)
	}
	switch e := k.Expect; {
	case e.Names != nil && !slices.Equal(sorted(e.Names), sorted(names)), e.InOrder && !slices.Equal(e.Names, names):
		t.Errorf("names %q, want %q", names, e.Names)
	case e.NamesAny != nil && !slices.ContainsFunc(e.NamesAny, func(w []string) bool { return slices.Equal(sorted(w), sorted(names)) }):
		t.Errorf("names %q, want one of %q", names, e.NamesAny)
	}
}

func (k kase) checkLines(t *testing.T, lines map[string]string) {
	for n, d := range lines {
		if strings.ContainsAny(d, "\n\r") || k.Expect.DescMax > 0 && utf8.RuneCountInString(d) > k.Expect.DescMax {
			t.Errorf("description of %s: %q", n, d)
		}
		for _, bad := range k.Expect.Never {
			if strings.Contains(d, bad) {
				t.Errorf("description of %s holds %q: %q", n, bad, d)
			}
		}
	}
	for n, want := range k.Expect.Descriptions {
		if got, ok := lines[n]; !ok || !slices.Contains(want, got) {
			t.Errorf("description of %s: %q, want %q", n, got, want)
		}
	}
	for n, want := range k.Expect.DescriptionsIf {
		if got, ok := lines[n]; ok && !slices.Contains(want, got) {
			t.Errorf("description of %s: %q, want %q", n, got, want)
		}
	}
}

func (k kase) checkTexts(t *testing.T, names []string, answers []map[string]any) {
	clean := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	for i, n := range names {
		text, ok := answers[i]["text"].(string)
		if !ok {
			t.Errorf("no text of %s: %v", n, answers[i])
		}
		for _, bad := range k.Expect.TextNever {
			if strings.Contains(text, bad) {
				t.Errorf("text of %s holds %q", n, bad)
			}
		}
		if k.Expect.TextMax > 0 && len(text) > k.Expect.TextMax {
			t.Errorf("text of %s has %d bytes", n, len(text))
		}
		if want, ok := k.Expect.Texts[n]; ok && !slices.ContainsFunc(want, func(w string) bool { return clean(w) == clean(text) }) {
			t.Errorf("text of %s: %.200q, want %.200q", n, text, want)
		}
	}
	for i, n := range k.Expect.Refused {
		if text, ok := answers[len(names)+i]["text"]; ok {
			t.Errorf("text of %q: %q", n, text)
		}
	}
}

func (m mention) check(t *testing.T, answer map[string]any) {
	var loads []string
	for _, n := range answer["loads"].([]any) {
		loads = append(loads, n.(string))
	}
	wants := m.LoadsAny
	if wants == nil {
		wants = [][]string{m.Loads}
	}
	if !slices.ContainsFunc(wants, func(w []string) bool { return slices.Equal(sorted(w), sorted(loads)) }) {
		t.Errorf("%q loads %q, want one of %q", m.User, loads, wants)
	}
	flat := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	text := answer["text"].(string)
	if !slices.ContainsFunc(m.Text, func(w string) bool { return flat(w) == flat(text) }) {
		t.Errorf("%q becomes %q, want one of %q", m.User, text, m.Text)
	}
}

func TestServe(t *testing.T) {
	for in, want := range map[string]string{
		"no JSON":                      `decode request`,
		`{"op":"sing"}`:                `unknown op \"sing\"`,
		`{"op":"text","name":"x"}`:     `no such skill`,
		`{"op":"match","user":"/x y"}`: `{"loads":[],"text":"/x y"}`,
	} {
		var out, errs strings.Builder
		if status := Main(strings.NewReader(in+"\n"), &out, &errs); status != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %d, %s, %s", in, status, out.String(), errs.String())
		}
	}
	var out, errs strings.Builder
	if status := Main(strings.NewReader(strings.Repeat("x", maxLine+1)), &out, &errs); status != 1 || errs.Len() == 0 {
		t.Errorf("%d, %q", status, errs.String())
	}
}
