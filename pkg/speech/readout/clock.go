// SPDX-License-Identifier: Apache-2.0

package readout

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"example.org/desktop-assistant/pkg/speech/numeral"
)

var (
	hourMark   = regexp.MustCompile(`\b(\d{1,2}) ?h ?(\d{2})\b`)
	dotClock   = regexp.MustCompile(`(?i)\b(\d{1,2})\.(\d{2})( ?uhr\b| ?[ap]\.?m\b)?`)
	clockRange = regexp.MustCompile(`\b(\d{1,2}:\d{2}) ?[-–] ?(\d{1,2}:\d{2})\b`)
	clock      = regexp.MustCompile(`(?i)\b(\d{1,2}):(\d{2})(:\d{2})?( uhr\b| ?h\b| ?a\.? ?m\b\.?| ?p\.? ?m\b\.?)?`)
	dayHalves  = regexp.MustCompile(`(\d ?[AaPp]\.?[Mm]\.?) ?[-–] ?(\d)`)
	hourMinute = regexp.MustCompile(`(\d ?h) ?(\d{1,2}) ?m\b`)
	hourBefore = regexp.MustCompile(`\bh\.? ?(\d{1,2}[:.]\d{2})\b`)
)

// clocks writes out the times that are read with their zeros or their letters:
// 7:00, 9:05, 18h30, 18.30 Uhr.
func (r *reader) clocks(s string) string {
	if !strings.ContainsAny(s, ":.h") {
		return s
	}
	s = hourMinute.ReplaceAllString(s, "$1 $2 min")
	s = dayHalves.ReplaceAllString(s, "$1 "+r.Say("say.to")+" $2")
	if r.Lang == "it" {
		s = hourBefore.ReplaceAllString(s, "ore $1")
	}
	if r.Say("say.hclock") != "" {
		s = each(hourMark, s, func(h hit) string { return r.clock(h.group(1), h.group(2), "say.hclock") })
	}
	s = each(dotClock, s, func(h hit) string {
		if h.prev() == '.' || h.prev() == ',' || unicode.IsDigit(h.next()) || h.group(3) == "" && !r.In("say.dotclock", h.wordBefore()) || !isTime(h.group(1), h.group(2)) {
			return ""
		}
		return h.group(1) + ":" + h.group(2) + h.group(3)
	})
	if !strings.Contains(s, ":") {
		return s
	}
	s = each(clockRange, s, func(h hit) string {
		return r.fill("say.fromto", "a", h.group(1), "b", h.group(2))
	})
	return each(clock, s, func(h hit) string {
		if h.prev() == ':' || h.prev() == '.' || h.next() == ':' || !isTime(h.group(1), h.group(2)) {
			return ""
		}
		if h.group(3) != "" {
			if h.group(3) != ":00" {
				return ""
			}
		}
		return r.suffixed(h)
	})
}

// suffixed says the time of h and keeps what follows it, such as "PM".
func (r *reader) suffixed(h hit) string {
	suffix := h.group(4)
	switch low := strings.ToLower(strings.TrimSpace(suffix)); {
	case low == "uhr" || low == "h":
		key := ""
		if r.Say("say.clock") != "" {
			key = "say.clock"
		}
		return r.clock(h.group(1), h.group(2), key)
	case low != "":
		if h.group(2) == "00" {
			return plain(h.group(1)) + " " + strings.TrimSpace(suffix)
		}
		if said := r.clock(h.group(1), h.group(2), ""); said != "" {
			return said + " " + strings.TrimSpace(suffix)
		}
		return ""
	}
	return r.clock(h.group(1), h.group(2), "")
}

func isTime(hour, minute string) bool {
	h, _ := strconv.Atoi(hour)
	m, _ := strconv.Atoi(minute)
	return h <= 24 && m < 60
}

// clock says a time by the pattern of key, or as it stands when the phonemiser
// reads that well.
func (r *reader) clock(hour, minute, key string) string {
	if !isTime(hour, minute) {
		return ""
	}
	h, _ := strconv.Atoi(hour)
	m, _ := strconv.Atoi(minute)
	spoken := strconv.Itoa(h)
	switch {
	case m == 0 && r.Lang == "en":
		return englishHour(h)
	case m == 0 && h == 1 && r.Say("say.hour1") != "":
		return r.fill("say.hour1", "h", spoken)
	case m == 0:
		return r.fill("say.hour", "h", spoken)
	case m < 10 && r.Say("say.oh") != "":
		return numeral.English(h) + " " + r.Say("say.oh") + " " + numeral.English(m)
	case m < 10 && key == "" && r.Say("say.clock05") != "":
		key = "say.clock05"
	case m < 10 && key == "" && r.Say("say.clock") != "":
		key = "say.clock"
	case key == "":
		return strconv.Itoa(h) + ":" + minute
	}
	if h == 1 && r.Say(key+"1") != "" {
		key += "1"
	}
	return r.fill(key, "h", spoken, "m", strconv.Itoa(m))
}

func englishHour(h int) string {
	switch {
	case h == 0 || h == 24:
		return "midnight"
	case h > 12:
		return strconv.Itoa(h) + " hundred"
	}
	return strconv.Itoa(h) + " o'clock"
}
