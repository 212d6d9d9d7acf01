// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"

	"github.com/jfreymuth/pulse/proto"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func frame(channel uint32, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	b = binary.BigEndian.AppendUint32(b, channel)
	return append(append(b, make([]byte, 12)...), body...)
}

// message is one of kind op with tag 3.
func message(op uint32) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{'L'}, op), 'L', 0, 0, 0, 3)
}

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
	started := frame(controlChannel, message(proto.OpStarted))
	reply := frame(controlChannel, message(proto.OpReply))
	f.Add(started)
	f.Add(append(frame(7, make([]byte, 640)), reply...))
	f.Add(reply[:25])
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
