// SPDX-License-Identifier: Apache-2.0

package recognize_test

import (
	"errors"
	"testing"
	"time"

	"example.org/desktop-assistant/services/sttd/internal/recognize"
)

func reasonOf(err error) recognize.Reason {
	var r *recognize.Rejection
	if errors.As(err, &r) {
		return r.Reason
	}
	return ""
}

func TestJudge(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		text           string
		speech, length time.Duration
		want           recognize.Reason // "" passes
	}{
		{"What time is it?", 600 * ms, 1200 * ms, ""},
		{"Yes.", 160 * ms, 600 * ms, ""},
		{"No", 160 * ms, 600 * ms, ""},
		{"Thanks.", 300 * ms, 800 * ms, ""},
		{"Thank you.", 300 * ms, 800 * ms, ""},
		{"Thank you for watching the house", 900 * ms, 2000 * ms, ""},
		{"Thank you for watching.", 2000 * ms, 3000 * ms, ""},
		{"Open (the) door [please]", 700 * ms, 2000 * ms, ""},
		{"5 (five", 300 * ms, 800 * ms, ""},
		{"stop, stop, stop!", 700 * ms, 1500 * ms, ""},
		{"no no", 300 * ms, 800 * ms, ""},
		{"very very very good", 900 * ms, 2000 * ms, ""},
		{"che ore sono", 500 * ms, 1000 * ms, ""},
		{"今何時ですか", 700 * ms, 1500 * ms, ""},

		{"", 300 * ms, 800 * ms, recognize.Noise},
		{"...", 300 * ms, 800 * ms, recognize.Noise},
		{"[BLANK_AUDIO]", 300 * ms, 800 * ms, recognize.Noise},
		{"(upbeat music) [ Silence ]", 2300 * ms, 4000 * ms, recognize.Noise},
		{"*sighs*", 300 * ms, 800 * ms, recognize.Noise},
		{"♪ la la ♪", 300 * ms, 800 * ms, recognize.Noise},
		{"Thanks for watching!", 400 * ms, 2000 * ms, recognize.Invented},
		{"you", 300 * ms, 2000 * ms, recognize.Invented},
		{"Sottotitoli creati dalla comunità Amara.org", 400 * ms, 4000 * ms, recognize.Invented},
		{"Untertitel der Amara.org-Community", 400 * ms, 4000 * ms, recognize.Invented},
		{"okay okay okay", 900 * ms, 2000 * ms, recognize.Invented},
		{"Thank you. Thank you. Thank you.", 900 * ms, 4000 * ms, recognize.Invented},
		{"stop stop stop stop stop stop", 300 * ms, 2000 * ms, recognize.Invented},
		{"I do not think that anyone can say all of this in a second.", 700 * ms, 1000 * ms, recognize.Invented},
	} {
		if got := reasonOf(recognize.Judge(c.text, c.speech, c.length)); got != c.want {
			t.Errorf("Judge(%q, %v, %v) = %q, want %q", c.text, c.speech, c.length, got, c.want)
		}
	}
}

func FuzzJudge(f *testing.F) {
	f.Add("[BLANK_AUDIO]", int64(300), int64(900))
	f.Add("(((", int64(0), int64(0))
	f.Add("♪\xff♪ ok ok ok", int64(300), int64(900))
	f.Fuzz(func(t *testing.T, text string, speech, length int64) {
		err := recognize.Judge(text, time.Duration(speech), time.Duration(length))
		if err != nil && reasonOf(err) == "" {
			t.Fatalf("not a rejection: %v", err)
		}
	})
}
