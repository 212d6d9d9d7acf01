// SPDX-License-Identifier: Apache-2.0

package utterance

import (
	"errors"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/proto"
)

func TestUtterance(t *testing.T) {
	var sent []proto.Audio
	u, err := Begin("t1", func(a proto.Audio) error { sent = append(sent, a); return nil })
	if err != nil {
		t.Fatal(err)
	}
	var said []int16
	for i := range 17 { // 17 fragments of 20 ms: four messages and a rest
		fragment := make([]int16, 320)
		for j := range fragment {
			fragment[j] = int16(i*320 + j)
		}
		said = append(said, fragment...)
		if err := u.Add(fragment); err != nil {
			t.Fatal(err)
		}
	}
	if err := u.End(proto.UtteranceReleased); err != nil {
		t.Fatal(err)
	}
	var heard []int16
	for i, a := range sent {
		if a.Seq != uint64(i) || a.Turn != "t1" {
			t.Errorf("message %d: %+v", i, a)
		}
		if a.Pos != uint64(len(heard)) {
			t.Errorf("message %d is at %d, want %d", i, a.Pos, len(heard))
		}
		if a.Op == proto.AudioData {
			pcm, err := audio.DecodePCM(a.PCM)
			if err != nil {
				t.Fatal(err)
			}
			heard = append(heard, pcm...)
		}
	}
	if len(sent) != 7 || sent[0].Op != proto.AudioBegin || sent[6].Op != proto.AudioEnd || sent[6].Reason != proto.UtteranceReleased {
		t.Errorf("sent %d messages, the last %+v", len(sent), sent[len(sent)-1])
	}
	if len(heard) != len(said) || u.Samples() != uint64(len(said)) {
		t.Fatalf("said %d samples, sent %d", len(said), len(heard))
	}
	for i := range said {
		if said[i] != heard[i] {
			t.Fatalf("sample %d is %d, want %d", i, heard[i], said[i])
		}
	}
}

func TestSendFails(t *testing.T) {
	gone := errors.New("gone")
	fail := false
	u, err := Begin("t1", func(proto.Audio) error {
		if fail {
			return gone
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	fail = true
	if err := u.Add(make([]int16, chunk)); !errors.Is(err, gone) {
		t.Errorf("Add: %v", err)
	}
	if err := u.End(proto.UtteranceReleased); !errors.Is(err, gone) {
		t.Errorf("End: %v", err)
	}
}

func TestDeadline(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	for _, c := range []struct{ lease, limit, want time.Time }{
		{time.Time{}, time.Time{}, time.Time{}},
		{at(5), time.Time{}, at(5)},
		{time.Time{}, at(9), at(9)},
		{at(5), at(9), at(5)},
		{at(9), at(5), at(5)},
	} {
		if got := (&Utterance{Lease: c.lease, Limit: c.limit}).Deadline(); !got.Equal(c.want) {
			t.Errorf("lease %v, limit %v: %v", c.lease, c.limit, got)
		}
	}
}
