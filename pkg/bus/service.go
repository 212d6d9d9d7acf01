// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"example.org/desktop-assistant/proto"
)

const (
	srvPing      = "$SRV.PING"
	metaInstance = "instance"
	maxPayload   = 900 << 10 // bytes of the bus's 1 MiB; the rest is room for headers
)

// Endpoint is one subject that a service answers. Make it with [Command] or
// [Tool].
type Endpoint struct {
	name     string
	subject  func(dev string) string
	metadata map[string]string
	handle   func(ctx context.Context, s *Service, r micro.Request)
}

// Command answers a command with fn. Calls of one command run one after the
// other, in order, so fn is quick: it posts to whoever does the work. An error
// that is no *[proto.Error] is answered as internal. ctx ends when the service
// stops.
func Command[C proto.Command[R], R any](fn func(ctx context.Context, cmd C) (R, error)) Endpoint {
	var zero C
	return CommandOf(zero, fn)
}

// CommandOf is [Command] for a command whose verb depends on its value, such
// as [proto.StatusOf].
func CommandOf[C proto.Command[R], R any](shape C, fn func(ctx context.Context, cmd C) (R, error)) Endpoint {
	verb := shape.Verb()
	return Endpoint{
		name:    strings.ReplaceAll(verb, ".", "-"),
		subject: func(dev string) string { return proto.CommandSubject(dev, verb) },
		handle: func(ctx context.Context, s *Service, r micro.Request) {
			cmd := shape
			if data := r.Data(); len(data) > 0 {
				if err := json.Unmarshal(data, &cmd); err != nil {
					s.c.blame(r.Subject(), err)
					s.refuse(r, proto.Errorf(proto.CodeInvalid, verb, "the request is not the JSON of this command: %v", err))
					return
				}
			}
			reply, err := fn(ctx, cmd)
			if err != nil {
				s.refuse(r, proto.AsError(verb, err))
				return
			}
			body, err := json.Marshal(reply)
			if err != nil {
				s.refuse(r, proto.AsError(verb, err))
				return
			}
			if len(body) > maxPayload {
				s.refuse(r, proto.Errorf(proto.CodeInternal, verb, "the reply has %d bytes, over the %d that the bus carries", len(body), maxPayload))
				return
			}
			s.answered(r, r.Respond(body))
		},
	}
}

// Tool answers calls of one tool with fn, each on its own goroutine, so that
// calls may run at the same time. headers of a plain request are nil.
func Tool(spec proto.ToolSpec, fn func(ctx context.Context, call proto.ToolCall, arguments []byte) proto.ToolResult) Endpoint {
	return Endpoint{
		name:    spec.Name,
		subject: func(string) string { return proto.ToolRun(spec.Name) },
		metadata: map[string]string{
			"description": spec.Description, "schema": string(spec.Parameters),
			"confirm": spec.Confirm, "timeout_ms": fmt.Sprint(spec.TimeoutMS),
		},
		handle: func(ctx context.Context, s *Service, r micro.Request) {
			call, err := proto.DecodeToolCall(r.Headers())
			if err != nil {
				s.c.blame(r.Subject(), err)
				s.c.reply(r, proto.ToolResult{Call: NewID(), Kind: proto.KindInvalidArguments, Result: "error: " + err.Error()})
				return
			}
			if !s.run(func() {
				defer s.recovered(r)
				s.c.reply(r, fn(ctx, call, r.Data()))
			}) {
				s.c.reply(r, proto.ToolResult{Call: cmp.Or(call.Call, NewID()), Kind: proto.KindUnavailable, Result: "error: the tool runner is stopping"})
			}
		},
	}
}

// reply answers a call from its own goroutine. It does not use the request's
// own error reply, which is not safe there (nats.go v1.55.0 reads the error
// when the handler returns).
func (c *Conn) reply(r micro.Request, result proto.ToolResult) {
	body, err := json.Marshal(result)
	if err != nil { // a result holds strings and numbers only
		c.opts.Log.Error("encode tool result", "error", err)
		return
	}
	if len(body) > maxPayload {
		c.reply(r, proto.ToolResult{Call: result.Call, Kind: proto.KindFailed, Result: "error: the result is larger than the bus carries", TookMS: result.TookMS})
		return
	}
	msg := &nats.Msg{Subject: r.Reply(), Data: body}
	if !result.OK {
		header, _ := proto.EncodeError(&proto.Error{Code: result.Code(), Text: result.Result})
		header[proto.HeaderError] = []string{oneLine(result.Result)}
		msg.Header = header
	}
	if msg.Subject == "" {
		return // published without a reply subject: nobody wants the result
	}
	if err := c.nc.PublishMsg(msg); err != nil {
		c.opts.Log.Warn("answer tool call", "error", err)
	}
}

