// SPDX-License-Identifier: Apache-2.0

package kokoro

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/desktop-assistant/services/ttsd/internal/phoneme"
)

// tokensOf makes one token of each character.
func tokensOf(text string) []phoneme.Token {
	var list []phoneme.Token
	for i, r := range text {
		list = append(list, phoneme.Token{ID: int64(i%170 + 1), Symbol: phoneme.Symbol{Rune: r, End: i + 1}})
	}
	return list
}

func textOf(tokens []phoneme.Token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteRune(t.Rune)
	}
	return b.String()
}

func TestPack(t *testing.T) {
	t.Parallel()
	sentence := func(n int) string { return strings.Repeat("abcd ", n/5) } // words of four letters
	clause := func(n int) string { return strings.TrimSpace(sentence(n)) + ", " }
	for name, c := range map[string]struct {
		text   string
		soon   bool
		sizes  []int
		pauses []time.Duration
	}{
		"nothing":                  {"", true, nil, nil},
		"spaces":                   {"   ", true, nil, nil},
		"short":                    {"abcd.", true, []int{5}, []time.Duration{0}},
		"whole":                    {sentence(240), false, []int{239}, []time.Duration{0}},
		"soon at a clause":         {clause(40) + sentence(100), true, []int{40, 99}, []time.Duration{clausePause, 0}},
		"soon at a sentence":       {strings.TrimSpace(sentence(45)) + ". " + sentence(100), true, []int{45, 99}, []time.Duration{sentencePause, 0}},
		"soon at the last clause":  {clause(20) + clause(20) + sentence(100), true, []int{41, 99}, []time.Duration{clausePause, 0}},
		"soon, a late clause":      {clause(80) + sentence(100), true, []int{80, 99}, []time.Duration{clausePause, 0}},
		"soon, no clause":          {sentence(200), true, []int{59, 139}, []time.Duration{0, 0}},
		"soon, the end is near":    {sentence(100), true, []int{99}, []time.Duration{0}},
		"soon, hardly more":        {clause(60) + "abc", true, []int{64}, []time.Duration{0}},
		"balanced":                 {sentence(600), false, []int{199, 199, 199}, []time.Duration{0, 0, 0}},
		"at sentences":             {strings.Repeat(strings.TrimSpace(sentence(100))+". ", 5), false, []int{201, 201, 100}, []time.Duration{sentencePause, sentencePause, 0}},
		"quotes close with theirs": {"“" + strings.TrimSpace(sentence(45)) + ".” " + sentence(100), true, []int{47, 99}, []time.Duration{sentencePause, 0}},
		"no seam":                  {strings.Repeat("a", 1200), false, []int{200, 200, 200, 200, 200, 200}, []time.Duration{0, 0, 0, 0, 0, 0}},
	} {
		var sizes []int
		var pauses []time.Duration
		for _, p := range pack(tokensOf(c.text), c.soon) {
			sizes = append(sizes, len(p.tokens))
			pauses = append(pauses, p.pause)
		}
		if !slices.Equal(sizes, c.sizes) || !slices.Equal(pauses, c.pauses) {
			t.Errorf("%s: parts of %v tokens with pauses %v, want %v with %v", name, sizes, pauses, c.sizes, c.pauses)
		}
	}
}

// Of any text: nothing is lost but spaces, and nothing is too long.
func TestPackAnything(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		letters := []rune([]string{"ab ", "abcdefgh .,", "abc,;:!?… \u2014(“”)", "a", "abcdefghijklmnopqrstuvwxyz "}[r.IntN(5)])
		text := make([]rune, r.IntN(1500))
		for i := range text {
			text[i] = letters[r.IntN(len(letters))]
		}
		soon := r.IntN(2) == 0
		parts := pack(tokensOf(string(text)), soon)
		var all strings.Builder
		for i, p := range parts {
			if n := len(p.tokens); n == 0 || n > most || n > phoneme.MaxTokens || p.tokens[0].Rune == ' ' || p.tokens[n-1].Rune == ' ' {
				t.Fatalf("seed %d: part %d of %d has %d tokens: %q", seed, i, len(parts), n, textOf(p.tokens))
			}
			all.WriteString(textOf(p.tokens))
		}
		bare := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if bare(all.String()) != bare(string(text)) {
			t.Fatalf("seed %d: %q became %q", seed, string(text), all.String())
		}
	}
}
