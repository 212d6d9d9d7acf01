// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"example.org/desktop-assistant/pkg/testkit/chattest"
)

// outcome reads a body and tells all that matters of it; ids that were made up
// differ each time.
func outcome(src io.Reader) string {
	r, a := NewReader(src), NewAnswer(offered, offered, false)
	var text strings.Builder
	var end error
	for end == nil && !a.Done() {
		var ev Event
		if ev, end = r.Next(); end == nil {
			var piece string
			piece, end = a.Add(ev)
			text.WriteString(piece)
		}
	}
	if body := r.Body(); end == io.EOF && len(body) > 0 {
		piece, _ := a.Add(Event{Data: body})
		text.WriteString(piece)
	}
	tail, res := a.Close()
	var calls []string
	for _, c := range res.Calls {
		calls = append(calls, fmt.Sprintf("%s %s %s %s", c.Name, c.Arguments, c.Raw, c.Problem))
	}
	return fmt.Sprintf("%q %q %v %q %v %v %v", text.String()+tail, calls, end, res.Finish, res.Ended, res.Leaked, res.Bad)
}

// No cut of a recorded body into reads changes what comes of it: not between the
// bytes of a rune, of a line end, or of a marker.
func TestRecordedBodiesInOtherPieces(t *testing.T) {
	for _, dir := range []string{"../model/testdata/llm-streams", "../model/testdata/shapes"} {
		cases, err := chattest.ReadCases(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			ex, err := c.Exchange()
			if err != nil {
				t.Fatal(err)
			}
			var body bytes.Buffer
			for _, p := range ex.Pieces {
				body.WriteString(p.Bytes)
			}
			whole := outcome(bytes.NewReader(body.Bytes()))
			for size := range 4 {
				if got := outcome(&pieces{body.Bytes(), size + 1}); got != whole {
					t.Errorf("%s in pieces of %d:\ngot  %s\nwant %s", c.Name, size+1, got, whole)
				}
			}
			if got := outcome(iotest.DataErrReader(bytes.NewReader(body.Bytes()))); got != whole {
				t.Errorf("%s, end with the data:\ngot  %s\nwant %s", c.Name, got, whole)
			}
		}
	}
}
