// SPDX-License-Identifier: Apache-2.0

package agenda

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"example.org/desktop-assistant/examples/tools/agenda/internal/cache"
	"example.org/desktop-assistant/examples/tools/agenda/internal/ical"
	"example.org/desktop-assistant/examples/tools/agenda/internal/vdir"
	"example.org/desktop-assistant/examples/tools/agenda/internal/zone"
)

const (
	mostReaders = 8  // at a time; more only wait for each other
	batch       = 16 // files that a reader takes at a time
)

// A state of a file that is younger than this may be followed by another with
// the same times: it is read again next time. Disks that count whole seconds
// (or two) need the longer one.
const (
	young     = 100 * time.Millisecond
	youngSlow = 3 * time.Second
)

// loaded is a file that was read, or taken from the cache.
type loaded struct {
	cache.Entry
	err      error // of opening or reading; what was read before it is there
	read     bool  // not taken from the cache
	settled  bool  // may be kept in the cache
	repeated bool  // the same file as one before
}

// load reads all files, those that did not change from the cache, and writes
// the cache when anything did.
func load(paths []string, book string, table *zone.Table, now func() time.Time) (files []loaded, cacheErr error) {
	mark := program()
	known := map[string]*cache.Entry{}
	var entries []cache.Entry
	if book != "" {
		entries, _ = cache.Read(book, mark) // a cache that cannot be read is none
	}
	for i := range entries {
		known[entries[i].Path] = &entries[i]
	}
	files = make([]loaded, len(paths))
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), mostReaders, len(paths)/batch+1) {
		readers.Go(func() {
			r := fileReader{table: table, now: now}
			for {
				from := int(next.Add(batch)) - batch
				if from >= len(paths) {
					return
				}
				for i := from; i < min(from+batch, len(paths)); i++ {
					files[i] = r.file(paths[i], known[paths[i]])
				}
			}
		})
	}
	readers.Wait()
	if book != "" && changed(files, len(entries)) {
		cacheErr = cache.Write(book, settled(files), mark)
	}
	forget(files)
	return files, cacheErr
}

// changed says whether the cache differs from what is there now.
func changed(files []loaded, entries int) bool {
	kept, read := 0, false
	for i := range files {
		if files[i].settled {
			kept++
			read = read || files[i].read
		}
	}
	return read || kept != entries
}

func settled(files []loaded) []cache.Entry {
	list := make([]cache.Entry, 0, len(files))
	for i := range files {
		if files[i].settled {
			list = append(list, files[i].Entry)
		}
	}
	return list
}

// forget drops the events of a file that was reached on two ways.
func forget(files []loaded) {
	seen := make(map[[2]uint64]bool, len(files))
	for i := range files {
		id := [2]uint64{files[i].Stat.Device, files[i].Stat.Inode}
		if id == [2]uint64{} {
			continue
		}
		files[i].repeated = seen[id]
		seen[id] = true
	}
}

// fileReader reads files, one at a time.
type fileReader struct {
	ical   ical.Reader
	packer cache.Packer
	table  *zone.Table
	now    func() time.Time
}

func (r *fileReader) add(e *ical.Event) { r.packer.Add(e, head(e)) }

func (r *fileReader) file(path string, known *cache.Entry) loaded {
	if known != nil {
		if s, err := vdir.StatFile(path); err == nil && s == known.Stat {
			return loaded{Entry: *known, settled: true}
		}
	}
	f, stat, err := vdir.Open(path)
	if err != nil {
		return loaded{Entry: cache.Entry{Path: path}, err: err}
	}
	opened := r.now()
	content, err := r.ical.Read(f, func(id string) bool { return r.table.Named(id) != nil }, r.add)
	if closed := f.Close(); err == nil {
		err = closed
	}
	l := loaded{Entry: cache.Entry{Path: path, Stat: stat, Record: r.packer.Record(content)}, err: err, read: true}
	l.settled = err == nil && old(stat.Modified, opened) && old(stat.Moved, opened)
	return l
}

// old says whether a time of a file is so far away that a later change of the
// file will show in it.
func old(nanoseconds int64, now time.Time) bool {
	limit := young
	if nanoseconds%int64(time.Second) == 0 {
		limit = youngSlow
	}
	return now.Sub(time.Unix(0, nanoseconds)).Abs() > limit
}

// program marks this build, so that another one does not take over what it
// might read otherwise.
func program() uint64 {
	path, err := os.Executable()
	if err != nil {
		return 0
	}
	s, err := vdir.StatFile(path)
	if err != nil {
		return 0
	}
	return cache.Hash(fmt.Sprintf("%d %d %d %s", s.Size, s.Modified, s.Inode, runtime.Version()))
}
