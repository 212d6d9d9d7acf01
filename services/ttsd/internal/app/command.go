// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/speech"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/ttsd/internal/queue"
	"example.org/desktop-assistant/services/ttsd/internal/synth"
	"example.org/desktop-assistant/services/ttsd/internal/synth/kokoro/voice"
)

func (a *App) endpoints() []bus.Endpoint {
	return []bus.Endpoint{
		bus.Command(a.say), bus.Command(a.end), bus.Command(a.stop),
		bus.Command(a.pause), bus.Command(a.resume), bus.Command(a.voices),
	}
}

// ask runs f on the goroutine of Run and gives what it returns.
func ask[R any](ctx context.Context, a *App, f func() (R, error)) (R, error) {
	type answer struct {
		reply R
		err   error
	}
	got := make(chan answer, 1)
	if a.post(ctx.Done(), func() { r, err := f(); got <- answer{r, err} }) {
		select {
		case x := <-got:
			return x.reply, x.err
		case <-ctx.Done():
		}
	}
	var none R
	return none, proto.Errorf(proto.CodeUnavailable, "speak", "ttsd is being stopped").
		WithHint("see whether it is back: desktop-assistant status")
}

func (a *App) say(ctx context.Context, cmd proto.SpeechSay) (proto.Done, error) {
	return ask(ctx, a, func() (proto.Done, error) {
		known, err := a.queue.Check(cmd)
		if known || err != nil {
			return proto.Done{}, err
		}
		if a.engine == nil {
			return proto.Done{}, noEngine(cmd.Verb())
		}
		if err := a.Sound.Ready(); err != nil {
			return proto.Done{}, err
		}
		if !a.queue.Busy() {
			a.bus = a.watchNow()
		}
		a.queue.Say(time.Now(), cmd)
		return proto.Done{}, nil
	})
}

func noEngine(op string) *proto.Error {
	return proto.Errorf(proto.CodeUnavailable, op, "there is no speech engine").WithHint("apt install espeak-ng")
}

// sentence makes what the engine gets. A sentence that came without its spoken
// form, as one typed by hand, is given one here.
func (a *App) sentence(m queue.Make) synth.Sentence {
	say := m.Say
	s := synth.Sentence{Text: say.Spoken, Language: say.Language, Voice: say.Voice, Soon: m.First, Fixed: say.Fixed}
	language := s.Language
	if language == "" {
		language = speech.Language(say.Text, "", a.env.Config.Languages())
	}
	if s.Voice == "" { // else the language may be the voice's
		s.Language = language
	}
	if s.Text == "" {
		s.Text = speech.Spoken(say.Text, language)
	}
	return s
}

func (a *App) end(ctx context.Context, cmd proto.SpeechEnd) (proto.Done, error) {
	return ask(ctx, a, func() (proto.Done, error) { return proto.Done{}, a.queue.End(time.Now(), cmd) })
}

// stop answers when it is silent, or after a moment: the silence is asked for first.
func (a *App) stop(ctx context.Context, cmd proto.SpeechStop) (proto.TurnsStopped, error) {
	silent := make(chan struct{})
	stopped, err := ask(ctx, a, func() (proto.TurnsStopped, error) {
		turns := a.queue.Stop(time.Now(), cmd.Turn)
		a.silent = append(a.silent, silent)
		return proto.TurnsStopped{Turns: turns}, nil
	})
	if err != nil {
		return stopped, err
	}
	limit := time.NewTimer(silenceLimit)
	defer limit.Stop()
	select {
	case <-silent:
	case <-limit.C:
	case <-ctx.Done():
	}
	return stopped, nil
}

func (a *App) pause(ctx context.Context, _ proto.SpeechPause) (proto.Done, error) {
	return ask(ctx, a, func() (proto.Done, error) { a.queue.Pause(time.Now()); return proto.Done{}, nil })
}

func (a *App) resume(ctx context.Context, _ proto.SpeechResume) (proto.Done, error) {
	return ask(ctx, a, func() (proto.Done, error) { a.queue.Resume(); return proto.Done{}, nil })
}

func (a *App) voices(ctx context.Context, cmd proto.SpeechVoices) (proto.Voices, error) {
	return ask(ctx, a, func() (proto.Voices, error) {
		if a.engine == nil {
			return proto.Voices{}, noEngine(cmd.Verb())
		}
		v := proto.Voices{Engine: a.engine.Name(), Voices: a.engine.Voices()}
		if v.Engine != config.EngineEspeak {
			v.Blends = map[string]string{}
			for language, c := range a.env.Config.Voice {
				v.Blends[language] = voice.Blend(c.Blend).String()
			}
		}
		return v, nil
	})
}

// event pauses when someone begins to speak on this device.
func (a *App) event(ctx context.Context, _ proto.Envelope, ev proto.Event) {
	if _, ok := ev.(proto.UtteranceStarted); ok {
		a.post(ctx.Done(), func() { a.queue.Pause(time.Now()) })
	}
}
