// SPDX-License-Identifier: Apache-2.0

package phrase

import (
	"example.org/desktop-assistant/services/brain/internal/model"
)

// failures holds the words for every kind of error of the model; a test walks
// the kinds.
var failures = map[model.Kind]Key{
	model.KindUnreachable:  NoExamples,
	model.KindLoading:      StillLoading,
	model.KindUntrusted:    Untrusted,
	model.KindAddress:      Address,
	model.KindUnauthorized: BadKey,
	model.KindRefused:      Refused,
	model.KindNoTools:      NoTools,
	model.KindContextFull:  TooLong,
	model.KindBusy:         Busy,
	model.KindServer:       ServerFailed,
	model.KindStalled:      Stalled,
	model.KindInterrupted:  BrokeOff,
	model.KindEmpty:        Empty,
	model.KindTruncated:    Truncated,
	model.KindFiltered:     Filtered,
	model.KindLeak:         Empty,
	model.KindBadStream:    Garbled,
	model.KindCancelled:    BrokeOff,
}

// Failure chooses the words for an error of the model; begun says that a part
// of the answer was said already.
func Failure(e *model.Error, begun bool) Key {
	if begun {
		switch e.Kind {
		case model.KindStalled, model.KindInterrupted, model.KindServer, model.KindTruncated, model.KindUnreachable:
			return BrokeOff
		}
	}
	return failures[e.Kind]
}
