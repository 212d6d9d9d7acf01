// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"slices"
	"strings"
)

// maxDirectory bounds the list that every request carries, in bytes.
const maxDirectory = 16 << 10

// Shelf is the skills that there were at one moment. It never changes and may be
// shared; the zero value has none.
type Shelf struct {
	Skills   []Skill // by name
	Warnings []string
	Err      error // why there is no list; fs.ErrNotExist when there is no folder

	places map[string]string // folded name: sub-folder
	index  index
}

func (s *Shelf) warn(place, what string) { s.Warnings = append(s.Warnings, place+": "+what) }

// Find gives the skill of that name, in any case.
func (s Shelf) Find(name string) (Skill, bool) {
	key := fold(name)
	i := slices.IndexFunc(s.Skills, func(k Skill) bool { return fold(k.Name) == key })
	if i < 0 {
		return Skill{}, false
	}
	return s.Skills[i], true
}

// Same says whether two names are one skill's: case does not matter.
func Same(a, b string) bool { return fold(a) == fold(b) }

// Names are the names of all skills.
func (s Shelf) Names() []string {
	names := make([]string, 0, len(s.Skills))
	for _, k := range s.Skills {
		names = append(names, k.Name)
	}
	return names
}

// Directory lists the skills for the model, one a line: name: first sentence.
// When that is too much, the last ones stand without their sentence.
func (s Shelf) Directory() string {
	var b strings.Builder
	for _, k := range s.Skills {
		line := k.Name
		if k.Description != "" && b.Len() < maxDirectory {
			line += ": " + k.Description
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
