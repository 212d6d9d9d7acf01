// SPDX-License-Identifier: Apache-2.0

package agenda

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"example.org/desktop-assistant/examples/tools/agenda/internal/cache"
	"example.org/desktop-assistant/examples/tools/agenda/internal/clock"
)

// mostDays is how many days can be asked for: a hundred years.
const mostDays = 36525

const usage = `usage: agenda [-details] [START [DAYS]]

  START     the first day: YYYY-MM-DD, today, tomorrow or yesterday (default today)
  DAYS      how many days (default 1)
  -details  below an event also its place and who is there

It lists the events of all .ics files below CALENDAR_DIR
(default ~/.local/share/calendars), in the time zone of this machine.
`

// options are what is asked for.
type options struct {
	first, days int64 // counted from 1970-01-01
	details     bool
	help        bool
}

// parse reads the arguments; an empty one is as good as none.
func parse(args []string, now time.Time) (o options, err error) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch arg := args[0]; arg {
		case "-details", "--details":
			o.details = true
		case "-h", "-help", "--help":
			o.help = true
			return o, nil
		case "--":
		default:
			return o, fmt.Errorf("unknown option %q, or DAYS before START: see agenda -help", arg)
		}
		ended := args[0] == "--"
		args = args[1:]
		if ended {
			break
		}
	}
	if len(args) > 2 {
		return o, fmt.Errorf("too many arguments, %q is the first of them: give START and DAYS only", args[2])
	}
	start, days := "", ""
	if len(args) > 0 {
		start = strings.TrimSpace(args[0])
	}
	if len(args) > 1 {
		days = strings.TrimSpace(args[1])
	}
	if o.first, err = firstDay(start, now); err != nil {
		return o, err
	}
	o.days, err = dayCount(days)
	return o, err
}

func firstDay(text string, now time.Time) (int64, error) {
	today := clock.DayNumber(now.Date())
	switch strings.ToLower(text) {
	case "", "today":
		return today, nil
	case "tomorrow":
		return today + 1, nil
	case "yesterday":
		return today - 1, nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || day.Year() < 1 {
		return 0, fmt.Errorf("START is %q, but must be a day as YYYY-MM-DD, such as %s", text, now.Format(time.DateOnly))
	}
	return clock.DayOf(day.Unix()), nil
}

func dayCount(text string) (int64, error) {
	if text == "" {
		return 1, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > mostDays {
		return 0, fmt.Errorf("DAYS is %q, but must be a whole number from 1 to %d", text, mostDays)
	}
	return n, nil
}

// A Setting is where and when the program runs.
type Setting struct {
	Root  string // folder of calendars
	Named bool   // the user named it: it must be there
	Cache string // folder of the cache, empty for none
	Local *time.Location
	Now   func() time.Time
}

// setting gives that of this process.
func setting() (Setting, error) {
	s := Setting{Root: os.Getenv("CALENDAR_DIR"), Local: time.Local, Now: time.Now}
	home, err := os.UserHomeDir()
	switch {
	case s.Root != "":
		s.Named = true
	case err != nil:
		return s, errors.New("neither CALENDAR_DIR nor HOME is set: set CALENDAR_DIR to the folder of your calendars")
	default:
		s.Root = filepath.Join(home, ".local/share/calendars")
	}
	if dir := os.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		s.Cache = filepath.Join(dir, "desktop-assistant/agenda")
	} else if filepath.IsAbs(home) {
		s.Cache = filepath.Join(home, ".cache/desktop-assistant/agenda")
	}
	return s, nil
}

// strangeZone says whether TZ has a name for which time.Local fell back to UTC.
func strangeZone(name string, local *time.Location) bool {
	name = strings.TrimPrefix(name, ":")
	return name != "" && name != "UTC" && local.String() == "UTC"
}

// book gives the cache of the folder of calendars, or nothing.
func (s Setting) book() string {
	whole, err := filepath.Abs(s.Root)
	if s.Cache == "" || err != nil {
		return ""
	}
	return cache.File(s.Cache, whole)
}
