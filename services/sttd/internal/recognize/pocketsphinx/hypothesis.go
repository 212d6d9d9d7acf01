// SPDX-License-Identifier: Apache-2.0

package pocketsphinx

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A hypothesis is what one decoder made of an utterance, with the acoustic
// scores of -hypseg: log likelihoods below the best that any sound of the model
// reaches in the same frames, so 0 is perfect.
type hypothesis struct {
	text   string  // the words, without fillers and variants
	total  float64 // score of the whole, fillers too
	frames int     // frames of 10 ms that are words; 0 when nothing fits
	worst  float64 // the lowest score a frame of any word
}

// parse reads a line of -hypseg:
//
//	ID S scale T total A acoustic L language START ASCR LSCR WORD START ASCR LSCR WORD ... END
//
// ID, scale and language scores are not used. A line without words, which has
// only (null) or nothing after the scores, is a hypothesis of no frames.
func parse(line string) (hypothesis, error) {
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[1] != "S" || fields[3] != "T" || fields[5] != "A" || fields[7] != "L" {
		return hypothesis{}, errors.New("read segmentation: not a line of -hypseg")
	}
	total, err := number(fields[6])
	if err != nil {
		return hypothesis{}, err
	}
	h := hypothesis{total: total}
	var words []string
	for rest := fields[9:]; len(rest) >= 5; rest = rest[4:] {
		from, err1 := number(rest[0])
		score, err2 := number(rest[1])
		to, err3 := number(rest[4])
		if err := errors.Join(err1, err2, err3); err != nil {
			return hypothesis{}, err
		}
		frames := int(to) - int(from)
		if frames <= 0 || isFiller(rest[3]) {
			continue
		}
		word, _, _ := strings.Cut(rest[3], "(")
		words = append(words, word)
		h.frames += frames
		h.worst = min(h.worst, score/float64(frames))
	}
	h.text = strings.Join(words, " ")
	return h, nil
}

// isFiller tells silence, noises and the empty arcs of a grammar from words.
func isFiller(token string) bool {
	return strings.HasPrefix(token, "<") || strings.HasPrefix(token, "[") || strings.HasPrefix(token, "(") || strings.HasPrefix(token, "+")
}

// number reads a score or frame. 32 bits are what the program has.
func number(field string) (float64, error) {
	n, err := strconv.ParseInt(field, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("read segmentation: bad number %q", field)
	}
	return float64(n), nil
}
