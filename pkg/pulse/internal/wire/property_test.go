// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strings"
	"testing"
)

func TestPropertyBudget(t *testing.T) {
	got := Properties([]Property{{"a", strings.Repeat("é", maxValue)}, {"b", ""}, {"c", "x\x00y\xff"}})
	if v := got["a"].String(); len(v) != maxValue || strings.Contains(v, "?") {
		t.Errorf("value was cut to %d bytes: %q", len(v), v)
	}
	if _, ok := got["b"]; ok || got["c"].String() != "xy?" {
		t.Errorf("properties are %v", got)
	}
	var many []Property
	for range 50 {
		many = append(many, Property{string(rune('a' + len(many))), strings.Repeat("x", 100)})
	}
	size := 0
	for k, v := range Properties(many) {
		size += len(k) + len(v) + propertyOverhead - 1
	}
	if size > maxProperties || size < maxProperties/2 {
		t.Errorf("properties take %d bytes, at most %d allowed", size, maxProperties)
	}
}
