// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// events reads all of src; each event is "name|data".
func events(src io.Reader) (got []string, err error) {
	r := NewReader(src)
	for {
		ev, err := r.Next()
		if err == io.EOF {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		got = append(got, ev.Name+"|"+string(ev.Data))
	}
}

func TestReader(t *testing.T) {
	big := strings.Repeat("x", 200<<10)
	tests := []struct {
		name, body string
		want       []string
	}{
		{"line feeds", "data: a\n\ndata: b\n\n", []string{"|a", "|b"}},
		{"carriage returns and line feeds", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"|a", "|b"}},
		{"bare carriage returns", "data: a\r\rdata: b\r\r", []string{"|a", "|b"}},
		{"byte order mark once", "\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n", []string{"|a"}},
		{"no space after the colon", "data:a\n\ndata:[DONE]\n\n", []string{"|a", "|[DONE]"}},
		{"one space is stripped", "data:  a\n\n", []string{"| a"}},
		{"several data lines", "data: {\ndata: \"a\": 1\ndata: }\n\n", []string{"|{\n\"a\": 1\n}"}},
		{"comments and unknown fields", ": ping\n\nid: 7\nretry: 9\nx\nfoo: bar\n\ndata: a\n\n", []string{"|a"}},
		{"empty data", "data:\n\ndata: \n\n", []string{"|", "|"}},
		{"event name", "event: error\ndata: a\n\ndata: b\n\n", []string{"error|a", "|b"}},
		{"event without data", "event: ping\n\ndata: a\n\n", []string{"|a"}},
		{"error as field", "error: {\"code\":500}\n\ndata: [DONE]\n\n", []string{`error|{"code":500}`, "|[DONE]"}},
		{"error field after data without a blank line", "data: a\nerror: b\n\n", []string{"|a", "error|b"}},
		{"rest without blank line", "data: a\n\ndata: b", []string{"|a", "|b"}},
		{"blank lines forgotten", "data: {\"a\":1}\ndata: {\"b\":2}\ndata: [DONE]\n", []string{`|{"a":1}`, `|{"b":2}`, "|[DONE]"}},
		{"bare JSON line", "data: {\"a\":1}\n\n{\"error\":\"x\"}\n", []string{`|{"a":1}`, `|{"error":"x"}`}},
		{"bare JSON line behind an unfinished event", "data: {\"a\":1}\n{\"b\":2}\n", []string{`|{"a":1}`, `|{"b":2}`}},
		{"long line", "data: " + big + "\n\n", []string{"|" + big}},
		{"cut rune is kept", "data: \xc3\xbc\n\n", []string{"|ü"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			readers := map[string]io.Reader{
				"whole":     strings.NewReader(tt.body),
				"bytewise":  iotest.OneByteReader(strings.NewReader(tt.body)),
				"with data": iotest.DataErrReader(strings.NewReader(tt.body)),
			}
			for how, src := range readers {
				got, err := events(src)
				if err != nil || !slices.Equal(got, tt.want) {
					t.Errorf("%s: got %q, %v, want %q", how, clip(got), err, clip(tt.want))
				}
			}
		})
	}
}

func clip(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, s[:min(len(s), 80)])
	}
	return out
}

// blocked fails when more is asked of it than an event needs.
type blocked struct{ t *testing.T }

func (b blocked) Read([]byte) (int, error) {
	b.t.Error("read past a complete event")
	return 0, io.EOF
}

func TestReaderDispatchesAtOnce(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\r", "\r\n\r\n", "\r\n\r"} {
		r := NewReader(io.MultiReader(strings.NewReader("data: a"+end), blocked{t}))
		if ev, err := r.Next(); err != nil || string(ev.Data) != "a" {
			t.Errorf("%q: got %q, %v", end, ev.Data, err)
		}
	}
}

func TestReaderErrors(t *testing.T) {
	cut := errors.New("connection reset")
	src := io.MultiReader(strings.NewReader("data: a\n\ndata: b\ndata: ha"), iotest.ErrReader(cut))
	got, err := events(src)
	if !errors.Is(err, cut) || !slices.Equal(got, []string{"|a", "|b"}) {
		t.Errorf("got %q, %v, want the complete lines and the error", got, err)
	}
	_, err = events(io.LimitReader(endless{}, MaxLine+1<<20))
	if !errors.Is(err, ErrLineTooLong) {
		t.Errorf("endless line: got %v, want %v", err, ErrLineTooLong)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestReaderBody(t *testing.T) {
	for _, body := range []string{"{\n  \"error\": \"no\"\n}\n", "<html></html>", ""} {
		r := NewReader(iotest.OneByteReader(strings.NewReader("\xef\xbb\xbf" + body)))
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("%q: got %v, want the end", body, err)
		}
		if got := string(r.Body()); got != body {
			t.Errorf("got body %q, want %q", got, body)
		}
	}
	r := NewReader(strings.NewReader("data: a\n\n"))
	if _, err := r.Next(); err != nil || r.Body() != nil {
		t.Errorf("after an event: body %q, %v", r.Body(), err)
	}
}

// FuzzReader checks that no cut of the body into reads changes the events.
func FuzzReader(f *testing.F) {
	f.Add([]byte("data: a\r\n\r\ndata: {\"a\":1}\ndata: [DONE]\n\n"), 3)
	f.Add([]byte("\xef\xbb\xbferror: {}\n\n: x\n\n{\"a\":2}\rdata"), 1)
	f.Fuzz(func(t *testing.T, body []byte, size int) {
		want, err := events(bytes.NewReader(body))
		if err != nil {
			t.Fatalf("whole: %v", err)
		}
		got, err := events(&pieces{body, 1 + max(size, -size)%17})
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("in pieces: got %q, %v, want %q", got, err, want)
		}
	})
}

type pieces struct {
	rest []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), max(p.size, 1))], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// What a token costs from the bytes of the body to text that may be spoken, or to
// a piece of a call: event stream, chunk, filter, assembly.
func BenchmarkAnswer(b *testing.B) {
	const frame = `data: {"choices":[{"finish_reason":null,"index":0,"delta":%s}],"created":1760000001,"id":"chatcmpl-Rk2wLx8Q","model":"local-model.gguf","object":"chat.completion.chunk"}` + "\n\n"
	for _, kind := range []struct{ name, delta string }{
		{"text", `{"content":"word%d "}`},
		{"thinking", `{"reasoning_content":"word%d "}`},
		{"markup", `{"content":"<b>%d</b> [x] {y} "}`},
		{"arguments", `{"tool_calls":[{"index":0,"function":{"arguments":"word%d "}}]}`},
	} {
		const tokens = 200
		var body bytes.Buffer
		for i := range tokens {
			fmt.Fprintf(&body, frame, fmt.Sprintf(kind.delta, i))
		}
		b.Run(kind.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, a := NewReader(bytes.NewReader(body.Bytes())), NewAnswer(offered, offered, false)
				for {
					ev, err := r.Next()
					if err != nil {
						break
					}
					if _, err := a.Add(ev); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/tokens, "ns/token")
		})
	}
}
