// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Table finds zones by name and remembers them. It may be used by many
// goroutines at a time; the zones it gives may too, as they hold no VTIMEZONE.
type Table struct {
	mu      sync.Mutex
	named   map[string]*Zone // nil: looked for in vain
	implied map[string]*Zone
}

// mostNames bounds how many names are looked for: each one unknown costs some
// reads of the disk, and a calendar that has more of them is none.
const mostNames = 300

// Named gives the zone that a TZID means by itself, or nil: a name of the zone
// database ("Europe/Rome", in any case of its letters, also behind the prefix
// of a vendor: "/mozilla.org/20050126_1/Europe/Rome") or one of Windows ("W.
// Europe Standard Time").
func (t *Table) Named(id string) *Zone { return t.find(&t.named, id, named) }

// Implied gives the zone that the words of a TZID hint at, or nil: a display
// name of Outlook ("(UTC+01:00) Amsterdam, Berlin, Bern"), an offset ("UTC+11",
// "GMT-0500"), or a name of Windows as respelt reads it. A VTIMEZONE of that
// name knows better.
func (t *Table) Implied(id string) *Zone { return t.find(&t.implied, id, implied) }

func (t *Table) find(list *map[string]*Zone, id string, look func(string) *time.Location) *Zone {
	t.mu.Lock()
	defer t.mu.Unlock()
	z, ok := (*list)[id]
	if ok || len(id) > 128 || len(*list) >= mostNames {
		return z
	}
	if *list == nil {
		*list = map[string]*Zone{}
	}
	if place := look(id); place != nil {
		z = In(place)
	}
	(*list)[id] = z
	return z
}

func named(id string) *time.Location {
	id = strings.TrimSpace(id)
	if strings.EqualFold(id, "Z") {
		return time.UTC
	}
	if place := database(id); place != nil {
		return place
	}
	if name, ok := windows[strings.ToLower(id)]; ok {
		return database(name)
	}
	parts := strings.Split(id, "/")
	for n := min(3, len(parts)-1); n > 0; n-- {
		if place := database(strings.Join(parts[len(parts)-n:], "/")); place != nil {
			return place
		}
	}
	return nil
}

// database looks a name up as it is, then with capital letters where names of
// the database have them.
func database(name string) *time.Location {
	switch {
	case name == "", strings.EqualFold(name, "local"), strings.EqualFold(name, "localtime"), // this machine's
		strings.HasPrefix(name, "."), strings.Contains(name, "\\"), strings.Contains(name, "\x00"),
		strings.HasPrefix(name, "right/"): // counts leap seconds
		return nil
	}
	for _, spelling := range []string{name, titled(name), strings.ToUpper(name)} {
		if place, err := time.LoadLocation(spelling); err == nil {
			return place
		}
	}
	return nil
}

// titled writes each word of a name with one capital letter, but "of" and the
// like small: America/Port_of_Spain.
func titled(name string) string {
	text := []byte(strings.ToLower(name))
	for i, c := range text {
		if (i == 0 || strings.IndexByte("/_-", text[i-1]) >= 0) && 'a' <= c && c <= 'z' {
			text[i] -= 'a' - 'A'
		}
	}
	return strings.NewReplacer("_Of_", "_of_", "_Es_", "_es_", "-Au-", "-au-").Replace(string(text))
}

var offsetName = regexp.MustCompile(`^\(?(?i:UTC|GMT)?\s*(?:([+\x{2212}-])(\d{1,2})(?:[:.]?(\d{2}))?)?\)?(?:\s+(.*))?$`)

func implied(id string) *time.Location {
	id = strings.TrimSpace(id)
	if place := respelt(id); place != nil {
		return place
	}
	found := offsetName.FindStringSubmatch(id)
	if found == nil || found[1] == "" && !strings.HasPrefix(strings.TrimPrefix(strings.ToUpper(id), "("), "UTC") &&
		!strings.HasPrefix(strings.TrimPrefix(strings.ToUpper(id), "("), "GMT") {
		return nil
	}
	hours, _ := strconv.Atoi(found[2]) // digits or nothing
	minutes, _ := strconv.Atoi(found[3])
	if hours > 15 || minutes > 59 {
		return nil
	}
	offset := hours*3600 + minutes*60
	if found[1] != "" && found[1] != "+" {
		offset = -offset
	}
	if place := described(found[4], offset); place != nil {
		return place
	}
	return time.FixedZone(id, offset)
}

// respelt finds a name of Windows that Exchange gave a number ("W. Europe
// Standard Time 1") or that tells of the summer ("Eastern Daylight Time"), and
// any name in single quotes.
func respelt(id string) *time.Location {
	if plain := strings.Trim(id, "'"); plain != id {
		return named(plain)
	}
	name := strings.ToLower(strings.TrimRight(id, "0123456789 "))
	name, summer := strings.CutSuffix(name, " daylight time")
	if summer {
		name += " standard time"
	}
	if !strings.HasSuffix(name, " standard time") {
		return nil
	}
	return database(windows[name])
}

var continents = []string{"Europe", "America", "Asia", "Africa", "Australia", "Pacific", "Atlantic", "Indian"}

// described finds the zone of a display name of Outlook, which lists cities
// ("Amsterdam, Berlin, Bern") or says "Eastern Time (US & Canada)", so that its
// summer time is known too. The offset of the name is its winter time.
func described(words string, offset int) *time.Location {
	if words == "" {
		return nil
	}
	area, _, _ := strings.Cut(words, " Time")
	for _, name := range []string{area + " Standard Time", words + " Standard Time"} {
		if place := database(windows[strings.ToLower(name)]); standard(place, offset) {
			return place
		}
	}
	_, cities, found := strings.Cut(words, ": ") // "Greenwich Mean Time: Dublin, Edinburgh"
	if !found {
		cities = words
	}
	for i, city := range strings.FieldsFunc(cities, func(r rune) bool { return r == ',' || r == '/' }) {
		if city = strings.ReplaceAll(strings.TrimSpace(city), " ", "_"); city == "" || i > 7 {
			continue
		}
		for _, c := range continents {
			if place, err := time.LoadLocation(c + "/" + city); err == nil && standard(place, offset) {
				return place
			}
		}
	}
	return nil
}

// standard says whether a place has an offset in its winter.
func standard(place *time.Location, offset int) bool {
	if place == nil {
		return false
	}
	_, january := time.Date(2024, 1, 15, 0, 0, 0, 0, place).Zone()
	_, july := time.Date(2024, 7, 15, 0, 0, 0, 0, place).Zone()
	return min(january, july) == offset
}
