// SPDX-License-Identifier: Apache-2.0

package whisper

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/desktop-assistant/services/sttd/internal/recognize"
)

// answer is verbose_json as whisper.cpp 1.8.5 to 1.9.3 writes it; all of it is
// optional, since other servers and older versions leave parts out.
type answer struct {
	Text     *string   `json:"text"`
	Language string    `json:"language"`
	Detected string    `json:"detected_language"`
	Segments []segment `json:"segments"`
	Error    string    `json:"error"`
}

type segment struct {
	Text    string   `json:"text"`
	LogProb *float64 `json:"avg_logprob"`
}

// decode reads the body of an answer with status 200. The text may be empty.
func decode(body []byte) (recognize.Transcript, error) {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return recognize.Transcript{}, fmt.Errorf("read answer: %w", err)
	}
	if a.Error != "" { // before 1.8.4 errors came with status 200
		return recognize.Transcript{}, errors.New(line(a.Error))
	}
	if a.Text == nil && a.Segments == nil {
		return recognize.Transcript{}, errors.New("read answer: it has no text")
	}
	spoken := a.Language
	if spoken == "" {
		spoken = a.Detected
	}
	return recognize.Transcript{Text: a.text(), Language: codeOf(spoken), Confidence: a.confidence()}, nil
}

// text joins the segments as they are. The server cuts segments in the middle
// of words and puts a newline at each cut, so newlines are deleted and never
// become spaces; a space that belongs there leads the next segment.
func (a answer) text() string {
	var b strings.Builder
	for _, s := range a.Segments {
		b.WriteString(s.Text)
	}
	if b.Len() == 0 && a.Text != nil {
		b.WriteString(*a.Text)
	}
	return line(strings.NewReplacer("\n", "", "\r", "").Replace(b.String()))
}

// confidence is the probability of an average token: e to the mean log
// probability, segments weighing by their length. 0 when the server gave none.
func (a answer) confidence() float64 {
	var sum, weight float64
	for _, s := range a.Segments {
		if s.LogProb != nil {
			length := float64(utf8.RuneCountInString(s.Text))
			sum += *s.LogProb * length
			weight += length
		}
	}
	if weight == 0 {
		return 0
	}
	return math.Exp(min(0, sum/weight))
}

// line makes one clean line: control characters and runs of space become one
// space.
func line(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
}
