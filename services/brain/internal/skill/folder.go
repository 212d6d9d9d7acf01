// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// fileName is what makes a folder a skill.
const fileName = "SKILL.md"

// ErrUnknown says that there is no skill of that name.
var ErrUnknown = errors.New("no such skill")

// Folder is the folder of the skills. It is safe for use by many goroutines.
type Folder struct {
	dir string
	log *slog.Logger

	mu    sync.Mutex
	known map[string]entry // by the sub-folder's name; nil when nothing was read
	last  Shelf            // made of them
}

// entry is a sub-folder as it was read last.
type entry struct {
	sub     string
	state   state // of its file; zero when that is not known
	skill   Skill
	advice  []string
	problem string // why it is no skill, "" when it is one
}

// state tells whether a file was changed.
type state struct {
	device, inode   uint64
	size            int64
	mode            fs.FileMode
	written, change syscall.Timespec
}

func stateOf(info fs.FileInfo) state {
	s := state{size: info.Size(), mode: info.Mode()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.device, s.inode, s.written, s.change = uint64(sys.Dev), sys.Ino, sys.Mtim, sys.Ctim
	}
	return s
}

// New makes the folder of that path, which need not be there; "" is none. What
// it has to warn of is logged once.
func New(dir string, log *slog.Logger) *Folder { return &Folder{dir: dir, log: log} }

// Dir is its path.
func (f *Folder) Dir() string { return f.dir }

// Shelf lists the skills that are there now. It looks at the state of each file
// and reads what changed since it last did.
func (f *Folder) Shelf() Shelf {
	f.mu.Lock()
	defer f.mu.Unlock()
	list, err := os.ReadDir(f.dir)
	if err != nil {
		f.known, f.last = nil, Shelf{Err: err}
		return f.last
	}
	found, same := f.entries(list)
	if !same {
		was := f.last.Warnings
		f.last = f.shelf(found)
		for _, w := range f.last.Warnings {
			if !slices.Contains(was, w) {
				f.log.Warn("a skill is not as it should be", "what", w)
			}
		}
	}
	f.known = map[string]entry{}
	for _, e := range found {
		f.known[e.sub] = e
	}
	return f.last
}

// entries looks at the sub-folders, each once however many links there are to
// it; same says that they are as they were.
func (f *Folder) entries(list []fs.DirEntry) (found []entry, same bool) {
	same = true
	var folders []fs.FileInfo
	for _, d := range candidates(list) {
		info, err := os.Stat(filepath.Join(f.dir, d.Name()))
		if err != nil || !info.IsDir() || slices.ContainsFunc(folders, func(i fs.FileInfo) bool { return os.SameFile(i, info) }) {
			continue // a broken link, a file, or a second link to a skill
		}
		e, exists := f.look(d.Name())
		if !exists {
			continue
		}
		if was, known := f.known[e.sub]; !known || was.state != e.state || e.state == (state{}) {
			same = false
		}
		folders = append(folders, info)
		if found = append(found, e); len(found) > maxSkills {
			break
		}
	}
	return found, same && len(found) == len(f.known) && f.known != nil
}

// shelf makes the list of what the sub-folders hold.
func (f *Folder) shelf(found []entry) Shelf {
	s := Shelf{places: map[string]string{}}
	if len(found) > maxSkills {
		found = found[:maxSkills]
		s.warn(f.dir, fmt.Sprintf("only the first %d skills are used", maxSkills))
	}
	for _, e := range found {
		f.put(&s, e)
	}
	slices.SortFunc(s.Skills, func(a, b Skill) int { return cmp.Compare(a.Name, b.Name) })
	s.index = newIndex(s.Skills)
	return s
}

// candidates are the entries that may be skills: folders by name, then links.
func candidates(entries []fs.DirEntry) []fs.DirEntry {
	var folders, links []fs.DirEntry
	for _, e := range entries { // they are sorted
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			folders = append(folders, e)
		case e.Type()&fs.ModeSymlink != 0:
			links = append(links, e)
		}
	}
	return append(folders, links...)
}

// put adds what a sub-folder holds to the shelf. Of skills whose names differ in
// case only the first counts: who says a name means one of them.
func (f *Folder) put(s *Shelf, e entry) {
	place := filepath.Join(f.dir, e.sub, fileName)
	for _, a := range e.advice {
		s.warn(place, a)
	}
	if e.problem != "" {
		s.warn(place, "skipped: "+e.problem)
		return
	}
	key := fold(e.skill.Name)
	if first, taken := s.places[key]; taken {
		s.warn(place, fmt.Sprintf("skipped: the skill %q is also in %s", e.skill.Name, first))
		return
	}
	s.places[key] = e.sub
	s.Skills = append(s.Skills, e.skill)
}

// look gives what a sub-folder holds, from memory when its file is as it was;
// exists is false when there is no such file.
func (f *Folder) look(sub string) (e entry, exists bool) {
	e.sub = sub
	root, err := os.OpenRoot(filepath.Join(f.dir, sub))
	if err != nil {
		e.problem = reason(err)
		return e, true
	}
	defer root.Close()
	info, err := root.Stat(fileName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.problem = nearly(root)
		return e, e.problem != ""
	case err != nil:
		e.problem = reason(err)
		return e, true
	}
	e.state = stateOf(info)
	if was, ok := f.known[sub]; ok && was.state == e.state {
		return was, true
	}
	doc, err := read(root)
	if err != nil {
		e.problem = reason(err)
		return e, true
	}
	e.advice = doc.advice
	e.skill = Skill{Name: cmp.Or(doc.name, usable(sub)), Description: doc.description}
	if e.skill.Name == "" {
		e.problem = "neither its name nor the folder's can be used"
	}
	return e, true
}

// nearly says why a folder without the file may have been meant as a skill, ""
// when it was not.
func nearly(root *os.Root) string {
	if _, err := root.Lstat(fileName); err == nil {
		return "it is a link to nothing"
	}
	if _, err := root.Lstat(strings.ToLower(fileName)); err == nil {
		return "the file has to be called " + fileName + ", not " + strings.ToLower(fileName)
	}
	return ""
}

// reason is an error without the path, which stands before it.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err.Error()
}

// read reads the file of a skill, and nothing outside its folder: a link out of
// it is an error, and what is no regular file is not waited for.
func read(root *os.Root) (document, error) {
	file, err := root.OpenFile(fileName, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return document{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return document{}, err
	case !info.Mode().IsRegular():
		return document{}, errors.New("it is not a regular file")
	case info.Size() > maxFile:
		return document{}, fmt.Errorf("it has over %d bytes", maxFile)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return document{}, err
	}
	if len(content) > maxFile {
		return document{}, fmt.Errorf("it has over %d bytes", maxFile)
	}
	return parseDocument(string(content))
}

// Text reads the text of a skill of the shelf. The error is [ErrUnknown] when
// there is none of that name, or none any more.
func (f *Folder) Text(s Shelf, name string) (string, error) {
	sub, ok := s.places[fold(name)]
	if !ok {
		return "", ErrUnknown
	}
	root, err := os.OpenRoot(filepath.Join(f.dir, sub))
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrUnknown
	}
	if err != nil {
		return "", fmt.Errorf("read skill %q: %w", name, err)
	}
	defer root.Close()
	doc, err := read(root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", ErrUnknown
	case err != nil:
		return "", fmt.Errorf("read skill %q: %w", name, err)
	case fold(cmp.Or(doc.name, usable(sub))) != fold(name):
		return "", ErrUnknown
	}
	return doc.text, nil
}
