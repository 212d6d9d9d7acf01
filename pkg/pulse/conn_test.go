// SPDX-License-Identifier: Apache-2.0

package pulse

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.org/desktop-assistant/pkg/pulse/internal/wire"
	"github.com/jfreymuth/pulse/proto"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hangUp is polite until a message of one kind comes, then says last and closes.
func hangUp(when uint32, last ...[]byte) script {
	return func(s *fakeServer, op, tag uint32, body []byte) [][]byte {
		if op != when {
			return polite(s, op, tag, body)
		}
		for _, f := range last {
			if _, err := s.Write(f); err != nil {
				return nil
			}
		}
		s.Close()
		return nil
	}
}

func TestServerClosesMidRequest(t *testing.T) {
	// The whole header and half the body of an answer, then nothing: the codec by
	// itself would report success with a half filled reply.
	half := control(ack(2).str("server").str("1.0").str("somebody"))
	for name, last := range map[string][][]byte{"no answer": nil, "half an answer": {half[:len(half)-5]}, "half a header": {half[:7]}} {
		t.Run(name, func(t *testing.T) {
			c := mustDialFake(t, hangUp(proto.OpGetServerInfo, last...))
			p, err := c.Playback(t.Context(), PlaybackOptions{Rate: 5000})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Info(t.Context()); !errors.Is(err, ErrLost) {
				t.Errorf("error is %v, want ErrLost", err)
			}
			<-c.Lost()
			<-p.Done()
			if !errors.Is(c.Err(), ErrLost) || !errors.Is(p.Err(), ErrLost) {
				t.Errorf("connection says %v, stream %v, want ErrLost", c.Err(), p.Err())
			}
			if err := p.Write(t.Context(), make([]float32, 10)); !errors.Is(err, ErrLost) {
				t.Errorf("write after the loss says %v, want ErrLost", err)
			}
			c.Close()
			if _, err := c.Subscribe(t.Context()); err == nil {
				t.Error("subscribed to a lost connection")
			}
		})
	}
}

func TestRefusedHandshakeNamesTheCookie(t *testing.T) {
	_, err := dialFake(t, func(s *fakeServer, op, tag uint32, body []byte) [][]byte {
		return [][]byte{control(message(proto.OpError, tag).u32(uint32(proto.ErrAccessDenied)))}
	})
	var server *ServerError
	if !errors.Is(err, ErrNoServer) || !errors.As(err, &server) {
		t.Fatalf("error is %v, want a *ServerError", err)
	}
	if !strings.Contains(server.Hint(), "PULSE_COOKIE") || len(server.Tried) != 1 {
		t.Errorf("hint is %q after %v", server.Hint(), server.Tried)
	}
}

func TestSilentServerIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet := false
		c := mustDialFake(t, func(s *fakeServer, op, tag uint32, body []byte) [][]byte {
			if op == proto.OpGetSinkInfo {
				quiet = true
			}
			if quiet {
				return nil
			}
			return polite(s, op, tag, body)
		})
		began := time.Now()
		if _, err := c.Sink(t.Context(), ""); !errors.Is(err, ErrLost) {
			t.Errorf("error is %v, want ErrLost", err)
		}
		if d := time.Since(began); d != wire.ReplyTimeout {
			t.Errorf("gave up after %v, want %v", d, wire.ReplyTimeout)
		}
		<-c.Lost()
	})
}

func TestCancelledRequestReturnsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := mustDialFake(t, func(s *fakeServer, op, tag uint32, body []byte) [][]byte {
			if op == proto.OpGetServerInfo {
				return nil
			}
			return polite(s, op, tag, body)
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Info(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v, want the context's", err)
		}
		if c.Err() != nil {
			t.Errorf("connection says %v, want it alive", c.Err())
		}
		c.Close()
		if _, err := c.Info(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("error after Close is %v, want ErrClosed", err)
		}
	})
}

// A stream whose creation is answered after its caller gave up is deleted again.
func TestAbandonedStreamIsDeleted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	deleted := make(chan uint32, 1)
	c := mustDialFake(t, func(s *fakeServer, op, tag uint32, body []byte) [][]byte {
		switch op {
		case proto.OpCreateRecordStream:
			cancel()
		case proto.OpDeleteRecordStream:
			deleted <- binary.BigEndian.Uint32(body[11:])
		}
		return polite(s, op, tag, body)
	})
	_, err := c.Capture(ctx, CaptureOptions{})
	if err == nil {
		t.Fatal("capture opened although its context had ended")
	}
	if got := <-deleted; got != 7 {
		t.Errorf("stream %d was deleted, want 7", got)
	}
}

func TestWriteStallClosesTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		c := mustDialFake(t, func(s *fakeServer, op, tag uint32, body []byte) [][]byte {
			if op == proto.OpCorkPlaybackStream {
				<-stuck // reads nothing more
			}
			return polite(s, op, tag, body)
		})
		defer close(stuck)
		p, err := c.Playback(t.Context(), PlaybackOptions{Rate: 5000})
		if err != nil {
			t.Fatal(err)
		}
		answered := make(chan error, 1)
		go func() { answered <- p.Uncork(t.Context()) }()
		synctest.Wait()
		began := time.Now()
		// The codec swallows the error of this write; the stream ends all the same.
		if err := p.Write(t.Context(), make([]float32, 900)); err != nil && !errors.Is(err, ErrLost) {
			t.Errorf("write says %v, want nil or ErrLost", err)
		}
		<-p.Done()
		if d := time.Since(began); d != wire.WriteTimeout {
			t.Errorf("stalled for %v, want %v", d, wire.WriteTimeout)
		}
		if err := <-answered; !errors.Is(err, ErrLost) || !errors.Is(p.Err(), ErrLost) {
			t.Errorf("request says %v, stream %v, want ErrLost", err, p.Err())
		}
	})
}

func TestEventsBeforeTheCreateReplyCount(t *testing.T) {
	// All in one write and before the answer: the read loop is done with them before
	// the caller can register the stream.
	c := mustDialFake(t, func(s *fakeServer, op, tag uint32, body []byte) [][]byte {
		answer := polite(s, op, tag, body)
		switch op {
		case proto.OpCreatePlaybackStream:
			credit := control(message(proto.OpRequest, proto.Undefined).u32(7).u32(800))
			other := control(message(proto.OpPlaybackStreamKilled, proto.Undefined).u32(8))
			return [][]byte{bytes.Join([][]byte{credit, other, answer[0]}, nil)}
		case proto.OpCreateRecordStream:
			killed := control(message(proto.OpRecordStreamKilled, proto.Undefined).u32(7))
			return [][]byte{bytes.Join([][]byte{killed, answer[0]}, nil)}
		}
		return answer
	})
	p, err := c.Playback(t.Context(), PlaybackOptions{Rate: 5000})
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	if p.credit != 4800 {
		t.Errorf("credit is %d, want 4000 of the answer and 800 of the event", p.credit)
	}
	p.mu.Unlock()
	if p.Err() != nil {
		t.Errorf("stream says %v for the end of another one", p.Err())
	}
	s, err := c.Capture(t.Context(), CaptureOptions{})
	if err == nil {
		<-s.Done()
		err = s.Err()
	}
	if !errors.Is(err, ErrKilled) {
		t.Errorf("capture says %v, want ErrKilled", err)
	}
}

func TestKilledPlaybackFreesItsWriter(t *testing.T) {
	c := mustDialFake(t, func(s *fakeServer, op, tag uint32, body []byte) [][]byte {
		answer := polite(s, op, tag, body)
		if op == proto.Undefined { // sound
			answer = append(answer, control(message(proto.OpPlaybackStreamKilled, proto.Undefined).u32(7)))
		}
		return answer
	})
	p, err := c.Playback(t.Context(), PlaybackOptions{Rate: 5000})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(t.Context(), make([]float32, 5000)); !errors.Is(err, ErrKilled) {
		t.Errorf("write says %v, want ErrKilled", err)
	}
	if err := p.Drain(t.Context()); !errors.Is(err, ErrKilled) {
		t.Errorf("drain says %v, want ErrKilled", err)
	}
	p.Close()
	p.Close()
	if !errors.Is(p.Err(), ErrKilled) || c.Err() != nil {
		t.Errorf("stream says %v, connection %v, want ErrKilled and nil", p.Err(), c.Err())
	}
}

func TestWrongSourceIsRefused(t *testing.T) {
	deleted := make(chan struct{}, 1)
	c := mustDialFake(t, func(s *fakeServer, op, tag uint32, body []byte) [][]byte {
		if op == proto.OpDeleteRecordStream {
			deleted <- struct{}{}
		}
		return polite(s, op, tag, body) // always offers "mic", as PipeWire does
	})
	if _, err := c.Capture(t.Context(), CaptureOptions{Source: "webcam"}); !errors.Is(err, ErrNoDevice) {
		t.Errorf("error is %v, want ErrNoDevice", err)
	}
	<-deleted
}

