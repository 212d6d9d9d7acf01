// SPDX-License-Identifier: Apache-2.0

package agenda

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf16"
)

// simple makes an event of a day with a title, as bytes.
func simple(title string) string { return event("UID:"+title, "DTSTART:20260302", "SUMMARY:"+title) }

func wide(text string, big bool) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(text)) {
		if big {
			b.WriteString(string([]byte{byte(u >> 8), byte(u)}))
		} else {
			b.WriteString(string([]byte{byte(u), byte(u >> 8)}))
		}
	}
	return b.String()
}

func TestTexts(t *testing.T) {
	line := func(text string) map[string]string { return one(event("UID:1", "DTSTART:20260302", text)) }
	const day = "2026-03-02 all day "
	runOwn(t, []own{
		{"escapes", "2026-03-02 1 UTC", line(`SUMMARY:a\, b\; c\\n d\ne\Nf \"g\" 1\:2 C\:\\temp`), day + `a, b; c\n d e f "g" 1:2 C:\temp`, nil},
		{"unescaped", "2026-03-02 1 UTC", line(`SUMMARY:10:00, "quoted"; a\b\`), day + `10:00, "quoted"; a\b\`, nil},
		{"parameters", "2026-03-02 1 UTC", line(`SUMMARY;LANGUAGE=it;ALTREP="cid:a;b:c,d";X=1:Ciao: bello`), day + "Ciao: bello", nil},
		{"folded within a letter, and by a tab", "2026-03-02 1 UTC", line("SUM\r\n MARY:caf\xc3\r\n \xa9 au \r\n\tlait\n x"), day + "café au laitx", nil},
		{"no title", "2026-03-02 1 UTC", one(event("UID:1", "DTSTART:20260302"), event("UID:2", "DTSTART:20260302", "SUMMARY:"), event("UID:3", "DTSTART:20260302", `SUMMARY: \n `)),
			day + "(no title)\n" + day + "(no title)\n" + day + "(no title)", nil},
		{"Latin-1", "2026-03-02 1 UTC", line("SUMMARY:Caff\xe8 \x80 \x93x\x94"), day + "Caffè € “x”", nil},
		{"UTF-8 and Latin-1 in one file", "2026-03-02 1 UTC", one(event("UID:1", "DTSTART:20260302", "SUMMARY:\xe8"), event("UID:2", "DTSTART:20260302", "SUMMARY:è")), day + "è\n" + day + "è", nil},
		{"terminal codes", "2026-03-02 1 UTC", line("SUMMARY:a\x1b[31mb\x07\x00c\u2028d\u009be"), day + "a[31mbc de", nil},
		{"small letters", "2026-03-02 1 UTC", map[string]string{"a.ics": strings.ToLower(calendar(event("UID:1", "DTSTART;VALUE=DATE:20260302", "SUMMARY:a")))}, day + "a", nil},
		{"UTF-16", "2026-03-02 1 UTC", map[string]string{"a.ics": wide("\ufeff"+calendar(simple("little è 😀")), false), "b.ics": wide("\ufeff"+calendar(simple("big è 😀")), true),
			"c.ics": wide(calendar(simple("unmarked")), false)}, day + "big è 😀\n" + day + "little è 😀\n" + day + "unmarked", nil},
		{"line ends", "2026-03-02 1 UTC", map[string]string{"a.ics": strings.ReplaceAll(calendar(simple("mac")), "\r\n", "\r"), "b.ics": strings.ReplaceAll(calendar(simple("unix")), "\r\n", "\n"),
			"c.ics": strings.ReplaceAll(calendar(simple("twice")), "\r\n", "\r\r\n"), "d.ics": strings.TrimSuffix(calendar(simple("none")), "END:VCALENDAR\r\n") + "END:VCALENDAR"},
			day + "mac\n" + day + "none\n" + day + "twice\n" + day + "unix", nil},
		{"blanks", "2026-03-02 1 UTC", one("BEGIN:VEVENT \r\nUID : 1\r\nDTSTART: 20260302 \r\nSUMMARY:a\r\nEND: VEVENT\r\n"), day + "a", nil},
		{"order", "2026-03-02 1 UTC", one(event("UID:1", "DTSTART:20260302T090000", "SUMMARY:b"), event("UID:2", "DTSTART:20260302T090030", "SUMMARY:a"), event("UID:3", "DTSTART:20260301T230000", "DURATION:PT12H", "SUMMARY:z"),
			event("UID:4", "DTSTART:20260301T230000", "DURATION:PT2H", "SUMMARY:zz"), simple("é"), simple("Z")),
			day + "Z\n" + day + "é\n2026-03-02 until 01:00 zz\n2026-03-02 until 11:00 z\n2026-03-02 09:00 a\n2026-03-02 09:00 b", nil},
	})
}

func TestBrokenFiles(t *testing.T) {
	const day = "2026-03-02 all day "
	good := calendar(simple("good"))
	deep := strings.Repeat("BEGIN:X\r\n", 100_000)
	runOwn(t, []own{
		{"nothing", "2026-03-02 1 UTC", map[string]string{"a.ics": ""}, "no events", []string{"no calendar in it"}},
		{"garbage", "2026-03-02 1 UTC", map[string]string{"a.ics": "\x00\x01\x02\xff\xfe<html>", "b.ics": good, "c.ics": strings.Repeat("\x00", 100_000)}, day + "good",
			[]string{"a.ics: no calendar in it", "c.ics: no calendar in it"}},
		{"cut short", "2026-03-02 1 UTC", map[string]string{"a.ics": strings.Split(calendar(simple("a"), simple("b")), "SUMMARY:b")[0]}, day + "a", []string{"line 8: event without its END"}},
		{"an END missing", "2026-03-02 1 UTC", one(strings.Replace(simple("a"), "END:VEVENT\r\n", "", 1), simple("b"), simple("c")), day + "b\n" + day + "c", []string{"line 3: event without its END"}},
		{"an inner END missing", "2026-03-02 1 UTC", one(event("UID:1", "DTSTART:20260302", "SUMMARY:a", "BEGIN:VALARM", "SUMMARY:no"), simple("b")), day + "a\n" + day + "b", nil},
		{"an END too many", "2026-03-02 1 UTC", one("END:VEVENT\r\n", simple("a"), "END:VALARM\r\nEND:VEVENT\r\n", simple("b")), day + "a\n" + day + "b",
			[]string{"line 3: END of something", "line 9: END of something", "line 10: END of something"}},
		{"no calendar around it", "2026-03-02 1 UTC", map[string]string{"a.ics": simple("a")}, day + "a", nil},
		{"several calendars", "2026-03-02 1 UTC", map[string]string{"a.ics": calendar(simple("a")) + "\r\n" + calendar("METHOD:CANCEL\r\n", simple("no")) + calendar(simple("b"))}, day + "a\n" + day + "b", nil},
		{"other components", "2026-03-02 1 UTC", one(simple("a"), strings.ReplaceAll(simple("no"), "VEVENT", "VTODO"), strings.ReplaceAll(simple("nor"), "VEVENT", "VJOURNAL"), strings.ReplaceAll(simple("neither"), "VEVENT", "VFREEBUSY")),
			day + "a", nil},
		{"lines that are none", "2026-03-02 1 UTC", one(event("UID:1", "DTSTART:20260302", "DESCRIPTION:He said", `"no"`, "no colon", "SUMMARY", `SUMMARY;X="open:`, ":", "SUMMARY:a", "X-Ä:b", "1:2", "=:")),
			day + "a", []string{"line 7:", "line 8:", "line 9:", "line 10: SUMMARY", "line 11:", "2 more lines"}},
		{"no start", "2026-03-02 1 UTC", one(event("UID:1", "SUMMARY:a"), event("UID:2", "DTSTART:tomorrow", "SUMMARY:b"), event("UID:3", "DTSTART:20260230T100000", "SUMMARY:c"), simple("d")), day + "d",
			[]string{"line 3: event without a DTSTART", "line 9: DTSTART cannot be read", "line 7: event without a DTSTART", "line 14: DTSTART", "line 12: event without"}},
		{"too deep", "2026-03-02 1 UTC", map[string]string{"a.ics": calendar(simple("a"), deep, simple("b")), "b.ics": strings.Repeat("BEGIN:VEVENT\r\nUID:1\r\n", 100) + simple("c")},
			day + "a\n" + day + "b\n" + day + "c", []string{"too many", "too many", "too many", "too many", "too many", "more lines", "too many", "without its END", "without its END", "without its END", "without its END", "more lines"}},
		{"names", "2026-03-02 1 UTC", map[string]string{"work/a.ics": calendar(simple("a")), "work/deep/er/b.ics": calendar(simple("b")), "C.ICS": calendar(simple("c")), ".hidden.ics": good, ".trash/x.ics": good,
			"x.ics.tmp": good, "x.txt": good, "ics": good, "color": "#fff", "work/displayname": "Work", "folder.ics/d.ics": calendar(simple("d")), ".ics": good},
			day + "a\n" + day + "b\n" + day + "c\n" + day + "d", nil},
	})
}

// TestOddFiles: what has the name of a calendar but is none, links in a circle,
// a file reached on two ways, files that may not be read.
func TestOddFiles(t *testing.T) {
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, content string) { must(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644)) }
	must(os.MkdirAll(dir+"/a/b", 0o755))
	write("a/1.ics", calendar(event("DTSTART:20260302", "SUMMARY:one")))
	write("a/b/2.ics", calendar(simple("two")))
	must(os.Symlink(dir, dir+"/a/b/circle"))
	must(os.Symlink("circle.ics", dir+"/circle.ics"))
	must(os.Symlink("a/1.ics", dir+"/z.ics"))
	must(os.Symlink("nowhere", dir+"/dangling.ics"))
	must(syscall.Mkfifo(dir+"/pipe.ics", 0o644))
	must(os.Symlink("/dev/zero", dir+"/zero.ics"))
	write("large.ics", "")
	must(os.Truncate(dir+"/large.ics", 1<<40))
	elsewhere := t.TempDir()
	must(os.WriteFile(elsewhere+"/3.ics", []byte(calendar(simple("three"))), 0o644))
	must(os.Symlink(elsewhere, dir+"/linked"))

	got, stderr, err := run(t, dir, "", "UTC", "2026-03-02", "1")
	want := "2026-03-02 all day one\n2026-03-02 all day three\n2026-03-02 all day two\n"
	if err != nil || got != want {
		t.Errorf("error %v, got:\n%s", err, got)
	}
	for _, part := range []string{"circle.ics: ", "dangling.ics: link leads nowhere", "pipe.ics: not a file", "zero.ics: not a file", "large.ics: larger than 256 MB"} {
		if strings.Count(stderr, part) != 1 {
			t.Errorf("stderr lacks %q, or has it twice:\n%s", part, stderr)
		}
	}
	if n := strings.Count(stderr, "\n"); n != 5 {
		t.Errorf("%d lines on stderr:\n%s", n, stderr)
	}
}

