// SPDX-License-Identifier: Apache-2.0

package agenda

import (
	"errors"
	"strings"

	"example.org/desktop-assistant/examples/tools/agenda/internal/detail"
	"example.org/desktop-assistant/examples/tools/agenda/internal/ical"
	"example.org/desktop-assistant/examples/tools/agenda/internal/vdir"
)

// describe gives, for each line, what is to be said below it. The files of the
// lines are read a second time: this is asked for seldom, and what is read the
// first time is short.
func describe(lines []line, files []loaded, problem func(path, what string)) [][]string {
	wanted := map[int]map[int64]bool{}
	for _, l := range lines {
		if wanted[l.item.file] == nil {
			wanted[l.item.file] = map[int64]bool{}
		}
		wanted[l.item.file][l.item.Index] = true
	}
	texts := map[int]map[int64][]string{}
	more := make([][]string, len(lines))
	for i, l := range lines {
		file := l.item.file
		if texts[file] == nil {
			texts[file] = describeFile(files[file], wanted[file], problem)
		}
		more[i] = texts[file][l.item.Index]
	}
	return more
}

// describeFile gives the texts for some events of a file.
func describeFile(l loaded, events map[int64]bool, problem func(path, what string)) map[int64][]string {
	texts := map[int64][]string{}
	f, stat, err := vdir.Open(l.Path)
	if err == nil && stat != l.Stat {
		err = errors.Join(errChanged, f.Close())
	}
	if err != nil {
		problem(l.Path, reason(err))
		return texts
	}
	var r ical.Reader
	others, err := r.Others(f, events)
	if err = errors.Join(err, f.Close()); err != nil {
		problem(l.Path, reason(err))
	}
	for event, lines := range others {
		d, err := detail.Of(lines)
		if err != nil {
			problem(l.Path, err.Error())
		}
		if d.Place != "" {
			texts[event] = append(texts[event], "at "+d.Place)
		}
		if len(d.People) > 0 {
			texts[event] = append(texts[event], "with "+strings.Join(d.People, ", "))
		}
	}
	return texts
}

var errChanged = errors.New("was changed meanwhile, no details")
