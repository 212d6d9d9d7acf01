// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/jfreymuth/pulse/proto"
)

const (
	// WriteTimeout is how long the server may leave our bytes lying.
	WriteTimeout = 2 * time.Second
	// credentialWrites is how many writes carry our user id. The server looks at
	// the first packet, which the codec sends in two writes.
	credentialWrites = 2
	// frameHeader is length, channel, offset (2 words), flags, big endian.
	frameHeader = 20
	// MaxFrame bounds what a server can make us hold; PulseAudio sends audio in
	// fragments and lists in packets far below it.
	MaxFrame = 4 << 20
	// controlChannel marks a frame that holds a message and no audio.
	controlChannel = 0xFFFFFFFF
	// memoryFlags mark frames of shared memory, which we never agree to.
	memoryFlags = 0xFF000000
	// minControl is the size of the two tagged words every message begins with.
	minControl = 10
)

// A link is the connection as the codec sees it: any failure closes it for good
// and is remembered; reads hand over whole frames of known kinds only, so the
// codec never sees half a message; writes have a deadline.
type link struct {
	conn net.Conn
	in   *bufio.Reader
	head [frameHeader]byte
	body []byte
	rest []byte // unread part of the current frame, lies in head or body
	next []byte // what follows rest

	credentials int // writes left to carry them; the codec serialises writes

	mu  sync.Mutex
	err error // first failure
}

func newLink(conn net.Conn) *link {
	return &link{conn: conn, in: bufio.NewReaderSize(conn, 16<<10), credentials: credentialWrites}
}

// fail closes the connection; only the first cause is kept.
func (l *link) fail(err error) {
	l.mu.Lock()
	first := l.err == nil
	if first {
		l.err = err
	}
	l.mu.Unlock()
	if first {
		l.conn.Close()
	}
}

// cause is the first failure, nil while the link works.
func (l *link) cause() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Read gives the next bytes of a frame. Every failure reads as io.EOF, the only
// one the codec reports through its callback.
func (l *link) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		if len(l.next) > 0 {
			l.rest, l.next = l.next, nil
			break
		}
		if err := l.readFrame(); err != nil {
			l.fail(err)
			return 0, io.EOF
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// readFrame fills rest and next with one frame, or leaves them empty when the
// frame is of no use to us.
func (l *link) readFrame() error {
	if _, err := io.ReadFull(l.in, l.head[:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(l.head[0:])
	channel := binary.BigEndian.Uint32(l.head[4:])
	flags := binary.BigEndian.Uint32(l.head[16:])
	if size > MaxFrame {
		return fmt.Errorf("read frame: %d bytes, at most %d allowed", size, MaxFrame)
	}
	if cap(l.body) < int(size) {
		l.body = make([]byte, size)
	}
	l.body = l.body[:size]
	if _, err := io.ReadFull(l.in, l.body); err != nil {
		return err
	}
	if flags&memoryFlags != 0 || size == 0 {
		return nil
	}
	if channel == controlChannel && !wanted(l.body) {
		return nil
	}
	l.rest, l.next = l.head[:], l.body
	return nil
}

// wanted reports whether a message is one the codec knows and we use; the codec
// prints numbers it does not know to standard output.
func wanted(body []byte) bool {
	if len(body) < minControl || body[0] != 'L' || body[5] != 'L' {
		return false
	}
	switch binary.BigEndian.Uint32(body[1:]) {
	case proto.OpError, proto.OpReply, proto.OpRequest, proto.OpUnderflow, proto.OpSubscribeEvent,
		proto.OpPlaybackStreamKilled, proto.OpRecordStreamKilled,
		proto.OpPlaybackStreamMoved, proto.OpRecordStreamSuspended:
		return true
	}
	return false
}

// Write sends all of p or closes the link. The codec ignores write errors; the
// closed link tells it.
func (l *link) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil // the codec's first write
	}
	n, err := l.write(p)
	if err != nil {
		l.fail(err)
	}
	return n, err
}

func (l *link) write(p []byte) (int, error) {
	if err := l.conn.SetWriteDeadline(time.Now().Add(WriteTimeout)); err != nil {
		return 0, err
	}
	u, ok := l.conn.(*net.UnixConn)
	if !ok || l.credentials == 0 {
		return l.conn.Write(p)
	}
	l.credentials--
	who := syscall.UnixCredentials(&syscall.Ucred{Pid: int32(os.Getpid()), Uid: uint32(os.Getuid()), Gid: uint32(os.Getgid())})
	n, _, err := u.WriteMsgUnix(p, who, nil)
	if err != nil || n == len(p) {
		return n, err
	}
	more, err := u.Write(p[n:])
	return n + more, err
}
