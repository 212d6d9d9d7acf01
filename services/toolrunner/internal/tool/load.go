// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"example.org/desktop-assistant/proto"
)

const extension = ".toml"

var (
	nameForm     = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	paramForm    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)
	languageForm = regexp.MustCompile(`^[a-z]{2,3}([-_][A-Za-z0-9]{1,8})*$`)
)

var (
	toolKeys = []string{"description", "command", "timeout", "announce", "sentences", "reply", "params",
		"external", "confirm", "parallel", "max_output", "env", "inherit_env", "sandbox"}
	sandboxKeys = []string{"read", "write", "network"}
	paramKeys   = []string{"type", "description", "enum", "pattern", "required"}
	paramTypes  = []string{"string", "integer", "number", "boolean", "array", "object"}
)

// folderHint says what to do about a tools folder that cannot be read.
func folderHint(dir string, err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "make it and put tools there: mkdir -p " + plain(dir)
	}
	return "see who may read it: ls -ld " + plain(dir)
}

// LoadDir reads every NAME.toml of a folder, in the order of the file names.
// Hidden files, other endings and folders below are passed over. It returns
// what can be used and names the rest in Set.Problems; a folder that cannot be
// read is a problem too.
func LoadDir(dir string) Set {
	if dir == "" { // it must not become the working directory
		return Set{Problems: []Problem{{File: "tools", Text: "no tools folder is set"}}}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Set{Dir: dir, Problems: []Problem{{File: dir, Text: reason(err)}}}
	}
	set := Set{Dir: abs}
	entries, err := os.ReadDir(abs)
	if err != nil {
		set.Problems = append(set.Problems, Problem{File: abs, Text: "read tools folder: " + reason(err), Hint: folderHint(abs, err)})
		return set
	}
	if info, err := os.Stat(abs); err == nil && info.Mode().Perm()&0o002 != 0 {
		set.Problems = append(set.Problems, Problem{File: abs, Text: "everyone may write to the tools folder",
			Hint: "chmod o-w " + plain(abs), Warning: true})
	}
	size := 0
	for _, entry := range entries {
		file := entry.Name()
		if strings.HasPrefix(file, ".") || !strings.HasSuffix(file, extension) {
			continue
		}
		t, problems := load(filepath.Join(abs, file))
		set.Problems = append(set.Problems, problems...)
		if t == nil {
			continue
		}
		if size += t.size(); size > maxSpecs {
			set.Problems = append(set.Problems, Problem{File: t.File,
				Text: fmt.Sprintf("the tools up to this one say more of themselves than the %d bytes that fit into a list", maxSpecs),
				Hint: "shorten descriptions and sentences, or take tools out of the folder"})
			continue
		}
		set.Tools = append(set.Tools, t)
	}
	return set
}

func load(file string) (*Tool, []Problem) {
	data, err := readFile(file)
	if err != nil {
		return nil, []Problem{{File: file, Text: reason(err)}}
	}
	return Decode(file, data)
}

// readFile reads a regular file of at most maxFile bytes and never waits, also
// when the name is a pipe's.
func readFile(file string) (data []byte, err error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	data, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		return nil, fmt.Errorf("larger than %d bytes", maxFile)
	}
	return data, err
}

// reason is an error without the path that the problem names already.
func reason(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return err.Error()
}

// Decode reads one tool from the text of its file; the name comes from the
// file's name. It returns nil and at least one error when the tool cannot be
// used; the problems beside a tool are warnings.
func Decode(file string, data []byte) (*Tool, []Problem) {
	d := parseDocument(file, data)
	name := strings.TrimSuffix(filepath.Base(file), extension)
	if !nameForm.MatchString(name) {
		d.problems = append(d.problems, Problem{File: file,
			Text: fmt.Sprintf("%q cannot be a tool's name", name), Hint: "use 1 to 64 of A-Z a-z 0-9 _ -"})
	}
	if d.values == nil || d.broken() {
		return nil, d.problems
	}
	t := &Tool{Name: name, File: file}
	d.unknown(nil, toolKeys)
	d.readText(t)
	d.readParams(t)
	d.readCommand(t)
	d.readRules(t)
	d.readEnv(t)
	d.readSpeech(t)
	if d.broken() {
		return nil, d.problems
	}
	return t, d.problems
}

