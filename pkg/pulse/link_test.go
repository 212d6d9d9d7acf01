// SPDX-License-Identifier: Apache-2.0

package pulse

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"

	"github.com/jfreymuth/pulse/proto"
)

// A wire is a connection that delivers fixed bytes.
type wire struct {
	net.Conn
	io.Reader
	closed bool
}

func (w *wire) Read(p []byte) (int, error) { return w.Reader.Read(p) }
func (w *wire) Close() error {
	w.closed = true
	return nil
}

// Whatever a server sends, the codec gets whole frames of known kinds, then io.EOF.
func FuzzLink(f *testing.F) {
	f.Add(control(message(proto.OpStarted, proto.Undefined).u32(7)))
	f.Add(append(frame(7, make([]byte, 640)), control(ack(3).str("server"))...))
	f.Add(control(ack(3))[:25])
	f.Add([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		w := &wire{Reader: bytes.NewReader(data)}
		l := newLink(w)
		out, err := io.ReadAll(l)
		if err != nil || l.cause() == nil || !w.closed {
			t.Fatalf("ended with %v, cause %v, closed %v", err, l.cause(), w.closed)
		}
		for len(out) > 0 {
			if len(out) < frameHeader {
				t.Fatal("half a header came through")
			}
			size, channel := int(binary.BigEndian.Uint32(out)), binary.BigEndian.Uint32(out[4:])
			out = out[frameHeader:]
			if size > len(out) {
				t.Fatal("half a frame came through")
			}
			if channel == controlChannel && !wanted(out[:size]) {
				t.Fatal("an unknown message came through")
			}
			out = out[size:]
		}
	})
}
