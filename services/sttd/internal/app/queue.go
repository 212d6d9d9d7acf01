// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/sttd/internal/intake"
	"example.org/desktop-assistant/services/sttd/internal/recognize"
)

const (
	// margin is on top of [mic] limit_s: the pre-roll, and the tail of the key.
	margin = 5 * time.Second
	// quiet is how long a stream may send nothing; micd sends every 80 ms.
	quiet      = 2 * time.Second
	staleEvery = 250 * time.Millisecond
	// drainLimit is what the utterance at the engine gets when we stop, well
	// inside the 5 s of a shutdown.
	drainLimit = 2500 * time.Millisecond
	// maxEngines is how many are asked for one utterance, if each goes.
	maxEngines = 2
)

// Causes of the end of a job before its time.
var (
	errForgotten = errors.New("forgotten")
	errStopping  = errors.New("stopping")
)

// queue is the state of sttd: streams being collected, utterances waiting, and
// the one at an engine. One goroutine owns it.
type queue struct {
	log    *slog.Logger
	conn   *bus.Conn
	limit  time.Duration // for one utterance, from its end
	worker *worker

	desk    *intake.Desk
	waiting []*job // the oldest first, at most one of a device
	running *job   // nil when the engine is idle
	done    chan *job
	last    detail // its fields about the past
}

// job is an utterance on its way to its event.
type job struct {
	intake.Recording
	ended  time.Time
	cancel context.CancelCauseFunc // of the running one
	event  proto.Event             // set by the worker
}

func newQueue(env daemon.Env, engine *choice) *queue {
	cfg := env.Config
	return &queue{
		log: env.Log, conn: env.Bus, limit: cfg.STT.DeadlineS.Duration(),
		worker: &worker{log: env.Log, engine: engine, languages: cfg.Languages()},
		desk:   intake.New(cfg.Mic.LimitS.Duration() + margin),
		done:   make(chan *job, 1),
	}
}

// take adds one message of a stream.
func (q *queue) take(ctx context.Context, dev, stream string, m proto.Audio) {
	outcome, r := q.desk.Take(time.Now(), intake.Key{Device: dev, Stream: stream}, m)
	switch outcome {
	case intake.Refused:
		q.fail(r, "", proto.Errorf(proto.CodeBusy, "listen", "too many microphones speak at once").WithHint("try again in a moment"))
	case intake.Aborted:
		if r.Reason != proto.UtteranceCancelled {
			q.fail(r, "", proto.Errorf(proto.CodeUnavailable, "listen", "the microphone was lost").
				WithHint("see what is wrong with it: desktop-assistant status"))
		}
	case intake.Complete:
		q.add(ctx, r)
	}
}

// add queues an utterance. One of the same device that still waits has been
// superseded: its answer would come too late.
func (q *queue) add(ctx context.Context, r intake.Recording) {
	if r.Lost > 0 || r.Cut > 0 {
		q.log.Warn("utterance incomplete", "turn", r.Turn, "lost_samples", r.Lost, "cut_samples", r.Cut)
	}
	if r.Lost > len(r.PCM)/2 {
		q.fail(r, "", proto.Errorf(proto.CodeUnavailable, "listen", "more than half of the sound was lost on its way").
			WithHint("try again; if it stays so, look at: desktop-assistant status"))
		return
	}
	kept := q.waiting[:0]
	for _, j := range q.waiting {
		if j.Device != r.Device {
			kept = append(kept, j)
			continue
		}
		q.fail(j.Recording, "", proto.Errorf(proto.CodeCancelled, "transcribe", "a newer utterance took its place"))
	}
	q.waiting = append(kept, &job{Recording: r, ended: time.Now()})
	q.next(ctx)
}

// next starts the oldest waiting utterance, unless one is running.
func (q *queue) next(ctx context.Context) {
	if q.running != nil || len(q.waiting) == 0 {
		return
	}
	j := q.waiting[0]
	q.waiting = q.waiting[1:]
	// It may outlive ctx for a moment, in drain.
	free, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	limited, release := context.WithDeadline(free, j.ended.Add(q.limit))
	j.cancel = cancel
	q.running = j
	go func() {
		j.event = q.worker.transcribe(limited, j)
		release()
		cancel(nil)
		q.done <- j // has room: only one runs at a time
	}()
}

// finish publishes what became of an utterance.
func (q *queue) finish(ctx context.Context, j *job) {
	q.running = nil
	if j.event != nil {
		q.publish(j.event, j.Recording)
		q.last.LastAt, q.last.LastMS = &proto.Time{Time: time.Now()}, time.Since(j.ended).Milliseconds()
		q.last.LastAudio = duration(j.Recording).Milliseconds()
		q.last.Done++
	}
	q.next(ctx)
}

