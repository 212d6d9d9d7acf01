// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strings"
	"unicode/utf8"

	"github.com/jfreymuth/pulse/proto"
)

const (
	// maxProperties bounds the wire size of one request's properties: the codec
	// panics on a request over 1024 bytes, and the rest of the largest request
	// (creating a stream with a device name of MaxName) takes under 350.
	maxProperties = 640
	// maxValue bounds one property, so that a long name cannot push out the rest.
	maxValue = 160
	// MaxName is the longest device name PulseAudio itself allows (PA_NAME_MAX).
	MaxName = 128
	// propertyOverhead is what the codec adds to a key and a value: type bytes,
	// two lengths and two terminators.
	propertyOverhead = 13
)

// A Property is a key and a value; lists go from important to dispensable.
type Property struct{ Key, Value string }

// Properties makes the wire list. Values are cleaned and cut; what does not fit
// the budget is left out, from the end. Empty values are left out too.
func Properties(list []Property) proto.PropList {
	out := proto.PropList{}
	size := 0
	for _, p := range list {
		v := Clean(p.Value, maxValue)
		size += len(p.Key) + len(v) + propertyOverhead
		if v == "" {
			size -= len(p.Key) + propertyOverhead
			continue
		}
		if size > maxProperties {
			break
		}
		out[p.Key] = proto.PropListString(v)
	}
	return out
}

// Clean makes s valid UTF-8 without NUL, at most limit bytes, cut at a rune.
func Clean(s string, limit int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "\x00", "")
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
