// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// fieldKey returns the key of a struct field in the file, empty when it has none.
func fieldKey(f reflect.StructField) string {
	key := f.Tag.Get("toml")
	if key == "-" {
		return ""
	}
	return key
}

// keysOf returns the keys of a table that is read into struct type t.
func keysOf(t reflect.Type) []string {
	var keys []string
	for f := range t.Fields() {
		if key := fieldKey(f); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// allKeys returns the full name of every key below struct type t, those of a
// voice left out, since their names depend on the language.
func allKeys(t reflect.Type, prefix string) []string {
	var keys []string
	for f := range t.Fields() {
		key := fieldKey(f)
		if key == "" {
			continue
		}
		keys = append(keys, prefix+key)
		if f.Type.Kind() == reflect.Struct {
			keys = append(keys, allKeys(f.Type, prefix+key+".")...)
		}
	}
	return keys
}

// unknownHint says which key was probably meant by one that table path does
// not have: the nearest of its siblings, else one of the same name elsewhere.
func unknownHint(path, key string, siblings []string) string {
	if best := Nearest(key, siblings); best != "" {
		return fmt.Sprintf("did you mean %s?", joinKey(path, best))
	}
	for _, full := range allKeys(reflect.TypeFor[Config](), "") {
		if full == key || strings.HasSuffix(full, "."+key) {
			return fmt.Sprintf("did you mean %s?", full)
		}
	}
	return `type "desktop-assistant config show" to see every key`
}

// Nearest returns the candidate with the smallest distance to word, or ""
// when even that one is another word rather than a slip of the pen. Candidates
// are in lower case; word may be written in any.
func Nearest(word string, candidates []string) string {
	best, least := "", max(2, len(word)/3)+1
	for _, c := range candidates {
		// A short word of which no letter is left is no slip.
		if d := distance(strings.ToLower(word), c); d < least && d < len(c) {
			best, least = c, d
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b (optimal string alignment).
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	rows := [3][]int{make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)}
	before, last, row := rows[0], rows[1], rows[2]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row[0] = i
		for j := 1; j <= len(t); j++ {
			change := 1
			if s[i-1] == t[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(t)]
}

// joinKey appends a key to the name of its table, quoted where TOML wants it.
func joinKey(path, key string) string {
	bare := key != "" && !slices.ContainsFunc([]rune(key), func(r rune) bool { return !isBare(r) })
	if !bare {
		key = fmt.Sprintf("%q", key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// isBare reports whether r may stand in a key without quotes (and in the name
// of a language or a variable, which have the same letters).
func isBare(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}
