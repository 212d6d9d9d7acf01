// SPDX-License-Identifier: Apache-2.0

// Package agenda lists the events of calendar files on some days.
package agenda

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"

	"example.org/desktop-assistant/examples/tools/agenda/internal/vdir"
	"example.org/desktop-assistant/examples/tools/agenda/internal/zone"
)

// Main runs the program in the environment of this process and gives its exit
// status: 0, also when parts of calendars could not be read and were named on
// stderr, or 1 when nothing could be listed.
func Main(args []string, stdout, stderr io.Writer) int {
	debug.SetGCPercent(200) // the program is gone before memory matters
	s, err := setting()
	if err == nil {
		if name := os.Getenv("TZ"); strangeZone(name, s.Local) {
			fmt.Fprintf(stderr, "agenda: TZ is %q, which is no zone that is known: times are in UTC; set TZ to a name such as Europe/Berlin\n", name)
		}
		err = Run(s, args, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "agenda: %v\n", err)
		return 1
	}
	return 0
}

// Run prints the events of the days that the arguments ask for. What could not
// be read of the calendars is told on stderr, line by line.
func Run(s Setting, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, s.Now().In(s.Local))
	if err != nil {
		return err
	}
	if o.help {
		_, err := io.WriteString(stdout, usage)
		return err
	}
	problems := bufio.NewWriter(stderr)
	defer problems.Flush()
	problem := func(path, what string) { fmt.Fprintf(problems, "agenda: %s: %s\n", shown(path), what) }

	paths, err := vdir.Find(s.Root, func(path string, err error) { problem(path, reason(err)) })
	if err != nil {
		if s.Named || !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read calendar folder %q: %s: set CALENDAR_DIR to the folder of your calendars", s.Root, reason(err))
		}
		problem(s.Root, "no such folder: set CALENDAR_DIR to the folder of your calendars")
	}
	table := &zone.Table{}
	files, err := load(paths, s.book(), table, s.Now)
	if err != nil && !readOnly(err) {
		problem(s.book(), reason(err)+", the next call will be slow")
	}
	complain(files, problem)
	lines := search(files, o.first, o.first+o.days, table, zone.In(s.Local), problem)
	order(lines)
	return write(lines, files, o.details, stdout, problem)
}

// readOnly says whether there can be no cache, which is nobody's mistake.
func readOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// complain tells what could not be read of the files.
func complain(files []loaded, problem func(path, what string)) {
	for i := range files {
		l := &files[i]
		if l.err != nil {
			problem(l.Path, reason(l.err))
		}
		list, _, err := l.Record.Rest()
		if err != nil {
			problem(l.Path, err.Error())
		}
		for _, what := range list {
			problem(l.Path, what)
		}
	}
}

// reason gives an error without the path, which stands before it already.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	var call *os.SyscallError
	if errors.As(err, &call) {
		err = call.Err
	}
	return err.Error()
}

// shown gives a path as it is, or in quotes when a terminal might obey it.
func shown(path string) string {
	if quoted := strconv.Quote(path); quoted != `"`+path+`"` {
		return quoted
	}
	return path
}

func write(lines []line, files []loaded, details bool, stdout io.Writer, problem func(path, what string)) error {
	out := bufio.NewWriter(stdout)
	if len(lines) == 0 {
		fmt.Fprintln(out, "no events")
	}
	var more [][]string
	if details {
		more = describe(lines, files, problem)
	}
	for i, l := range lines {
		fmt.Fprintln(out, l)
		if details {
			for _, text := range more[i] {
				fmt.Fprintln(out, "    "+text)
			}
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write agenda: %w", err)
	}
	return nil
}