func TestSlowReceiverLosesNewSoundAndKnowsIt(t *testing.T) {
	c := mustDialFake(t, polite)
	s, err := c.Capture(t.Context(), CaptureOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const room = 250 // 5 s
	for range room + 10 {
		s.push(make([]byte, 640), time.Now())
	}
	if n := s.Dropped(); n != 10*320 {
		t.Errorf("dropped %d samples, want 3200", n)
	}
	var last Frame
	for range room {
		last = <-s.Frames()
	}
	s.push([]byte{0xFE, 0xFF, 0x01, 0x00}, time.Now())
	f := <-s.Frames()
	if gap := f.Pos - last.Pos - int64(len(last.Samples)); gap != s.Dropped() {
		t.Errorf("gap is %d samples, dropped %d", gap, s.Dropped())
	}
	if len(f.Samples) != 2 || f.Samples[0] != -2 || f.Samples[1] != 1 {
		t.Errorf("samples are %v, want [-2 1]", f.Samples)
	}
	s.Close()
	s.push(make([]byte, 640), time.Now())
	if _, open := <-s.Frames(); open || !errors.Is(s.Err(), ErrClosed) {
		t.Errorf("stream says %v after Close", s.Err())
	}
}

func TestStalledCaptureEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := mustDialFake(t, polite)
		s, err := c.Capture(t.Context(), CaptureOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s.handle(&proto.RecordStreamSuspended{StreamIndex: 7, Suspended: true})
		<-time.After(time.Minute)
		if s.Err() != nil {
			t.Fatalf("suspended stream says %v", s.Err())
		}
		s.handle(&proto.RecordStreamSuspended{StreamIndex: 7})
		<-time.After(stallTimeout - 1)
		s.push(make([]byte, 640), time.Now())
		<-time.After(stallTimeout - 1)
		if s.Err() != nil {
			t.Fatalf("stream says %v too early", s.Err())
		}
		<-s.Done()
		if !errors.Is(s.Err(), ErrStalled) {
			t.Errorf("stream says %v, want ErrStalled", s.Err())
		}
	})
}

func TestLongNamesFitTheRequest(t *testing.T) {
	c := mustDialFake(t, polite)
	long := strings.Repeat("a long text, ", 1000)
	if _, err := c.Playback(t.Context(), PlaybackOptions{Rate: 5000, Sink: strings.Repeat("s", wire.MaxName), Media: long, Role: long, Icon: long}); err != nil {
		t.Error(err)
	}
	if _, err := c.Playback(t.Context(), PlaybackOptions{Rate: 5000, Sink: long}); !errors.Is(err, ErrNoDevice) {
		t.Errorf("error is %v, want ErrNoDevice", err)
	}
	if _, err := c.Capture(t.Context(), CaptureOptions{Source: long}); !errors.Is(err, ErrNoDevice) {
		t.Errorf("error is %v, want ErrNoDevice", err)
	}
	o := fakeOptions(t, polite)
	o.Name, o.ID, o.Icon, o.Version = long, long, long, long
	d, err := Dial(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
}

func TestUselessFramesAreSkipped(t *testing.T) {
	const recordBufferAttrChanged = 95 // the codec prints it to standard output
	c := mustDialFake(t, func(s *fakeServer, op, tag uint32, body []byte) [][]byte {
		shared := control(packet("shared memory"))
		shared[16] = 0x80
		return append([][]byte{
			control(message(recordBufferAttrChanged, proto.Undefined).u32(1)),
			control(packet("x")), control(packet{}), shared,
			control(message(proto.OpReply, 9999).u32(5)),
		}, polite(s, op, tag, body)...)
	})
	if _, err := c.Source(t.Context(), ""); err != nil {
		t.Error(err)
	}
}

func TestHugeFrameEndsTheConnection(t *testing.T) {
	c := mustDialFake(t, hangUp(proto.OpGetServerInfo, []byte{0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0}, make([]byte, 12)))
	_, err := c.Info(t.Context())
	if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("error is %v, want ErrLost with the size", err)
	}
}

