// SPDX-License-Identifier: Apache-2.0

package pulse

import (
	"context"
	"fmt"

	"example.org/desktop-assistant/pkg/pulse/internal/wire"
	"github.com/jfreymuth/pulse/proto"
)

// Info is what the server says of itself. The defaults are empty when it has none.
type Info struct {
	Name, Version              string
	DefaultSink, DefaultSource string
}

// A Device is a source or a sink.
type Device struct {
	Index             uint32
	Name, Description string
	Mute              bool
	// Monitor marks a source that is what a sink plays, and no microphone.
	Monitor bool
	// Suspended says that the hardware sleeps: a sink loses the first moments of
	// what is then played.
	Suspended bool
}

// suspended is the number of that state; running is 0 and idle 1.
const suspended = 2

// Info asks the server for its name and default devices.
func (c *Conn) Info(ctx context.Context) (Info, error) {
	var r proto.GetServerInfoReply
	if err := c.wire.Request(ctx, &proto.GetServerInfo{}, &r); err != nil {
		return Info{}, fmt.Errorf("read server info: %w", err)
	}
	return Info{Name: r.PackageName, Version: r.PackageVersion, DefaultSink: r.DefaultSinkName, DefaultSource: r.DefaultSourceName}, nil
}

// Source asks for one source by name, empty for the default one; its Mute is what
// a mute switch of the microphone shows. ErrNoDevice means that it is not there.
func (c *Conn) Source(ctx context.Context, name string) (Device, error) {
	var r proto.GetSourceInfoReply
	req := &proto.GetSourceInfo{SourceIndex: proto.Undefined, SourceName: wire.Clean(name, wire.MaxName)}
	if err := c.wire.Request(ctx, req, &r); err != nil {
		return Device{}, fmt.Errorf("read source %q: %w", name, err)
	}
	return sourceDevice(&r), nil
}

// Sink asks for one sink by name, empty for the default one.
func (c *Conn) Sink(ctx context.Context, name string) (Device, error) {
	var r proto.GetSinkInfoReply
	req := &proto.GetSinkInfo{SinkIndex: proto.Undefined, SinkName: wire.Clean(name, wire.MaxName)}
	if err := c.wire.Request(ctx, req, &r); err != nil {
		return Device{}, fmt.Errorf("read sink %q: %w", name, err)
	}
	return sinkDevice(&r), nil
}

func sourceDevice(r *proto.GetSourceInfoReply) Device {
	return Device{
		Index: r.SourceIndex, Name: r.SourceName, Description: description(r.Properties, r.Device),
		Mute: r.Mute, Monitor: r.MonitorSourceIndex != proto.Undefined,
	}
}

func sinkDevice(r *proto.GetSinkInfoReply) Device {
	return Device{Index: r.SinkIndex, Name: r.SinkName, Description: description(r.Properties, r.Device), Mute: r.Mute, Suspended: r.State == suspended}
}

func description(p proto.PropList, fallback string) string {
	if d, ok := p["device.description"]; ok {
		return d.String()
	}
	return fallback
}

// A Change tells in which lists something came, went or changed since the last
// one was received. It carries no state: ask for it, and compare, because servers
// send changes that change nothing.
type Change uint8

// The kinds of Change, to be combined.
const (
	SourcesChanged Change = 1 << iota
	SinksChanged
	SinkInputsChanged
	// ServerChanged comes when a default device changes.
	ServerChanged
)

// Has reports whether one of the kinds in what is among the changes.
func (ch Change) Has(what Change) bool { return ch&what != 0 }

// Subscribe asks for changes. The channel holds one Change into which later ones
// are merged until it is received, so a slow receiver misses nothing and stops
// nobody. It is closed when the connection ends; ctx is for the request alone.
func (c *Conn) Subscribe(ctx context.Context) (<-chan Change, error) {
	ch := make(chan Change, 1)
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return nil, fmt.Errorf("subscribe to changes: %w", c.Err())
	}
	c.subs = append(c.subs, ch)
	c.mu.Unlock()
	mask := proto.SubscriptionMaskSource | proto.SubscriptionMaskSink | proto.SubscriptionMaskSinkInput | proto.SubscriptionMaskServer
	if err := c.wire.Request(ctx, &proto.Subscribe{Mask: mask}, nil); err != nil {
		return nil, fmt.Errorf("subscribe to changes: %w", err)
	}
	return ch, nil
}

func changeOf(e proto.SubscriptionEventType) Change {
	switch e.GetFacility() {
	case proto.EventSource:
		return SourcesChanged
	case proto.EventSink:
		return SinksChanged
	case proto.EventSinkSinkInput:
		return SinkInputsChanged
	case proto.EventServer:
		return ServerChanged
	}
	return 0
}

// announce merges a change into what each subscriber has not received yet; only
// the read loop calls it.
func (c *Conn) announce(change Change) {
	if change == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ch := range c.subs {
		merged := change
		select {
		case old := <-ch:
			merged |= old
		default:
		}
		ch <- merged // room for one, and this is the only sender
	}
}
