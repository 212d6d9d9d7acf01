// SPDX-License-Identifier: Apache-2.0

package phrase

import (
	"net/http"

	"example.org/desktop-assistant/services/brain/internal/model"
)

// failures holds the words for every kind of error of the model; a test walks
// the kinds.
var failures = map[model.Kind]Key{
	model.KindUnreachable:  NoExamples,
	model.KindLoading:      StillLoading,
	model.KindUntrusted:    Address,
	model.KindUnauthorized: BadKey,
	model.KindRefused:      Refused,
	model.KindNoTools:      Refused,
	model.KindContextFull:  TooLong,
	model.KindBusy:         Busy,
	model.KindServer:       Refused,
	model.KindStalled:      Stalled,
	model.KindInterrupted:  BrokeOff,
	model.KindEmpty:        Empty,
	model.KindTruncated:    TooLong,
	model.KindFiltered:     Refused,
	model.KindLeak:         Empty,
	model.KindBadStream:    Address,
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
	if e.Status == http.StatusNotFound {
		return Address
	}
	return failures[e.Kind]
}