func (d *document) readText(t *Tool) {
	if _, ok := d.get([]string{"description"}); !ok {
		d.fault(nil, "no description")
		return
	}
	t.Description = strings.TrimSpace(want(d, "a string", "-", "description"))
	if t.Description == "" {
		d.fault([]string{"description"}, "description is empty")
	}
}

func (d *document) readParams(t *Tool) {
	for _, name := range d.keys("params") {
		keys := []string{"params", name}
		if !paramForm.MatchString(name) {
			d.fault(keys, "%q cannot be a param's name", name)
			continue
		}
		if want[map[string]any](d, "a table", nil, keys...) == nil {
			continue
		}
		d.unknown(keys, paramKeys)
		p := Param{
			Name:        name,
			Type:        want(d, "a string", "string", "params", name, "type"),
			Description: strings.TrimSpace(want(d, "a string", "", "params", name, "description")),
			Required:    want(d, "a boolean", false, "params", name, "required"),
		}
		if !slices.Contains(paramTypes, p.Type) {
			d.fault([]string{"params", name, "type"}, "params.%s.type must be one of %s, not %q", name, strings.Join(paramTypes, ", "), p.Type)
		}
		p.Enum = d.readEnum(p)
		p.Pattern = d.readPattern(p)
		t.Params = append(t.Params, p)
	}
}

func (d *document) readEnum(p Param) []string {
	keys := []string{"params", p.Name, "enum"}
	if _, ok := d.get(keys); !ok {
		return nil
	}
	var list []string
	for _, value := range want[[]any](d, "an array", nil, keys...) {
		text, ok := scalarText(value)
		if !ok || !fits(value, p.Type) {
			d.fault(keys, "params.%s.enum holds %s, but the type is %s", p.Name, typeName(value), p.Type)
			return nil
		}
		list = append(list, text)
	}
	if len(list) == 0 {
		d.fault(keys, "params.%s.enum allows nothing", p.Name)
	}
	return list
}

// fits reports whether a TOML value is of a type of JSON Schema.
func fits(value any, kind string) bool {
	switch value.(type) {
	case string:
		return kind == "string"
	case bool:
		return kind == "boolean"
	case int64:
		return kind == "integer" || kind == "number"
	case float64:
		return kind == "number"
	}
	return false
}