func TestFolders(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{dir + "/missing", file} {
		got, _, err := run(t, root, "", "UTC")
		if err == nil || got != "" || !strings.Contains(err.Error(), "CALENDAR_DIR") || !strings.Contains(err.Error(), root) {
			t.Errorf("%s: %q, %v", root, got, err)
		}
	}
	var out, complaints bytes.Buffer
	s := Setting{Root: dir + "/missing", Local: time.UTC, Now: time.Now}
	if err := Run(s, nil, &out, &complaints); err != nil || out.String() != "no events\n" || !strings.Contains(complaints.String(), "no such folder") {
		t.Errorf("the usual folder is missing: %q, %q, %v", out.String(), complaints.String(), err)
	}
}

func TestArguments(t *testing.T) {
	now := time.Date(2026, 3, 1, 23, 30, 0, 0, time.UTC)
	dir := t.TempDir()
	text := ""
	for d := 1; d <= 9; d++ {
		text += event(fmt.Sprintf("UID:%d", d), fmt.Sprintf("DTSTART:2026030%d", d), fmt.Sprintf("SUMMARY:%d", d))
	}
	if err := os.WriteFile(dir+"/a.ics", []byte(calendar(text)), 0o644); err != nil {
		t.Fatal(err)
	}
	s := Setting{Root: dir, Named: true, Local: time.FixedZone("", 3600), Now: func() time.Time { return now }} // tomorrow already
	for args, want := range map[string]string{
		"": "2", "|": "2", " | ": "2", "2026-03-04": "4", "2026-03-04|": "4", "2026-03-04|3": "456", "|2": "23", "today|1": "2", "Tomorrow": "3", "yesterday|2": "12",
		"--|2026-03-04|2": "45", "--": "2", "1999-01-01": "no",
		"2026-3-4": "error: START", "04.03.2026": "error: START", "20260304": "error: START", "2026-02-30": "error: START", "soon|2": "error: START",
		"2026-03-04|0": "error: DAYS", "2026-03-04|-1": "error: DAYS", "|1.5": "error: DAYS", "|many": "error: DAYS", "|99999999": "error: DAYS", "|9999999999999999999999": "error: DAYS",
		"a|b|c": "error: too many", "-x": "error: unknown option", "-1": "error: unknown option", "--help": "usage",
	} {
		var out, complaints bytes.Buffer
		list := strings.Split(args, "|")
		if args == "" {
			list = nil
		}
		err := Run(s, list, &out, &complaints)
		got := ""
		for _, l := range strings.Split(strings.TrimSpace(out.String()), "\n") {
			got += strings.TrimPrefix(l, fmt.Sprintf("%.10s all day ", l))
		}
		if err != nil {
			got = "error: " + err.Error()
		}
		if !strings.HasPrefix(got, want) || !strings.HasPrefix(want, "error") && want != "no" && want != "usage" && got != want {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
}

// aged gives files of calendars a time that is old enough for the cache.
func aged(t *testing.T, dir string) {
	t.Helper()
	past := time.Now().Add(-time.Hour)
	paths, err := filepath.Glob(dir + "/*.ics")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		if err := os.Chtimes(p, past, past); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStrangeZone: a TZ that is no zone is told from one that is UTC.
func TestStrangeZone(t *testing.T) {
	for name, want := range map[string]bool{"": false, "UTC": false, ":UTC": false, ":": false, "Nowhere": true, ":Nowhere": true, "CET-1CEST": true} {
		if strangeZone(name, time.UTC) != want {
			t.Errorf("%q is said to be strange: %v", name, !want)
		}
	}
	place, err := time.LoadLocation("Etc/UTC")
	if err != nil || strangeZone("Etc/UTC", place) {
		t.Errorf("Etc/UTC is said to be strange, %v", err)
	}
}

// TestCache: what is kept is what was read, a change shows at once, and damage
// or a folder that cannot be written do no harm.
func TestCache(t *testing.T) {
	dir, kept := t.TempDir(), t.TempDir()
	later := time.Now().Add(time.Hour) // the files are old then
	call := func() (string, string) {
		var out, complaints bytes.Buffer
		s := Setting{Root: dir, Named: true, Cache: kept, Local: time.UTC, Now: func() time.Time { return later }}
		if err := Run(s, []string{"2026-03-02", "2"}, &out, &complaints); err != nil {
			t.Fatal(err)
		}
		return out.String(), complaints.String()
	}
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a.ics", calendar(customZone, at(";TZID=Own", "20260302T100000", "a"), daily("1", "EXDATE:x")))
	write("b.ics", calendar(simple("b")))
	first, told := call()
	book := Setting{Root: dir, Cache: kept}.book()
	before, err := os.Stat(book)
	if err != nil {
		t.Fatal(err)
	}
	again, toldAgain := call()
	if again != first || toldAgain != told || !strings.Contains(told, "EXDATE") {
		t.Errorf("first %q %q, then %q %q", first, told, again, toldAgain)
	}
	if after, err := os.Stat(book); err != nil || !os.SameFile(before, after) {
		t.Errorf("the cache was written although nothing changed: %v", err)
	}
	write("b.ics", calendar(simple("B")))
	if got, _ := call(); got != strings.Replace(first, "day b", "day B", 1) {
		t.Errorf("after a change: %q", got)
	}
	if err := os.Remove(dir + "/b.ics"); err != nil {
		t.Fatal(err)
	}
	without, _ := call()
	if strings.Contains(without, "day") {
		t.Errorf("after a removal: %q", without)
	}
	for _, damage := range []string{"", "agenda cache 1\n", strings.Repeat("x", 5000)} {
		if err := os.WriteFile(book, []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, told := call(); got != without || strings.Contains(told, "cache") {
			t.Errorf("with a damaged cache: %q, %q", got, told)
		}
	}
	if err := os.RemoveAll(kept); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kept, nil, 0o600); err != nil { // no folder can be made there
		t.Fatal(err)
	}
	if got, told := call(); got != without || !strings.Contains(told, "next call will be slow") {
		t.Errorf("without a cache: %q, %q", got, told)
	}
	if !readOnly(fmt.Errorf("x: %w", syscall.EROFS)) || !readOnly(syscall.EACCES) || readOnly(errors.New("x")) {
		t.Error("a read-only home is somebody's mistake")
	}
}

// TestYoungFiles: a file that was written just now is not kept, since its next
// state may bear the same time.
func TestYoungFiles(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		at   time.Time
		want bool
	}{
		{now, false}, {now.Add(-50 * time.Millisecond), false}, {now.Add(-time.Second - 1).Add(1), true}, {now.Truncate(time.Second).Add(-time.Second), false},
		{now.Truncate(time.Second).Add(-4 * time.Second), true}, {now.Add(time.Hour), true},
	} {
		if got := old(c.at.UnixNano(), now); got != c.want {
			t.Errorf("%v: old is %v, want %v", c.at.Sub(now), got, c.want)
		}
	}
}

// TestAtOnce: many calls at a time, over a changing calendar, each see one
// whole state.
func TestAtOnce(t *testing.T) {
	dir, kept := t.TempDir(), t.TempDir()
	for i := range 40 {
		if err := os.WriteFile(fmt.Sprintf("%s/%d.ics", dir, i), []byte(calendar(simple(fmt.Sprint("event ", i)))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	aged(t, dir)
	later := time.Now().Add(time.Hour)
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			for range 10 {
				var out, complaints bytes.Buffer
				s := Setting{Root: dir, Named: true, Cache: kept, Local: time.UTC, Now: func() time.Time { return later }}
				err := Run(s, []string{"2026-03-02"}, &out, &complaints)
				if n := strings.Count(out.String(), "\n"); err != nil || n != 40 || complaints.Len() > 0 {
					t.Errorf("%d lines, %q, %v", n, complaints.String(), err)
				}
				if err := os.Remove(s.book()); err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Error(err)
				}
			}
		})
	}
	calls.Wait()
	if left, err := filepath.Glob(kept + "/*.part"); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}
