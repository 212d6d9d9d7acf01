// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const weatherKey = "0123456789abcdef0123456789abcdef"

// websites answers as the services that the example tools ask: OpenWeatherMap
// below /data/2.5, SearXNG below /searx. What each gives is theirs in form and
// ours in content.
type websites struct {
	url string

	mu    sync.Mutex
	asked []*url.URL
	hook  func(w http.ResponseWriter, r *http.Request) bool // true when it has answered
}

func newWebsites(t *testing.T) *websites {
	t.Helper()
	s := &websites{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// config is the configuration that sends the example tools here, with more
// variables in the form NAME = "value".
func (s *websites) config(more ...string) string {
	return "[env]\nOPENWEATHERMAP_URL = \"" + s.url + "/data/2.5/\"\nSEARXNG_URL = \"" + s.url + "/searx/\"\n" + strings.Join(more, "\n") + "\n"
}

// instead lets something else answer from now on.
func (s *websites) instead(answer func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = answer
}

// requests are what came since the last time.
func (s *websites) requests() []*url.URL {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.asked
	s.asked = nil
	return list
}

func (s *websites) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.URL)
	hook := s.hook
	s.mu.Unlock()
	if hook != nil && hook(w, r) {
		return
	}
	switch r.URL.Path {
	case "/searx/search":
		searx(w, r.URL.Query())
	case "/data/2.5/weather", "/data/2.5/forecast":
		openWeather(w, r)
	default:
		http.NotFound(w, r)
	}
}

func send(w http.ResponseWriter, status int, contentType, body string) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // the client may be gone, nobody to tell
}

func sendJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain values only
	}
	send(w, status, "application/json; charset=utf-8", string(body))
}

type object = map[string]any

// found are the results of every search: more than are wanted, and of every
// shape that engines give.
var found = []any{
	object{"url": "https://example.org/1", "title": "Rome to <b>Milan</b> &amp; back", "content": "It is\n477&nbsp;km   by air,\u0000 573 km by\u202e road &#8211; as <em>measured</em>&#x2e;",
		"engine": "one", "parsed_url": []string{"https", "example.org", "/1"}, "score": 1.5, "category": "general", "publishedDate": nil},
	object{"url": "https://example.org/2", "title": "No snippet", "content": nil, "engine": "two"},
	object{"url": "https://example.org/3", "title": "", "content": "No title", "engine": "two"},
	object{"url": "https://example.org/4", "title": 7, "content": []string{"odd"}}, "no object", nil,
	object{"url": "https://example.org/5", "title": "Perché 日本?", "content": "a<br/>b, 1 < 2 \U000E0041& &lt;i&gt;"},
	object{"url": "https://example.org/6", "title": "Long", "content": strings.Repeat("word ", 500)},
	object{"url": "https://example.org/7", "title": "Six", "content": "is too many"},
}

// foundText is what the tool makes of them.
var foundText = "Rome to Milan & back: It is 477 km by air, 573 km by road – as measured.\nNo snippet\nNo title\n" +
	"Perché 日本?: a b, 1 < 2 & <i>\nLong: " + strings.TrimSpace(strings.Repeat("word ", 55)) + "…"

func searx(w http.ResponseWriter, q url.Values) {
	answer := object{"query": q.Get("q"), "number_of_results": 0, "results": found, "answers": []any{}, "corrections": []any{},
		"infoboxes": []any{}, "suggestions": []any{"more"}, "unresponsive_engines": []any{[]string{"three", "timeout"}}}
	switch {
	case q.Get("format") != "json":
		send(w, http.StatusOK, "text/html; charset=utf-8", "<!DOCTYPE html>\n<html><body>results</body></html>")
		return
	case q.Get("q") == "nothing":
		answer["results"] = []any{}
	}
	sendJSON(w, http.StatusOK, answer)
}

// began is the time that all answers are made for, so that they are the same
// whenever they are asked for.
var began = time.Now()

// A city has its own clock: it is always so late there.
type city struct {
	name, country string
	hour          int
}

var cities = map[string]city{
	"Rome,IT": {"Rome", "IT", 12}, "Rome": {"Rome", "IT", 12}, "Sao Paulo": {"São Paulo", "BR", 9}, "Late": {"Late", "NZ", 22}, "Clockless": {"Clockless", "XX", -1},
}

// offset of the city's clock from UTC, in seconds; it makes the time there half
// past the hour, so that no test comes near the end of a day.
func (c city) offset() int {
	now := began.UTC()
	return c.hour*3600 + 1800 - (now.Hour()*3600 + now.Minute()*60 + now.Second())
}

