// SPDX-License-Identifier: Apache-2.0

// Package skillcase answers the line protocol by which folders of skills and
// messages are run against package skill: one JSON object a line in, one out.
package skillcase

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/services/brain/internal/skill"
)

type request struct {
	Op   string `json:"op"` // load, text or match
	Dir  string `json:"skills_dir"`
	Name string `json:"name"`
	User string `json:"user"`
}

type item struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

type loaded struct {
	Skills   []item   `json:"skills"`
	Warnings []string `json:"warnings"`
}

type matched struct {
	Loads []string `json:"loads"`
	Text  string   `json:"text"`
}

type text struct {
	Text string `json:"text"`
}

type failed struct {
	Error string `json:"error"`
}

// maxLine is the longest request line in bytes.
const maxLine = 4 << 20

// Main serves standard input and output until the input ends. It returns the
// exit status.
func Main(in io.Reader, out, errs io.Writer) int {
	if err := Serve(in, out); err != nil {
		daemon.Explain(errs, "skills", err)
		return 1
	}
	return 0
}

// Serve answers the lines of in on out until in ends.
func Serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	folder := skill.New("", nil)
	var shelf skill.Shelf
	for lines.Scan() {
		var req request
		var answer any
		if err := json.Unmarshal(lines.Bytes(), &req); err != nil {
			answer = failed{"decode request: " + err.Error()}
		} else {
			if req.Op == "load" {
				folder = skill.New(req.Dir, slog.New(slog.DiscardHandler))
				shelf = folder.Shelf()
			}
			answer = reply(folder, shelf, req)
		}
		if err := enc.Encode(answer); err != nil {
			return fmt.Errorf("write answer: %w", err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	return nil
}

func reply(folder *skill.Folder, shelf skill.Shelf, req request) any {
	switch req.Op {
	case "load":
		r := loaded{Skills: []item{}, Warnings: shelf.Warnings}
		for _, s := range shelf.Skills {
			r.Skills = append(r.Skills, item(s))
		}
		if shelf.Err != nil {
			r.Warnings = append(r.Warnings, shelf.Err.Error())
		}
		return r
	case "text":
		body, err := folder.Text(shelf, req.Name)
		if err != nil {
			return failed{err.Error()}
		}
		return text{body}
	case "match":
		names, rest := shelf.Match(req.User, false)
		return matched{Loads: append([]string{}, names...), Text: rest}
	}
	return failed{fmt.Sprintf("unknown op %q", req.Op)}
}
