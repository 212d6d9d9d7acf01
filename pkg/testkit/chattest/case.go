// SPDX-License-Identifier: Apache-2.0

package chattest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Case is one recorded answer of a chat server, with what a good client makes of
// it: a file of its own, or a line of a .jsonl file.
type Case struct {
	Name        string            `json:"name"`
	Status      int               `json:"status"`
	ContentType string            `json:"content_type"`
	Headers     map[string]string `json:"headers"`
	Chunks      []json.RawMessage `json:"chunks"` // "text" or {"b64": "..."}
	Close       string            `json:"close"`  // clean, reset or stall
	Tools       *[]string         `json:"tools"`  // names of those offered, nil for the usual four
	Expect      Outcome           `json:"expect"`
	Accept      []Outcome         `json:"accept"`
}

// An Outcome is what a client makes of a case.
type Outcome struct {
	Content string `json:"content"` // white space aside
	Calls   []CallOutcome
	Error   *string // alternatives with bars between, as "kind:empty|kind:leak"
}

// A CallOutcome is one call. An id "*" stands for any.
type CallOutcome struct {
	ID, Name  string
	Arguments json.RawMessage
	Run       *bool // nil: it may run
}

// ReadCases reads the files of a folder, in their order.
func ReadCases(dir string) ([]Case, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json*"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("read cases: none in %q", dir)
	}
	slices.Sort(files)
	var cases []Case
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read cases: %w", err)
		}
		texts := []string{string(data)}
		if strings.HasSuffix(file, ".jsonl") {
			texts = strings.Split(strings.TrimSpace(string(data)), "\n")
		}
		for i, text := range texts {
			var c Case
			if err := json.Unmarshal([]byte(text), &c); err != nil {
				return nil, fmt.Errorf("read cases: %s, case %d: %w", file, i+1, err)
			}
			if len(texts) == 1 {
				c.Name = strings.TrimSuffix(filepath.Base(file), ".json")
			}
			cases = append(cases, c)
		}
	}
	return cases, nil
}

// Exchange makes the case answer a request.
func (c *Case) Exchange() (Exchange, error) {
	ex := Exchange{Status: c.Status, ContentType: c.ContentType, Header: http.Header{}}
	for key, value := range c.Headers {
		ex.Header.Set(key, value)
	}
	for _, raw := range c.Chunks {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			var piece struct {
				B64 string `json:"b64"`
			}
			if err := json.Unmarshal(raw, &piece); err != nil {
				return Exchange{}, fmt.Errorf("read case %q: %w", c.Name, err)
			}
			b, err := base64.StdEncoding.DecodeString(piece.B64)
			if err != nil {
				return Exchange{}, fmt.Errorf("read case %q: %w", c.Name, err)
			}
			text = string(b)
		}
		ex.Pieces = append(ex.Pieces, Piece{Bytes: text})
	}
	switch c.Close {
	case "reset":
		ex.End = Reset
	case "stall":
		ex.End = Stall
	}
	return ex, nil
}
