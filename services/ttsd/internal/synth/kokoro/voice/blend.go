// SPDX-License-Identifier: Apache-2.0

package voice

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"example.org/desktop-assistant/proto"
)

// A Blend is the share of each voice.
type Blend map[string]float64

// maxShares bounds a blend that someone typed.
const maxShares = 32

// ParseBlend reads a blend as a person types it: "if_sara 0.8, af_bella 0.2",
// "if_sara*0.8+af_bella*0.2", "if_sara(4)+af_bella(1)" and "if_sara,af_bella" (the
// same share each) are blends. The error is a *proto.Error with a hint.
func ParseBlend(text string) (Blend, error) {
	b := Blend{}
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == '+' || r == ';' }) {
		words := strings.FieldsFunc(part, func(r rune) bool { return strings.ContainsRune(" \t\n*:=()", r) })
		share := 1.0
		var err error
		switch len(words) {
		case 1:
		case 2:
			share, err = strconv.ParseFloat(words[1], 64)
		default:
			return nil, wrongBlend(text)
		}
		if err != nil || !(share >= 0) || share > 1e6 || !validName(words[0]) || len(b) == maxShares {
			return nil, wrongBlend(text)
		}
		b[words[0]] += share
	}
	if len(b.normal()) == 0 {
		return nil, wrongBlend(text)
	}
	return b, nil
}

func wrongBlend(text string) *proto.Error {
	return proto.Errorf(proto.CodeInvalid, op, "%.100q is no blend of voices", text).
		WithHint(`write names and their shares, like "if_sara 0.8, af_bella 0.2"`)
}

// normal brings the shares to the sum of 1 and leaves those of nothing out.
func (b Blend) normal() Blend {
	sum := 0.0
	for _, share := range b {
		if share > 0 {
			sum += share
		}
	}
	if sum == 0 || math.IsInf(sum, 0) {
		return nil
	}
	out := Blend{}
	for name, share := range b {
		if share > 0 {
			out[name] = share / sum
		}
	}
	return out
}

// String writes it so that ParseBlend reads the same.
func (b Blend) String() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(b)) {
		list = append(list, name+" "+strconv.FormatFloat(b[name], 'g', 6, 64))
	}
	return strings.Join(list, ", ")
}

// Sum writes it as speech servers take it, the largest share first: their language
// is that of the first voice.
func (b Blend) Sum() string {
	names := slices.Sorted(maps.Keys(b))
	slices.SortStableFunc(names, func(x, y string) int { return cmp.Compare(b[y], b[x]) })
	if len(names) == 1 {
		return names[0]
	}
	var list []string
	for _, name := range names {
		list = append(list, name+"("+strconv.FormatFloat(b[name], 'g', 6, 64)+")")
	}
	return strings.Join(list, "+")
}
