// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// FuzzDecodeEvent: any bytes give an event or an error with a code, never
// neither and never a panic; what was read can be written again.
func FuzzDecodeEvent(f *testing.F) {
	paths, err := filepath.Glob("testdata/wire/*.json")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no golden files: %v", err)
	}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		env, ev, err := DecodeEvent(b)
		if (err == nil) == (ev == nil) {
			t.Fatalf("event %v and error %v", ev, err)
		}
		if err != nil {
			if !errors.Is(err, &Error{Code: CodeInvalid}) {
				t.Fatalf("%v has no code", err)
			}
			return
		}
		if _, unknown := ev.(Unknown); unknown {
			return
		}
		if _, err := EncodeEvent(env, ev); err != nil {
			t.Fatalf("cannot be written again: %v", err)
		}
	})
}

func FuzzDecodeAudio(f *testing.F) {
	f.Add("data", "1", "320", []byte{1, 2})
	f.Add("", "", "", []byte{})
	f.Fuzz(func(t *testing.T, op, seq, pos string, body []byte) {
		a, err := DecodeAudio(map[string][]string{headerOp: {op}, headerSeq: {seq}, headerPos: {pos}}, body)
		if err == nil && a.Op == "" {
			t.Fatal("neither a message nor an error")
		}
	})
}

func FuzzDecodeError(f *testing.F) {
	f.Add("503", "brain: gone", []byte(`{"code":"unavailable","text":"gone"}`))
	f.Add("", "", []byte(nil))
	f.Fuzz(func(t *testing.T, number, text string, body []byte) {
		e := DecodeError(map[string][]string{HeaderErrorCode: {number}, HeaderError: {text}}, body)
		if (number != "" || text != "") != (e != nil) {
			t.Fatalf("headers %q %q gave %v", number, text, e)
		}
		if e != nil && e.Error() == "" {
			t.Fatal("an error without words")
		}
	})
}

func FuzzDecodeToolCall(f *testing.F) {
	f.Add("c1", "1500", "local", "3")
	f.Fuzz(func(t *testing.T, call, timeout, route, limit string) {
		c, err := DecodeToolCall(map[string][]string{HeaderCall: {call}, HeaderTimeout: {timeout}, HeaderRoute: {route}, HeaderLimit: {limit}})
		if err == nil && (c.Timeout < 0 || c.Limit < 0 || c.Call != "" && !ValidToken(c.Call)) {
			t.Fatalf("accepted %+v", c)
		}
	})
}
