// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"example.org/desktop-assistant/proto"
)

const retryEvery = 50 * time.Millisecond

// Request asks for a command on the connection's own device and waits for the
// reply until ctx ends. Every failure is a *[proto.Error]: the one that was
// answered, or unavailable (nobody serves it), timeout, cancelled or
// disconnected, also when the bus goes while the reply is waited for. In the
// first second after a reconnect a missing responder is waited for.
func Request[C proto.Command[R], R any](ctx context.Context, c *Conn, cmd C) (R, error) {
	return RequestOn[C, R](ctx, c, c.opts.Device, cmd)
}

// RequestOn is [Request] for another device.
func RequestOn[C proto.Command[R], R any](ctx context.Context, c *Conn, dev string, cmd C) (R, error) {
	var reply R
	verb := cmd.Verb()
	body, err := json.Marshal(cmd)
	if err != nil {
		return reply, proto.AsError(verb, err)
	}
	msg, err := c.request(ctx, verb, &nats.Msg{Subject: proto.CommandSubject(dev, verb), Data: body})
	if err != nil {
		return reply, err
	}
	if e := proto.DecodeError(msg.Header, msg.Data); e != nil {
		return reply, e
	}
	if err := json.Unmarshal(msg.Data, &reply); err != nil {
		c.blame(msg.Subject, err)
		return reply, proto.Errorf(proto.CodeFailed, verb, "the reply cannot be read: %v", err)
	}
	return reply, nil
}

// waiter is a request under way.
type waiter struct{ cancel context.CancelCauseFunc }

var errGone = errors.New("the bus went while the reply was waited for")

// abandon ends the requests under way: the reply would come to an inbox that
// nobody publishes to any more.
func (c *Conn) abandon() {
	c.mu.Lock()
	list := slices.Collect(maps.Keys(c.waiting))
	c.mu.Unlock()
	for _, w := range list {
		w.cancel(errGone)
	}
}

func (c *Conn) request(ctx context.Context, op string, msg *nats.Msg) (*nats.Msg, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &waiter{cancel}
	c.mu.Lock()
	c.waiting[w] = struct{}{}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, w)
		c.mu.Unlock()
		cancel(nil)
	}()
	for {
		reply, err := c.nc.RequestMsgWithContext(ctx, msg)
		if errors.Is(context.Cause(ctx), errGone) && err != nil {
			err = nats.ErrDisconnected
		}
		if !errors.Is(err, nats.ErrNoResponders) || !c.settling() {
			return reply, requestError(op, err)
		}
		select {
		case <-ctx.Done():
			return nil, requestError(op, err)
		case <-time.After(retryEvery):
		}
	}
}

func requestError(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrNoResponders):
		return proto.Nobody(op)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return proto.Errorf(proto.CodeTimeout, op, "no answer in time").WithHint("see what hangs: desktop-assistant status")
	case errors.Is(err, context.Canceled):
		return proto.Errorf(proto.CodeCancelled, op, "cancelled")
	case errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrDisconnected),
		errors.Is(err, nats.ErrConnectionReconnecting):
		return proto.Errorf(proto.CodeDisconnected, op, "the bus is away").WithHint("see what runs: desktop-assistant status")
	case errors.Is(err, nats.ErrMaxPayload):
		return proto.Errorf(proto.CodeInvalid, op, "the request is larger than the bus carries")
	}
	return proto.AsError(op, err)
}

// CallTool runs a tool and waits for its result until ctx ends. A result that
// is not ok is a result, not an error. An error is a *[proto.Error]:
// unavailable means that no toolrunner serves the tool.
func (c *Conn) CallTool(ctx context.Context, name string, call proto.ToolCall, arguments []byte) (proto.ToolResult, error) {
	op := "tool " + name
	if !proto.ValidToken(name) {
		return proto.ToolResult{}, proto.Errorf(proto.CodeInvalid, op, "%q is no tool name", name)
	}
	msg, err := c.request(ctx, op, &nats.Msg{Subject: proto.ToolRun(name), Header: proto.EncodeToolCall(call), Data: arguments})
	if err != nil {
		return proto.ToolResult{}, err
	}
	var result proto.ToolResult
	if err := json.Unmarshal(msg.Data, &result); err != nil || result.Call == "" {
		if e := proto.DecodeError(msg.Header, msg.Data); e != nil {
			return proto.ToolResult{}, e
		}
		return proto.ToolResult{}, proto.Errorf(proto.CodeFailed, op, "the reply cannot be read")
	}
	return result, nil
}

// CancelTool asks whoever runs the call to end it. Nothing is answered; the
// call itself is.
func (c *Conn) CancelTool(call string) error {
	if !proto.ValidToken(call) {
		return proto.Errorf(proto.CodeInvalid, "cancel tool", "%q is no call id", call)
	}
	if err := c.nc.Publish(proto.ToolCancel(call), nil); err != nil {
		return requestError("cancel tool", err)
	}
	return nil
}

// Peer is one service instance that answered a ping.
type Peer struct {
	Service  string
	Version  string
	Instance string // as [Conn.Instance]; "" for a service that is not ours
}

// Peers gives the instances of one service, or of all (""), that answer until
// ctx ends or, with want > 0, until that many answered. It returns at once when
// nobody serves it.
func (c *Conn) Peers(ctx context.Context, service string, want int) ([]Peer, error) {
	return c.peers(ctx, service, func(heard []Peer) bool { return len(heard) == want })
}

// peers is Peers that listens until enough says so.
func (c *Conn) peers(ctx context.Context, service string, enough func(heard []Peer) bool) ([]Peer, error) {
	subject := srvPing
	if service != "" {
		subject += "." + service
	}
	inbox := c.nc.NewRespInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, requestError("ping", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := c.nc.PublishRequest(subject, inbox, nil); err != nil {
		return nil, requestError("ping", err)
	}
	var peers []Peer
	for {
		msg, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, nats.ErrNoResponders) {
				return peers, nil
			}
			return peers, requestError("ping", err)
		}
		var pong struct {
			Name     string            `json:"name"`
			Version  string            `json:"version"`
			Metadata map[string]string `json:"metadata"`
		}
		if json.Unmarshal(msg.Data, &pong) != nil || pong.Name == "" {
			continue
		}
		peers = append(peers, Peer{pong.Name, pong.Version, pong.Metadata[metaInstance]})
		if enough(peers) {
			return peers, nil
		}
	}
}

// Alive says whether the process that calls itself instance still serves
// service. True comes at once; false when nobody serves it, or at the end of
// ctx, which needs a deadline, when only others answer. Just after the bus
// came back, a missing answer is waited for.
func (c *Conn) Alive(ctx context.Context, service, instance string) bool {
	heard := func(peers []Peer) bool {
		return slices.ContainsFunc(peers, func(p Peer) bool { return p.Instance == instance })
	}
	for {
		peers, err := c.peers(ctx, service, heard)
		if heard(peers) {
			return true
		}
		if err != nil || len(peers) > 0 || !c.settling() {
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(retryEvery):
		}
	}
}

// Asker names this connection for [proto.ToolCall] and [proto.SpeechSay], as
// [proto.SplitAsker] reads it.
func (c *Conn) Asker() string { return c.opts.Service + "/" + c.instance }
