// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/ttsd/internal/synth"
)

// A scripted engine says its name, after which it gives err.
type scripted struct {
	name   string
	some   bool
	err    error
	said   []string
	closed int
}

func (s *scripted) Name() string     { return s.name }
func (s *scripted) Version() string  { return s.name + " 1" }
func (s *scripted) Voices() []string { return []string{s.name} }
func (s *scripted) Timed() bool      { return false }
func (s *scripted) Detail() any      { return s.name }
func (s *scripted) Close()           { s.closed++ }

func (s *scripted) Synthesize(ctx context.Context, sentence synth.Sentence, emit synth.Emit) error {
	s.said = append(s.said, sentence.Text)
	if s.some || s.err == nil {
		emit(synth.Sound{Rate: 1, Samples: []float32{0}})
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.err
}

func TestSecondSpeaksForFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told []error
		first, second := &scripted{name: "a"}, &scripted{name: "b"}
		e := New(first, second, func(err error) { told = append(told, err) })
		if e.Name() != "a" || e.Version() != "a 1" || e.Voices()[0] != "a" || e.Detail() != "a" || e.Backup() != "b" {
			t.Error("it is not the first one")
		}
		say := func(text, voice string) error {
			return e.Synthesize(t.Context(), synth.Sentence{Text: text, Voice: voice}, func(synth.Sound) {})
		}
		fail := func(code proto.Code) *proto.Error { return proto.Errorf(code, "speak", "no") }
		for _, step := range []struct {
			text, voice string
			some        bool
			err         error
			want        error
		}{
			{"fine", "", false, nil, nil},
			{"invalid", "", false, fail(proto.CodeInvalid), nil},
			{"chosen", "x", false, fail(proto.CodeInvalid), fail(proto.CodeInvalid)},
			{"broken", "", false, fail(proto.CodeFailed), nil},
			{"half", "", true, fail(proto.CodeFailed), fail(proto.CodeFailed)},
			{"gone", "", false, fail(proto.CodeUnavailable), nil},
			{"resting", "", false, nil, nil},
		} {
			first.some, first.err = step.some, step.err
			if err := say(step.text, step.voice); !errors.Is(err, step.want) && err != step.want {
				t.Errorf("%s gives %v, want %v", step.text, err, step.want)
			}
		}
		time.Sleep(restTime)
		if err := say("back", ""); err != nil {
			t.Error(err)
		}
		if !slices.Equal(first.said, []string{"fine", "invalid", "chosen", "broken", "half", "gone", "back"}) || !slices.Equal(second.said, []string{"invalid", "broken", "gone", "resting"}) {
			t.Errorf("the first said %q, the second %q", first.said, second.said)
		}
		if len(told) != 5 || told[0] != nil || told[1] == nil || told[2] == nil || told[3] == nil || told[4] != nil {
			t.Errorf("told %v", told)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := e.Synthesize(ctx, synth.Sentence{Text: "x"}, func(synth.Sound) {}); !errors.Is(err, context.Canceled) || len(second.said) != 4 {
			t.Errorf("cancelled: %v", err)
		}
		if e.Close(); first.closed != 1 || second.closed != 1 {
			t.Error("not both are closed")
		}
	})
}
