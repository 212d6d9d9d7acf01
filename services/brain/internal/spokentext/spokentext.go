// SPDX-License-Identifier: Apache-2.0

// Package spokentext answers the line protocol by which recorded answers are
// run against pkg/speech: one JSON object a line in, one out. The kind of the
// recordings is sentences, spoken or language.
package spokentext

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"example.org/desktop-assistant/pkg/speech"
)

// maxLine is the longest request line in bytes.
const maxLine = 8 << 20

// Main serves the kind that args name until in ends. It returns the exit status.
func Main(args []string, in io.Reader, out, errs io.Writer) int {
	if len(args) != 1 || kinds[args[0]] == nil {
		fmt.Fprintln(errs, "usage: spoken-text sentences|spoken|language < requests > answers")
		return 2
	}
	if err := serve(kinds[args[0]], in, out); err != nil {
		fmt.Fprintln(errs, "spoken-text:", err)
		return 1
	}
	return 0
}

type request struct {
	Lang       string   `json:"lang"`
	Chunks     []string `json:"chunks"`     // sentences: the stream as it came
	Text       string   `json:"text"`       // spoken, language
	Prior      string   `json:"prior"`      // language; null is none
	Configured []string `json:"configured"` // language
}

// kinds gives each kind of request its answer.
var kinds = map[string]func(request) any{
	"sentences": sentences, "spoken": spoken, "language": language,
}

// sentences gives what came out of a Splitter and after which piece; the number
// of pieces stands for the end of the stream.
func sentences(r request) any {
	out := struct {
		Sentences []string `json:"sentences"`
		After     []int    `json:"emitted_after"`
	}{[]string{}, []int{}}
	add := func(list []string, after int) {
		for _, s := range list {
			out.Sentences = append(out.Sentences, s)
			out.After = append(out.After, after)
		}
	}
	s := speech.NewSplitter(r.Lang)
	for i, chunk := range r.Chunks {
		add(s.Push(chunk), i)
	}
	add(s.Flush(), len(r.Chunks))
	return out
}

func spoken(r request) any {
	return map[string]string{"spoken": speech.Spoken(r.Text, r.Lang)}
}

func language(r request) any {
	return map[string]string{"lang": speech.Language(r.Text, r.Prior, r.Configured)}
}

// serve answers the lines of in on out until in ends.
func serve(answer func(request) any, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("decode request: %w", err)
		}
		if err := enc.Encode(answer(r)); err != nil {
			return fmt.Errorf("write answer: %w", err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	return nil
}