// oneLine makes a text fit for a header.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s)
}

// Service answers endpoints and the discovery subjects of NATS micro.
type Service struct {
	c      *Conn
	micro  micro.Service
	cancel context.CancelFunc

	mu      sync.Mutex
	stopped bool
	calls   sync.WaitGroup // started under mu while not stopped
}

// run starts the goroutine of a call, unless the service is stopping: what
// was received before is still handed to us for a moment.
func (s *Service) run(call func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.calls.Go(call)
	}
	return !s.stopped
}

// Serve registers a service under the connection's name. Its description and
// endpoints are what `nats micro info` shows. ctx ends the handlers.
func (c *Conn) Serve(ctx context.Context, description string, endpoints ...Endpoint) (*Service, error) {
	if err := checkSize(endpoints); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &Service{c: c, cancel: cancel}
	m, err := micro.AddService(c.nc, micro.Config{
		Name: c.opts.Service, Version: semver(c.opts.Version), Description: description,
		Metadata: map[string]string{metaInstance: c.instance, "proto": fmt.Sprint(proto.Version)},
		// micro replaces the connection's error handler by one that calls this.
		ErrorHandler: func(_ micro.Service, e *micro.NATSError) {
			c.opts.Log.Error("service error", "subject", e.Subject, "error", e.Description)
		},
	})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("register service %q: %w", c.opts.Service, err)
	}
	s.micro = m
	for _, e := range endpoints {
		err := m.AddEndpoint(e.name, micro.HandlerFunc(func(r micro.Request) {
			defer s.recovered(r)
			e.handle(ctx, s, r)
		}), micro.WithEndpointSubject(e.subject(c.opts.Device)), micro.WithEndpointMetadata(e.metadata))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("register endpoint %q: %w", e.name, err), s.Stop())
		}
	}
	return s, nil
}

// checkSize refuses endpoints whose description would not fit into one
// message: the server would then answer discovery with an empty error.
func checkSize(endpoints []Endpoint) error {
	size := 0
	for _, e := range endpoints {
		size += len(e.name) + 128
		for k, v := range e.metadata {
			size += len(k) + len(v) + 8
		}
	}
	if size > maxPayload {
		return proto.Errorf(proto.CodeInvalid, "register service", "the descriptions of %d endpoints need %d bytes, over %d", len(endpoints), size, maxPayload)
	}
	return nil
}

// semver makes a version acceptable to micro, which wants MAJOR.MINOR.PATCH.
func semver(v string) string {
	v = strings.TrimPrefix(v, "v")
	if strings.Count(strings.SplitN(v, "-", 2)[0], ".") == 2 {
		return v
	}
	return "0.0.0-devel"
}

func (s *Service) refuse(r micro.Request, e *proto.Error) {
	header, body := proto.EncodeError(e)
	s.answered(r, r.Error(header[proto.HeaderErrorCode][0], oneLine(header[proto.HeaderError][0]), body))
}

func (s *Service) answered(r micro.Request, err error) {
	if err != nil && r.Reply() != "" {
		s.c.opts.Log.Warn("answer request", "subject", r.Subject(), "error", err)
	}
}

// recovered turns a panic of a handler into an answer: one defect must not
// take the daemon down.
func (s *Service) recovered(r micro.Request) {
	p := recover()
	if p == nil {
		return
	}
	s.c.opts.Log.Error("handler panicked", "subject", r.Subject(), "panic", p, "stack", string(debug.Stack()))
	header, body := proto.EncodeError(proto.Errorf(proto.CodeInternal, r.Subject(), "the handler panicked: %v", p))
	header[proto.HeaderError] = []string{oneLine(header[proto.HeaderError][0])}
	if r.Reply() != "" {
		_ = s.c.nc.PublishMsg(&nats.Msg{Subject: r.Reply(), Header: header, Data: body}) // best effort
	}
}

// Stop takes the service off the bus and cancels the calls that run; it waits
// for their goroutines. Stopping twice is fine.
func (s *Service) Stop() error {
	s.cancel()
	return s.Drain()
}

// Drain takes the service off the bus and waits for the tool calls that run;
// then the context of the handlers ends. Handlers of commands are not waited
// for, so that one of them may drain another service.
func (s *Service) Drain() error {
	err := s.micro.Stop()
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.calls.Wait()
	s.cancel()
	if err != nil && !errors.Is(err, nats.ErrConnectionClosed) && !errors.Is(err, nats.ErrConnectionDraining) {
		return fmt.Errorf("stop service: %w", err)
	}
	return nil
}