func (d *document) readPattern(p Param) *regexp.Regexp {
	keys := []string{"params", p.Name, "pattern"}
	if _, ok := d.get(keys); !ok {
		return nil
	}
	re, err := regexp.Compile(`^(?:` + want(d, "a string", "", keys...) + `)$`)
	if err != nil {
		d.fault(keys, "params.%s.pattern is not a regular expression: %s", p.Name, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return nil
	}
	return re
}

func (d *document) readCommand(t *Tool) {
	keys := []string{"command"}
	if _, ok := d.get(keys); !ok {
		d.fault(nil, "no command")
		return
	}
	before := len(d.problems)
	t.Command = d.texts(keys...)
	if len(d.problems) > before {
		return
	}
	if len(t.Command) == 0 || strings.TrimSpace(t.Command[0]) == "" {
		d.fault(keys, "command names no program")
		return
	}
	if len(placeholders(t.Command[0])) > 0 {
		d.fault(keys, "command: the program cannot be a placeholder, or the model would choose what runs")
		return
	}
	for i, element := range t.Command {
		d.declared(t, element, "", "command", fmt.Sprint(i))
	}
}

// declared reports placeholders without a param; one more name may be allowed.
func (d *document) declared(t *Tool, text, allowed string, keys ...string) {
	for _, name := range placeholders(text) {
		if _, ok := t.Param(name); !ok && name != allowed {
			d.fault(keys, "%s: placeholder {%s} has no [params.%s]", keys[0], name, name)
		}
	}
}

func (d *document) readRules(t *Tool) {
	t.Timeout = d.readTimeout()
	t.External = want(d, "a boolean", false, "external")
	t.Parallel = want(d, "a boolean", true, "parallel")
	t.Confirm = want(d, "a string", proto.ConfirmNever, "confirm")
	if t.Confirm != proto.ConfirmNever && t.Confirm != proto.ConfirmVoice {
		d.fault([]string{"confirm"}, "confirm must be %q or %q, not %q", proto.ConfirmNever, proto.ConfirmVoice, t.Confirm)
	}
	limit := want(d, "a whole number", int64(DefaultOutput), "max_output")
	if limit < 1 || limit > maxOutput {
		d.fault([]string{"max_output"}, "max_output must be from 1 to %d", maxOutput)
	}
	t.MaxOutput = int(limit)
	t.Sandbox = d.readSandbox()
}

func (d *document) readSandbox() *Sandbox {
	const table = "sandbox"
	if _, ok := d.get([]string{table}); !ok {
		return nil
	}
	d.keys(table) // reports what is no table
	d.unknown([]string{table}, sandboxKeys)
	s := &Sandbox{
		Read:    d.texts(table, "read"),
		Write:   d.texts(table, "write"),
		Network: want(d, "a boolean", false, table, "network"),
	}
	for key, list := range map[string][]string{"read": s.Read, "write": s.Write} {
		for i, path := range list {
			if strings.TrimSpace(path) == "" || strings.Contains(path, "\x00") {
				d.fault([]string{table, key, fmt.Sprint(i)}, "sandbox.%s: %q is no path", key, path)
			}
		}
	}
	return s
}

func (d *document) readTimeout() time.Duration {
	keys := []string{"timeout"}
	value, ok := d.get(keys)
	if !ok {
		return DefaultTimeout
	}
	var seconds float64
	switch v := value.(type) {
	case int64:
		seconds = float64(v)
	case float64:
		seconds = v
	default:
		d.fault(keys, "timeout must be a number of seconds, not %s", typeName(value))
		return 0
	}
	timeout := time.Duration(math.Round(seconds*1e6)) * time.Microsecond
	if math.IsNaN(seconds) || seconds > MaxTimeout.Seconds() || timeout <= 0 {
		d.fault(keys, "timeout must be above 0 and at most %.0f seconds", MaxTimeout.Seconds())
		return 0
	}
	return timeout
}

func (d *document) readEnv(t *Tool) {
	t.InheritEnv = want(d, "a boolean", false, "inherit_env")
	for _, name := range d.keys("env") {
		keys := []string{"env", name}
		value, _ := d.get(keys)
		text, ok := scalarText(value)
		if !ok {
			d.fault(keys, "env.%s must be a string, number or boolean, not %s", name, typeName(value))
			continue
		}
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(text, "\x00") {
			d.fault(keys, "env.%s cannot be an environment variable", name)
			continue
		}
		if t.Env == nil {
			t.Env = map[string]string{}
		}
		t.Env[name] = text
	}
}

func (d *document) readSpeech(t *Tool) {
	t.Announce = d.readPhrases("announce")
	t.Sentences = d.readPhrases("sentences")
	for _, language := range d.keys("sentences") {
		for i, sentence := range t.Sentences[language] {
			d.declared(t, sentence, "", "sentences", language, fmt.Sprint(i))
		}
	}
	for _, language := range d.keys("reply") {
		text := want(d, "a string", "", "reply", language)
		if !d.language("reply", language) || text == "" {
			continue
		}
		d.declared(t, text, "output", "reply", language)
		if t.Reply == nil {
			t.Reply = map[string]string{}
		}
		t.Reply[language] = text
	}
}

// readPhrases reads a table of arrays of texts by language.
func (d *document) readPhrases(table string) map[string][]string {
	var phrases map[string][]string
	for _, language := range d.keys(table) {
		if !d.language(table, language) {
			continue
		}
		list := d.texts(table, language)
		for i, text := range list {
			if strings.TrimSpace(text) == "" || !utf8.ValidString(text) {
				d.fault([]string{table, language, fmt.Sprint(i)}, "%s.%s holds an empty text", table, language)
			}
		}
		if len(list) > 0 {
			if phrases == nil {
				phrases = map[string][]string{}
			}
			phrases[language] = list
		}
	}
	return phrases
}

func (d *document) language(table, key string) bool {
	if !languageForm.MatchString(key) {
		d.fault([]string{table, key}, "%s.%s: %q is not a language such as en", table, key, key)
		return false
	}
	return true
}