// forget drops whatever belongs to a turn that is over.
func (q *queue) forget(turn string) {
	if turn == "" {
		return
	}
	q.desk.OfTurn(turn)
	kept := q.waiting[:0]
	for _, j := range q.waiting {
		if j.Turn != turn {
			kept = append(kept, j)
		}
	}
	q.waiting = kept
	if q.running != nil && q.running.Turn == turn {
		q.running.cancel(errForgotten)
	}
}

// expire ends the streams that send nothing any more.
func (q *queue) expire(now time.Time) {
	for _, r := range q.desk.Stale(now, quiet) {
		q.fail(r, "", proto.Errorf(proto.CodeUnavailable, "listen", "the microphone stopped sending").
			WithHint("see whether micd runs: desktop-assistant status"))
	}
}

// drain ends everything with words: what is at the engine gets a moment more.
func (q *queue) drain() {
	for _, r := range q.desk.All() {
		q.fail(r, "", stopping())
	}
	for _, j := range q.waiting {
		q.fail(j.Recording, "", stopping())
	}
	q.waiting = nil
	if q.running == nil {
		return
	}
	limit := time.NewTimer(drainLimit)
	defer limit.Stop()
	var j *job
	select {
	case j = <-q.done:
	case <-limit.C:
		q.running.cancel(errStopping)
		j = <-q.done
	}
	if j.event != nil {
		q.publish(j.event, j.Recording)
	}
}

// stopping is the end of what we cannot finish any more.
func stopping() *proto.Error {
	return proto.Errorf(proto.CodeUnavailable, "transcribe", "speech recognition is stopping").
		WithHint("ask again when it is back: desktop-assistant status")
}

func (q *queue) fail(r intake.Recording, engine string, err error) {
	q.log.Warn("utterance failed", "turn", r.Turn, "error", err)
	q.publish(proto.STTFailed{Error: *proto.AsError("transcribe", err), Engine: engine}, r)
}

func (q *queue) publish(ev proto.Event, r intake.Recording) {
	if err := q.conn.Publish(ev, bus.Meta{Device: r.Device, Turn: r.Turn}); err != nil {
		q.log.Error("publish", "turn", r.Turn, "error", err)
	}
}

func (q *queue) detail() detail {
	d := q.last
	d.Streams, d.Queue, d.Ignored = q.desk.Open(), len(q.waiting), q.desk.Ignored()
	if q.running != nil {
		d.Queue++
	}
	return d
}

func duration(r intake.Recording) time.Duration { return audio.Duration(len(r.PCM), proto.Rate) }

// worker turns one utterance into its event.
type worker struct {
	log       *slog.Logger
	engine    *choice
	languages []string
}

// transcribe gives the event of an utterance, nil when nobody waits for it any
// more.
func (w *worker) transcribe(ctx context.Context, j *job) proto.Event {
	u := recognize.Utterance{PCM: j.PCM, Rate: proto.Rate, Languages: w.languages}
	engine, t, err := w.recognize(ctx, u)
	took, length := time.Since(j.ended).Milliseconds(), u.Duration().Milliseconds()
	var rejection *recognize.Rejection
	switch {
	case err == nil:
		w.log.Debug("transcribed", "turn", j.Turn, "engine", engine, "text", t.Text, "language", t.Language, "took_ms", took)
		return proto.STTFinal{Text: t.Text, Language: t.Language, Confidence: t.Confidence, Engine: engine, AudioMS: length, TookMS: took}
	case errors.As(err, &rejection):
		w.log.Debug("rejected", "turn", j.Turn, "engine", engine, "reason", rejection.Reason, "detail", rejection.Detail)
		return proto.STTRejected{Reason: string(rejection.Reason), Engine: engine, AudioMS: length, TookMS: took}
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errForgotten):
		return nil
	case errors.Is(cause, errStopping):
		err = stopping()
	case errors.Is(cause, context.DeadlineExceeded):
		err = proto.Errorf(proto.CodeTimeout, "transcribe", "no transcript within %v", time.Since(j.ended).Round(time.Second)).
			WithHint("give it longer with [stt] deadline_s, or use a smaller model")
	}
	w.log.Warn("utterance failed", "turn", j.Turn, "engine", engine, "error", err)
	return proto.STTFailed{Error: *proto.AsError("transcribe", err), Engine: engine}
}

// recognize asks the engine in use, and when that has gone the next one.
func (w *worker) recognize(ctx context.Context, u recognize.Utterance) (engine string, t recognize.Transcript, err error) {
	if _, err := recognize.Screen(u); err != nil {
		return "", t, err
	}
	e, err := w.engine.now(ctx)
	if err != nil {
		return "", t, err
	}
	for range maxEngines {
		engine = e.Name()
		t, err = e.Recognize(ctx, u)
		if err == nil || ctx.Err() != nil || !gone(err) {
			break
		}
		other, none := w.engine.look(ctx)
		if none != nil || other == e { // the first error says more
			break
		}
		e = other
	}
	return engine, t, err
}