func TestChangesAreMerged(t *testing.T) {
	c := mustDialFake(t, polite)
	ch, err := c.Subscribe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []proto.SubscriptionEventType{
		proto.EventSource | proto.EventNew, proto.EventSource | proto.EventRemove, proto.EventServer | proto.EventChange,
		proto.EventSinkSinkInput, proto.EventCard,
	} {
		c.handle(&proto.SubscribeEvent{Event: e})
	}
	got := <-ch
	if got != SourcesChanged|ServerChanged|SinkInputsChanged || got.Has(SinksChanged) || !got.Has(SinksChanged|ServerChanged) {
		t.Errorf("change is %b", got)
	}
	c.Close()
	if _, open := <-ch; open {
		t.Error("channel still open after Close")
	}
}

func TestStopCutsOffAWaitingDrain(t *testing.T) {
	c := mustDialFake(t, func(s *fakeServer, op, tag uint32, body []byte) [][]byte {
		switch op {
		case proto.OpDrainPlaybackStream:
			return nil // drains for ever
		case proto.OpGetPlaybackLatency:
			return [][]byte{control(ack(tag).usec(100_000).usec(0).flag(true).when().when().s64(8000).s64(6000).u64(0).u64(0))}
		}
		return polite(s, op, tag, body)
	})
	p, err := c.Playback(t.Context(), PlaybackOptions{Rate: 5000})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(t.Context(), make([]float32, 1000)); err != nil {
		t.Fatal(err)
	}
	drained, written := make(chan error, 1), make(chan error, 1)
	go func() { drained <- p.Drain(t.Context()) }()
	if err := p.Uncork(t.Context()); err != nil {
		t.Fatal(err)
	}
	go func() { written <- p.Write(t.Context(), make([]float32, 1000)) }()
	played, err := p.Stop(t.Context())
	if err != nil || played != 1000 {
		t.Errorf("stopped at %d, %v, want 1000", played, err)
	}
	if p.Written() != 1000 {
		t.Errorf("time line is at %d, want 1000", p.Written())
	}
	// Either may have begun after Stop; then a second one ends it.
	if _, err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	p.Close()
	for _, ch := range []chan error{drained, written} {
		if err := <-ch; !errors.Is(err, ErrStopped) && !errors.Is(err, ErrClosed) {
			t.Errorf("error is %v, want ErrStopped or ErrClosed", err)
		}
	}
}

func TestRedialBacksOffAndReportsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failures []error
		attempts := 0
		o := fakeOptions(t, hangUp(proto.OpGetServerInfo))
		works := o.dial
		o.dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if attempts++; attempts <= 10 {
				return nil, errors.New("nobody there")
			}
			return works(ctx, network, addr)
		}
		began := time.Now()
		own := errors.New("own")
		var took time.Duration
		ups := 0
		err := Redial(t.Context(), o, func(err error) { failures = append(failures, err) }, func(ctx context.Context, c *Conn) error {
			if ups++; ups == 1 {
				took = time.Since(began)
				if _, err := c.Info(ctx); err == nil {
					t.Error("server did not hang up")
				}
				<-ctx.Done()
				if !errors.Is(context.Cause(ctx), ErrLost) {
					t.Errorf("cause is %v, want ErrLost", context.Cause(ctx))
				}
				return ctx.Err()
			}
			return own
		})
		if !errors.Is(err, own) || ups != 2 {
			t.Errorf("redial says %v after %d connections", err, ups)
		}
		if len(failures) != 2 || !errors.Is(failures[0], ErrNoServer) || !errors.Is(failures[1], ErrLost) {
			t.Errorf("failures are %v", failures)
		}
		// Ten waits: 0.1 to 3.2 s doubling, then 5 s each, half of each random.
		if sum := 6300*time.Millisecond + 4*lastWait; took < sum/2 || took > sum {
			t.Errorf("ten attempts took %v, want between %v and %v", took, sum/2, sum)
		}
	})
}

func TestRedialEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := Redial(ctx, fakeOptions(t, polite), nil, func(ctx context.Context, c *Conn) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	if err != nil {
		t.Errorf("redial says %v, want nil", err)
	}
}

func TestEncodeMakesSoundOfAnything(t *testing.T) {
	nan := float32(0)
	nan /= nan
	got := encode([]float32{nan, 2, -2, 0.5})
	for i, want := range []uint32{0, 0x3F800000, 0xBF800000, 0x3F000000} {
		if v := binary.LittleEndian.Uint32(got[4*i:]); v != want {
			t.Errorf("sample %d is %#x, want %#x", i, v, want)
		}
	}
}
