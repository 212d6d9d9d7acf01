// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/turn"
)

// maxTraces is far above what the file of open turns can grow to.
const maxTraces = 1 << 20

// trace is what the file keeps of a turn that begins now.
func trace(spec turn.Spec) Orphan {
	return Orphan{
		ID: spec.ID, Device: spec.Device, Session: spec.Session, Language: spec.Language, Started: true,
		Origin: spec.Origin, Stream: spec.Stream, Mute: !spec.Speak, At: time.Now().Round(0),
	}
}

// Left lists the turns that an earlier brain did not come to end, as its file
// says. They stay in the file until [Ledger.Bury].
func (l *Ledger) Left() []Orphan { return slices.Clone(l.left) }

// save keeps the open turns. A brain that cannot keep them works all the same.
func (l *Ledger) save() {
	l.stale = false
	var open []Orphan
	if !l.buried {
		open = append(open, l.left...)
	}
	for _, e := range l.turns {
		open = append(open, e.trace)
	}
	slices.SortFunc(open, func(a, b Orphan) int { return a.At.Compare(b.At) })
	if err := writeTraces(l.file, open); err != nil {
		l.log.Warn("open turns not kept", "error", err)
	}
}

// writeTraces replaces the file as a whole; there is none when no turn is open.
// It need not reach the disk: it is for the next process, not the next boot.
func writeTraces(path string, open []Orphan) error {
	if len(open) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	data, err := json.Marshal(open)
	if err != nil {
		return err
	}
	next := path + ".new"
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// readTraces gives what [writeTraces] wrote, and nothing when there is no file.
func readTraces(path string) ([]Orphan, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if info.Size() > maxTraces {
		return nil, fmt.Errorf("read %s: %d bytes are too many", path, info.Size())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var open []Orphan
	if err := json.Unmarshal(data, &open); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	open = slices.DeleteFunc(open, func(o Orphan) bool { return !proto.ValidToken(o.ID) || !proto.ValidToken(o.Device) })
	for i := range open {
		open[i].Started = true
	}
	return open, nil
}
