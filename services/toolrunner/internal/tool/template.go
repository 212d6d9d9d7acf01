// SPDX-License-Identifier: Apache-2.0

package tool

import "regexp"

// placeholder is a parameter's name in braces. What a program itself writes
// with braces ("{print $1}", "[0-9]{4}", "{}") is none, because a name begins
// with a letter or underscore and holds no blank.
var placeholder = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_-]{0,63})\}`)

// Arguments are the values of one call by name, as text. A name that is
// absent has no value.
type Arguments map[string]string

// Argv fills the arguments into the command: each placeholder inside its own
// element and in one pass, so a value is never split and never expanded again.
// An absent value is empty. The result is a new slice, the program first.
func (t *Tool) Argv(a Arguments) []string {
	argv := make([]string, len(t.Command))
	for i, element := range t.Command {
		argv[i] = placeholder.ReplaceAllStringFunc(element, func(found string) string {
			return a[found[1:len(found)-1]]
		})
	}
	return argv
}

// placeholders lists the names that a text refers to, in order.
func placeholders(text string) []string {
	var names []string
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}
