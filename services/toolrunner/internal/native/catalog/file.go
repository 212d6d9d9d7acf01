// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"fmt"
	"strings"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/services/toolrunner/internal/native/argument"
	"example.org/desktop-assistant/services/toolrunner/internal/native/plain"
	"example.org/desktop-assistant/services/toolrunner/internal/native/workspace"
)

const nameRunes = 300 // of a path in a label

var listDirectory = Record{
	Name: "list_directory",
	Description: "List what is in one folder of the user's workspace, not what is in the folders below it. " +
		"Shows at most 100 entries by name and says how many there are.",
	Params: []argument.Param{
		{Name: "path", Required: true, Description: "Folder, relative to the workspace; . is the workspace itself"},
		{Name: "filetype", Enum: []string{workspace.KindFile, workspace.KindDirectory}, Description: "List only files or only directories"},
	},
	On:       func(n config.NativeTools) bool { return n.ListDirectory },
	External: true, Private: true,
	Shows:       map[string]Show{"path": showText, "filetype": showText},
	ShowsResult: true,
	Run:         runList,
}

func runList(ctx context.Context, w World, v argument.Values) (Outcome, error) {
	path, err := text(v, "path")
	if err != nil {
		return Outcome{}, err
	}
	root, err := w.Root()
	if err != nil {
		return Outcome{}, err
	}
	kind, _ := v.Text("filetype")
	l, err := root.List(ctx, path, kind)
	if err != nil {
		return Outcome{}, err
	}
	noun := "entry"
	switch kind {
	case workspace.KindFile:
		noun = "file"
	case workspace.KindDirectory:
		noun = "directory"
	}
	count := plural(l.Total, noun)
	if l.More {
		count = "more than " + count
	}
	if l.Total > len(l.Entries) {
		count += fmt.Sprintf(", the first %d of them shown", len(l.Entries))
	}
	var b strings.Builder
	for _, e := range l.Entries {
		fmt.Fprintf(&b, "%s %s\n", e.Kind, plain.Name(e.Name))
	}
	return Outcome{fmt.Sprintf("folder %s of the workspace: %s", plain.Line(plain.Name(path), nameRunes), count), b.String()}, nil
}

var readFile = Record{
	Name: "read_file",
	Description: "Read a text file of the user's workspace, or some lines of it. " +
		"What is too long is cut; it then says from which line to go on.",
	Params: []argument.Param{
		{Name: "path", Required: true, Description: "File, relative to the workspace"},
		{Name: "start_line", Type: argument.Integer, Description: "First line to read, counted from 1"},
		{Name: "max_lines", Type: argument.Integer, Description: "Read at most so many lines"},
		{Name: "max_bytes", Type: argument.Integer, Description: "Read at most so many bytes"},
	},
	On:       func(n config.NativeTools) bool { return n.ReadFile },
	External: true, Private: true,
	Shows: map[string]Show{"path": showText, "start_line": showInteger, "max_lines": showInteger, "max_bytes": showInteger},
	Run:   runRead,
}

func runRead(ctx context.Context, w World, v argument.Values) (Outcome, error) {
	path, err := text(v, "path")
	if err != nil {
		return Outcome{}, err
	}
	root, err := w.Root()
	if err != nil {
		return Outcome{}, err
	}
	e, err := root.Read(ctx, path, workspace.Range{
		Start: max(1, v.Integer("start_line")),
		Lines: lower(w.Limits.ReadLines, v.Integer("max_lines")),
		Bytes: lower(w.Limits.ReadBytes, v.Integer("max_bytes")),
	})
	if err != nil {
		return Outcome{}, err
	}
	label := fmt.Sprintf("file %s of the workspace: %s", plain.Line(plain.Name(path), nameRunes), extent(e))
	return Outcome{label, plain.Text(e.Text)}, nil
}

// extent says which part of a file an excerpt is.
func extent(e workspace.Excerpt) string {
	switch {
	case e.Lines == 0 && e.Start > 1 && !e.More:
		return fmt.Sprintf("it ends before start_line, after %s", plural(e.Skip, "whole line"))
	case e.Lines == 0 && !e.More:
		return "it is empty"
	}
	last := e.Start + e.Lines - 1
	part := fmt.Sprintf("lines %d-%d, %s", e.Start, last, plural(len(e.Text), "byte"))
	switch {
	case e.Cut:
		return part + ", cut inside the last of them, since there are too many bytes"
	case e.More:
		return fmt.Sprintf("%s, the file goes on, read it with start_line=%d", part, max(e.Start, last+1))
	}
	return part + ", to the end of the file"
}
