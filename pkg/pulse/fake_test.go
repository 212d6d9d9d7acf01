// SPDX-License-Identifier: Apache-2.0

package pulse

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"

	"example.org/desktop-assistant/pkg/pulse/internal/place"
	"github.com/jfreymuth/pulse/proto"
)

const (
	// frameHeader is length, channel, offset (2 words) and flags.
	frameHeader = 20
	// controlChannel is the channel of messages.
	controlChannel = proto.Undefined
)

// A packet is the body of a message under construction: type bytes and big endian
// values, as in PulseAudio's tagstruct.c.
type packet []byte

func message(op, tag uint32) packet { return packet{}.u32(op).u32(tag) }
func ack(tag uint32) packet         { return message(proto.OpReply, tag) }

func (p packet) u32(v uint32) packet { return binary.BigEndian.AppendUint32(append(p, 'L'), v) }
func (p packet) usec(v uint64) packet {
	return binary.BigEndian.AppendUint64(append(p, 'U'), v)
}
func (p packet) s64(v int64) packet {
	return binary.BigEndian.AppendUint64(append(p, 'r'), uint64(v))
}
func (p packet) u64(v uint64) packet {
	return binary.BigEndian.AppendUint64(append(p, 'R'), v)
}
func (p packet) str(s string) packet  { return append(append(append(p, 't'), s...), 0) }
func (p packet) flag(v bool) packet   { return append(p, map[bool]byte{true: '1', false: '0'}[v]) }
func (p packet) null() packet         { return append(p, 'N') }
func (p packet) raw(b ...byte) packet { return append(p, b...) }
func (p packet) mono(format byte, rate uint32) packet {
	p = binary.BigEndian.AppendUint32(append(p, 'a', format, 1), rate)
	return append(p, 'm', 1, 0)
}
func (p packet) when() packet { return append(p, 'T', 0, 0, 0, 0, 0, 0, 0, 0) }

// pcm is a format info without properties.
func (p packet) pcm() packet { return append(p, 'f', 'B', 1, 'P', 'N') }

// A fakeServer plays the other side: script answers one message with any number of
// frames to be sent; nil says nothing. Ending the connection is script's to do.
type fakeServer struct {
	net.Conn
	ended chan struct{}
}

// frame is what goes over the wire.
func frame(channel uint32, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	b = binary.BigEndian.AppendUint32(b, channel)
	return append(append(b, make([]byte, 12)...), body...)
}

func control(p packet) []byte { return frame(controlChannel, p) }

type script func(s *fakeServer, op, tag uint32, body []byte) [][]byte

func (s *fakeServer) serve(answer script) {
	defer close(s.ended)
	defer s.Close()
	for {
		var head [frameHeader]byte
		if _, err := io.ReadFull(s, head[:]); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := io.ReadFull(s, body); err != nil {
			return
		}
		op, tag := uint32(proto.Undefined), uint32(proto.Undefined)
		if binary.BigEndian.Uint32(head[4:]) == controlChannel {
			op, tag = binary.BigEndian.Uint32(body[1:]), binary.BigEndian.Uint32(body[6:])
		}
		for _, f := range answer(s, op, tag, body) {
			if _, err := s.Write(f); err != nil {
				return
			}
		}
	}
}

// polite answers what every test needs: the handshake, one playback and one
// capture stream with index 7, and requests without an answer of their own.
func polite(s *fakeServer, op, tag uint32, body []byte) [][]byte {
	p := ack(tag)
	switch op {
	case proto.Undefined:
		return nil
	case proto.OpAuth:
		p = p.u32(35)
	case proto.OpSetClientName:
		p = p.u32(1)
	case proto.OpCreatePlaybackStream:
		p = p.u32(7).u32(70).u32(4000).u32(8000).u32(4000).u32(1600).u32(400).
			mono(proto.FormatFloat32LE, 5000).u32(0).str("speaker").flag(false).usec(0).pcm()
	case proto.OpCreateRecordStream:
		p = p.u32(7).u32(71).u32(8000).u32(640).mono(proto.FormatInt16LE, 16000).u32(0).str("mic").flag(false).usec(0).pcm()
	case proto.OpGetSourceInfo:
		p = p.u32(0).str("mic").str("Microphone").mono(proto.FormatInt16LE, 16000).u32(0).raw('v', 1, 0, 1, 0, 0).flag(false).
			u32(proto.Undefined).null().usec(0).str("driver").u32(0).raw('P', 'N').usec(0).raw('V', 0, 1, 0, 0).
			u32(0).u32(0).u32(0).u32(0).null().raw('B', 0)
	}
	return [][]byte{control(p)}
}

// dialFake connects to a scripted server; both sides are gone when the test is.
func dialFake(t *testing.T, answer script) (*Conn, error) {
	t.Helper()
	c, err := Dial(t.Context(), fakeOptions(t, answer))
	if err == nil {
		t.Cleanup(c.Close)
	}
	return c, err
}

// fakeOptions name a server that is scripted anew for each connection.
func fakeOptions(t *testing.T, answer script) Options {
	return Options{
		Name: "test", Server: "unix:/fake", env: &place.Environment{Getenv: func(string) string { return "" }},
		dial: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			s := &fakeServer{Conn: theirs, ended: make(chan struct{})}
			go s.serve(answer)
			t.Cleanup(func() {
				s.Close()
				<-s.ended
			})
			return ours, nil
		},
	}
}

func mustDialFake(t *testing.T, answer script) *Conn {
	t.Helper()
	c, err := dialFake(t, answer)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
