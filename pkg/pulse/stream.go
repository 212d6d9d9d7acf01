// SPDX-License-Identifier: Apache-2.0

package pulse

import (
	"context"
	"fmt"
	"slices"

	"github.com/jfreymuth/pulse/proto"
)

// FullVolume is the volume at which a stream is played as it is. The scale is that
// of volume controls: half of it is about a quarter as loud.
const FullVolume = uint32(proto.VolumeNorm)

// A Stream is what some program plays, as volume controls show it.
type Stream struct {
	Index  uint32
	Client uint32 // that it belongs to; see Conn.Client
	Sink   uint32 // index of the sink it is played to
	// Program, Media and Role are its application.name, media.name and media.role,
	// which may be empty.
	Program, Media, Role string
	Corked               bool
	// Adjustable says that it is a program's, and no part of the server, and that
	// its volume may be set.
	Adjustable bool
	Volumes    []uint32 // of each channel
}

// Client is the number of this connection among the server's clients.
func (c *Conn) Client() uint32 { return c.wire.Client() }

// Streams lists what is being played.
func (c *Conn) Streams(ctx context.Context) ([]Stream, error) {
	var r proto.GetSinkInputInfoListReply
	if err := c.wire.Request(ctx, &proto.GetSinkInputInfoList{}, &r); err != nil {
		return nil, fmt.Errorf("list streams: %w", err)
	}
	list := make([]Stream, 0, len(r))
	for _, s := range r {
		out := Stream{
			Index: s.SinkInputIndex, Client: s.ClientIndex, Sink: s.SinkIndex, Media: s.MediaName, Corked: s.Corked,
			Adjustable: s.VolumeWritable && s.ClientIndex != proto.Undefined,
			Program:    property(s.Properties, "application.name"), Role: property(s.Properties, "media.role"),
		}
		for _, v := range s.ChannelVolumes {
			out.Volumes = append(out.Volumes, uint32(v))
		}
		list = append(list, out)
	}
	return list, nil
}

func property(p proto.PropList, key string) string {
	if v, ok := p[key]; ok {
		return v.String()
	}
	return ""
}

// SetVolumes sets the volume of each channel of a stream. ErrNoDevice means that
// the stream is gone.
func (c *Conn) SetVolumes(ctx context.Context, index uint32, volumes []uint32) error {
	v := make(proto.ChannelVolumes, len(volumes))
	for i := range volumes {
		v[i] = proto.Volume(volumes[i])
	}
	if err := c.wire.Request(ctx, &proto.SetSinkInputVolume{SinkInputIndex: index, ChannelVolumes: v}, nil); err != nil {
		return fmt.Errorf("set volume of stream %d: %w", index, err)
	}
	return nil
}

// Loaded says whether the server has a module of that name, and if any of its
// arguments (as they stand after the =, separated by commas or spaces) is word.
func (c *Conn) Loaded(ctx context.Context, module, word string) (bool, error) {
	var r proto.GetModuleInfoListReply
	if err := c.wire.Request(ctx, &proto.GetModuleInfoList{}, &r); err != nil {
		return false, fmt.Errorf("list modules: %w", err)
	}
	return slices.ContainsFunc(r, func(m *proto.GetModuleInfoReply) bool {
		return m.ModuleName == module && slices.Contains(words(m.ModuleArgs), word)
	}), nil
}

// words cuts arguments like `trigger_roles=phone,assistant volume="30%"`.
func words(args string) []string {
	var list []string
	from := 0
	for i, r := range args + " " {
		if r == ' ' || r == ',' || r == '=' || r == '"' || r == '\'' {
			if i > from {
				list = append(list, args[from:i])
			}
			from = i + 1
		}
	}
	return list
}