func openWeather(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	c, known := cities[q.Get("q")]
	switch {
	case q.Get("appid") != weatherKey:
		sendJSON(w, http.StatusUnauthorized, object{"cod": 401, "message": "Invalid API key. See https://example.org/faq for more info."})
	case !known:
		sendJSON(w, http.StatusNotFound, object{"cod": "404", "message": "city not found"})
	case strings.HasSuffix(r.URL.Path, "/weather"):
		sendJSON(w, http.StatusOK, currentWeather(c, q.Get("units")))
	default:
		sendJSON(w, http.StatusOK, forecast(c))
	}
}

// currentWeather is 10.6 degrees with 3.6 metres a second of wind, or what that
// is elsewhere.
func currentWeather(c city, units string) object {
	temp, feels, wind := 10.6, -0.4, 3.6
	if units == "imperial" {
		temp, feels, wind = 51.08, 31.28, 8.05
	}
	return object{
		"coord": object{"lon": 12.48, "lat": 41.89}, "base": "stations", "visibility": 10000,
		"weather": []any{object{"id": 500, "main": "Rain", "description": "light rain", "icon": "10d"}, object{"id": 701, "main": "Mist", "description": "mist", "icon": "50d"}},
		"main":    object{"temp": temp, "feels_like": feels, "temp_min": 9.9, "temp_max": 11.2, "pressure": 1012, "humidity": 81},
		"wind":    object{"speed": wind, "deg": 200, "gust": 6.2}, "rain": object{"1h": 0.4}, "clouds": object{"all": 75},
		"dt": began.Unix(), "sys": object{"type": 2, "id": 1, "country": c.country, "sunrise": 1, "sunset": 2},
		"timezone": c.offset(), "id": 3169070, "name": c.name, "cod": 200,
	}
}

var skies = []string{"light rain", "scattered clouds", "clear sky"}

// slots are the times of a forecast: forty, three hours apart, those that are
// to come. In the city that is Late none is left of this day.
func slots(c city) []int64 {
	const step = 3 * 3600
	first := (began.Unix()/step + 1) * step
	if c.name == "Late" {
		first = max(first, began.Unix()+90*60)
	}
	list := make([]int64, 40)
	for i := range list {
		list[i] = first + int64(i)*step
	}
	return list
}

func forecast(c city) object {
	var list []any
	for i, dt := range slots(c) {
		list = append(list, object{
			"dt": dt, "dt_txt": time.Unix(dt, 0).UTC().Format("2006-01-02 15:04:05"), "pop": 0.3, "visibility": 10000,
			"main":    object{"temp": float64(i) - 1.6, "feels_like": 3.1, "pressure": 1012, "humidity": 81, "temp_kf": 0},
			"weather": []any{object{"id": 500, "main": "Any", "description": skies[i%len(skies)], "icon": "10d"}},
			"clouds":  object{"all": 75}, "wind": object{"speed": 3.6, "deg": 200, "gust": 6.2}, "sys": object{"pod": "d"},
		})
	}
	where := object{"id": 3169070, "name": c.name, "coord": object{"lat": 41.89, "lon": 12.48}, "country": c.country,
		"population": 2500000, "timezone": c.offset(), "sunrise": 1, "sunset": 2}
	if c.name == "Clockless" {
		delete(where, "timezone")
	}
	return object{"cod": "200", "message": 0, "cnt": len(list), "list": list, "city": where}
}

// forecastText is what the tool makes of the forecast for a day from today on
// the city's clock.
func forecastText(c city, zone *time.Location, day int) string {
	date := began.In(zone).AddDate(0, 0, day).Format(time.DateOnly)
	var parts []string
	for i, dt := range slots(c) {
		if at := time.Unix(dt, 0).In(zone); at.Format(time.DateOnly) == date {
			degrees := strconv.Itoa(i - 2) // i - 1.6, rounded
			parts = append(parts, at.Format("15:04 ")+skies[i%len(skies)]+" "+degrees+" degrees")
		}
	}
	if len(parts) == 0 {
		return fmt.Sprintf("no forecast for %s on %s", c.name, date)
	}
	return c.name + " " + date + ": " + strings.Join(parts, ", ")
}

// zone is the city's clock.
func (c city) zone() *time.Location { return time.FixedZone(c.name, c.offset()) }

// one gives the query of the only request.
func (s *websites) one(t *testing.T, path string) url.Values {
	t.Helper()
	list := s.requests()
	if len(list) != 1 || list[0].Path != path {
		t.Fatalf("asked for %v, want one %s", slices.Collect(func(yield func(string) bool) {
			for _, u := range list {
				if !yield(u.Path) {
					return
				}
			}
		}), path)
	}
	return list[0].Query()
}
