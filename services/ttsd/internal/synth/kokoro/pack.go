// SPDX-License-Identifier: Apache-2.0

package kokoro

import (
	"math"
	"slices"
	"time"

	"example.org/desktop-assistant/services/ttsd/internal/phoneme"
)

const (
	// most is how many tokens are said in one go: with more it hurries and fades. A
	// longer text is cut into parts of about aim.
	most, aim = 250, 220
	// firstLeast and firstMost are for the beginning of what someone waits for: 20
	// tokens last about as long as 40 take to be made, and very few sound bad.
	firstLeast, firstMost = 30, 60
	// firstLate is how far one waits for the end of a clause rather than cut it.
	firstLate = 100
	// least is what is never said alone when there is more.
	least = 12
	// Pauses between two parts. What the model makes of the mark itself is cut off.
	sentencePause = 300 * time.Millisecond
	clausePause   = 120 * time.Millisecond
)

// A part is what is said in one go, and the pause after it.
type part struct {
	tokens []phoneme.Token
	pause  time.Duration
}

// A seam is how well a text can be cut before a token.
type seam int

const (
	noSeam seam = iota
	wordSeam
	clauseSeam
	sentenceSeam
)

// pack cuts a text into parts that fit the model, few and about equally long: a
// short one beside long ones is spoken at another rate. soon asks for a short first
// one.
func pack(tokens []phoneme.Token, soon bool) []part {
	var parts []part
	if n := firstCut(tokens, soon); n > 0 {
		parts = append(parts, cut(tokens[:n], seamAt(tokens, n)))
		tokens = trimSpace(tokens[n:])
	}
	for len(tokens) > most {
		count := (len(tokens) + aim - 1) / aim
		n := bestCut(tokens, len(tokens)/count)
		parts = append(parts, cut(tokens[:n], seamAt(tokens, n)))
		tokens = trimSpace(tokens[n:])
	}
	if tokens = trimSpace(tokens); len(tokens) > 0 {
		parts = append(parts, cut(tokens, noSeam)) // the pause at the end is the player's
	}
	return parts
}

func cut(tokens []phoneme.Token, at seam) part {
	p := part{tokens: trimSpace(tokens)}
	switch at {
	case sentenceSeam:
		p.pause = sentencePause
	case clauseSeam:
		p.pause = clausePause
	}
	return p
}

func trimSpace(tokens []phoneme.Token) []phoneme.Token {
	for len(tokens) > 0 && tokens[0].Rune == ' ' {
		tokens = tokens[1:]
	}
	for len(tokens) > 0 && tokens[len(tokens)-1].Rune == ' ' {
		tokens = tokens[:len(tokens)-1]
	}
	return tokens
}

// firstCut is where a first part ends that is made before the rest; 0 is nowhere.
func firstCut(tokens []phoneme.Token, soon bool) int {
	if !soon || len(tokens) < firstMost+least {
		return 0
	}
	for n := firstMost; n >= firstLeast; n-- {
		if seamAt(tokens, n) >= clauseSeam {
			return n
		}
	}
	for n := firstMost + 1; n <= firstLate && n+least <= len(tokens); n++ {
		if seamAt(tokens, n) >= clauseSeam {
			return n
		}
	}
	if len(tokens) <= firstLate+least { // the end is near
		return 0
	}
	for n := firstMost; n >= firstLeast; n-- {
		if seamAt(tokens, n) == wordSeam {
			return n
		}
	}
	return 0
}

// bestCut finds the best seam near a place.
func bestCut(tokens []phoneme.Token, near int) int {
	low, high := max(1, near*2/3), min(near*4/3, most, len(tokens)-1)
	best, top := min(near, high), math.MinInt
	for n := low; n <= high; n++ {
		s := seamAt(tokens, n)
		if s == noSeam {
			continue
		}
		// A sentence is worth going further for than a clause, and that than a word.
		if worth := int(s)*near/2 - max(n-near, near-n); worth > top {
			best, top = n, worth
		}
	}
	return best
}

// seamAt says how well a text can be cut before token n: after a mark with what
// closes behind it, or between words.
func seamAt(tokens []phoneme.Token, n int) seam {
	if n <= 0 || n >= len(tokens) || !slices.Contains([]rune{' ', '\u2014', '“', '('}, tokens[n].Rune) {
		return noSeam
	}
	for i := n - 1; i >= 0; i-- {
		switch tokens[i].Rune {
		case ' ', ')', '”', '"':
			continue
		case '.', '!', '?', '…':
			return sentenceSeam
		case ',', ';', ':', '\u2014':
			return clauseSeam
		}
		break
	}
	if tokens[n].Rune == ' ' {
		return wordSeam
	}
	return noSeam
}
