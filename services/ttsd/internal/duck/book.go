// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"example.org/desktop-assistant/pkg/pulse"
)

const (
	// keepTime is how long a stream that went while it was low is waited for: the
	// server gives its volume to the program's next one.
	keepTime = 24 * time.Hour
	// maxEntries and maxFile bound what is written down.
	maxEntries = 256
	maxFile    = 1 << 20
	// noIndex is of no stream.
	noIndex = ^uint32(0)
)

// An entry is one stream that was lowered.
type entry struct {
	Index          uint32
	Program, Media string
	Was, Set       []uint32
	At             time.Time
}

// is finds the stream again: by its number, else the same program's that is as low.
func (e entry) is(s pulse.Stream) bool {
	if s.Program != e.Program || !s.Adjustable {
		return false
	}
	return s.Index == e.Index || s.Media == e.Media && slices.Equal(s.Volumes, e.Set)
}

// A book is what was lowered and not restored yet, and the file that holds it.
type book struct {
	path    string
	saved   bool // there may be a file
	Entries []entry
}

// has says whether a stream is low already, or is the next one of a program that
// was.
func (b *book) has(s pulse.Stream) bool {
	return slices.ContainsFunc(b.Entries, func(e entry) bool {
		return e.is(s) && (s.Index == e.Index || slices.Equal(s.Volumes, e.Set))
	})
}

// load reads the file; none is fine.
func (b *book) load() error {
	text, err := os.ReadFile(b.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("read lowered volumes: %w", err)
	}
	b.saved = true
	list, err := decodeEntries(text)
	b.Entries = list
	return err
}

// decodeEntries reads what save wrote; what makes no sense is passed over.
func decodeEntries(text []byte) ([]entry, error) {
	var list []entry
	if len(text) > maxFile {
		return nil, errors.New("read lowered volumes: the file is too large")
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("read lowered volumes: %w", err)
	}
	list = slices.DeleteFunc(list, func(e entry) bool {
		return len(e.Was) == 0 || len(e.Was) != len(e.Set) || len(e.Was) > 32 || slices.Max(e.Was) > 4*pulse.FullVolume
	})
	return list[:min(len(list), maxEntries)], nil
}

// save writes the file whole, or removes it when nothing is low.
func (b *book) save() error {
	if len(b.Entries) == 0 {
		if b.saved {
			if err := os.Remove(b.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove lowered volumes: %w", err)
			}
			b.saved = false
		}
		return nil
	}
	if n := len(b.Entries); n > maxEntries {
		b.Entries = b.Entries[n-maxEntries:]
	}
	text, err := json.Marshal(b.Entries)
	if err != nil {
		return fmt.Errorf("write lowered volumes: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(b.path), 0o700); err != nil {
		return fmt.Errorf("write lowered volumes: %w", err)
	}
	if err := os.WriteFile(b.path+".new", text, 0o600); err != nil {
		return fmt.Errorf("write lowered volumes: %w", err)
	}
	if err := os.Rename(b.path+".new", b.path); err != nil {
		return fmt.Errorf("write lowered volumes: %w", err)
	}
	b.saved = true
	return nil
}
