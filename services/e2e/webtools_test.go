// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// call runs one of the example tools as toolrunner does, and gives its result.
func (h home) call(t *testing.T, name, arguments string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "toolrunner"), "call", "--tools", filepath.Join(bin, "../examples/tools"), name, arguments)
	cmd.Env, cmd.Dir = h.env, h.dir
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("toolrunner call %s %s: %v\n%s", name, arguments, err, errs.String())
	}
	return strings.TrimSuffix(string(out), "\n")
}

// says checks the result of a call.
func (h home) says(t *testing.T, name, arguments, want string) {
	t.Helper()
	if got := h.call(t, name, arguments); got != want {
		t.Errorf("%s %s says\n%s\nwant\n%s", name, arguments, got, want)
	}
}

// programs makes a folder of programs out of those of the machine, and of scripts
// given as NAME=TEXT; it is what the tools of a configuration get as PATH.
func programs(t *testing.T, list ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range list {
		name, text, script := strings.Cut(name, "=")
		if script {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		real, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(real, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// bare is what the scripts of the examples need beside curl and jq.
var bare = []string{"sh", "tr", "sed", "head", "date", "stat"}

// impatient is a curl that waits for half a second where it should wait for
// eight, so that the test need not.
func impatient(t *testing.T) string {
	t.Helper()
	real, err := exec.LookPath("curl")
	if err != nil {
		t.Fatal(err)
	}
	return "curl=#!/bin/sh\ncase \" $* \" in *' --max-time 8 '*) exec " + real + " \"$@\" --max-time 0.5 ;; esac\n" +
		"echo 'no --max-time 8' >&2\nexit 99\n"
}

// answers lets the websites give always the same.
func answers(status int, contentType, body string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		send(w, status, contentType, body)
		return true
	}
}

// never answers until the client has gone.
func never(_ http.ResponseWriter, r *http.Request) bool {
	<-r.Context().Done()
	return true
}

func TestSearch(t *testing.T) {
	t.Parallel()
	web := newWebsites(t)
	h := newHome(t, web.config())
	h.says(t, "search", `{"query":"how far is Milan"}`, foundText)
	if q := web.one(t, "/searx/search"); q.Get("q") != "how far is Milan" || q.Get("format") != "json" {
		t.Errorf("asked for %v", q)
	}
	h.says(t, "search", `{"query":"nothing"}`, "no results")
	web.requests()
	for argument, want := range map[string]string{
		`"$(id) \u0022; rm -rf / #"`:                `$(id) "; rm -rf / #`,
		`" perché\t日本\n& a=b? 100%+[x]{y} \\ 'é' "`: `perché 日本 & a=b? 100%+[x]{y} \ 'é'`,
		`"--help"`:                           "--help",
		`"@/etc/passwd"`:                     "@/etc/passwd",
		`"` + strings.Repeat("é", 500) + `"`: strings.Repeat("é", 500),
		`12`:                                 "12",
	} {
		h.says(t, "search", `{"query":`+argument+`}`, foundText)
		if q := web.one(t, "/searx/search"); q.Get("q") != want {
			t.Errorf("%s is asked for as %q", argument, q.Get("q"))
		}
	}
	for _, none := range []string{`{"query":""}`, `{"query":" \n\t"}`, `{}`, `{"query":null}`} {
		h.says(t, "search", none, "error: empty query")
	}
	if len(web.requests()) > 0 {
		t.Error("an empty query is asked for")
	}
	for _, server := range []string{"", " "} {
		h := newHome(t, "[env]\nSEARXNG_URL = \""+server+"\"\n")
		h.says(t, "search", `{"query":"x"}`, "error: SEARXNG_URL is not set")
	}
	newHome(t, "").says(t, "search", `{"query":"x"}`, "error: SEARXNG_URL is not set")
	for _, server := range []string{"/searx", "/searx/", "/searx//", "/searx/search", "/searx/search/"} {
		h := newHome(t, "[env]\nSEARXNG_URL = \""+web.url+server+"\"\n")
		h.says(t, "search", `{"query":"x"}`, foundText)
	}
}

func TestSearchFails(t *testing.T) {
	t.Parallel()
	web := newWebsites(t)
	h := newHome(t, web.config())
	const html = "text/html; charset=utf-8"
	for _, c := range []struct {
		name, want string
		answer     func(http.ResponseWriter, *http.Request) bool
	}{
		{"JSON off", ": JSON format not enabled", answers(403, html, "<!doctype html>\n<title>403 Forbidden</title>")},
		{"JSON off, bare", ": JSON format not enabled", answers(403, "text/plain", "")},
		{"a page", ": JSON format not enabled", answers(200, html, "\n <html><body>Are you human?</body></html>")},
		{"limited", ": too many requests", answers(429, html, "<html>Too Many Requests</html>")},
		{"broken", ": HTTP 500", answers(500, html, "<html>oh</html>")},
		{"moved", ": HTTP 302", func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
			return true
		}},
		{"cut JSON", ": the answer cannot be read", answers(200, "application/json", `{"results":[{"title":"x"`)},
		{"two values", ": the answer cannot be read", answers(200, "application/json", `{"results":[]}{"results":[]}`)},
		{"empty", ": the answer cannot be read", answers(200, "application/json", "")},
		{"another answer", ": the answer cannot be read", answers(200, "application/json", `{"detail":"no"}`)},
		{"a list", ": the answer cannot be read", answers(200, "application/json", `[1]`)},
		{"without end", ": the answer is too long", func(w http.ResponseWriter, r *http.Request) bool {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					break
				}
			}
			return true
		}},
		{"broken off", "", func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Length", "1000")
			send(w, 200, "application/json", "{")
			panic(http.ErrAbortHandler)
		}},
	} {
		web.instead(c.answer)
		t.Log(c.name)
		h.says(t, "search", `{"query":"x"}`, "error: search failed"+c.want)
	}
	closed := newHome(t, "[env]\nSEARXNG_URL = \"http://"+closedPort(t)+"\"\n")
	closed.says(t, "search", `{"query":"x"}`, "error: search failed: the server cannot be reached")
	for _, odd := range []string{"file:///etc", "http://[", "\u00e9 x"} {
		if got := newHome(t, "[env]\nSEARXNG_URL = \""+odd+"\"\n").call(t, "search", `{"query":"x"}`); !strings.HasPrefix(got, "error: search failed") {
			t.Errorf("with the server %q it says %s", odd, got)
		}
	}
	web.instead(never)
	hasty := newHome(t, web.config(`PATH = "`+programs(t, append(bare, impatient(t), "jq")...)+`"`))
	hasty.says(t, "search", `{"query":"x"}`, "error: search failed: timed out")
	missing(t, web, "search", `{"query":"x"}`)
}

// missing checks that a tool names the program that is not there, and its package.
func missing(t *testing.T, web *websites, name, arguments string) {
	t.Helper()
	for there, gone := range map[string]string{"curl": "jq", "jq": "curl"} {
		h := newHome(t, web.config(`PATH = "`+programs(t, append(bare, there)...)+`"`))
		h.says(t, name, arguments, "error: "+gone+" is missing: install the package "+gone)
	}
}

// weatherHome is an account with a file for the weather tool.
func weatherHome(t *testing.T, web *websites, file string, more ...string) home {
	t.Helper()
	h := newHome(t, "")
	h.write(t, "weather.env", file)
	h.write(t, "config/desktop-assistant/config.toml", web.config(append(more, `WEATHER_ENV = "`+h.dir+`/weather.env"`)...))
	return h
}

const weatherFile = "# home\nKEY=" + weatherKey + "\nCITY=Rome\nCOUNTRY=IT\n"

const rainNow = "Rome: light rain, 11 degrees, feels like 0, humidity 81%, wind 13 km/h"

func TestWeather(t *testing.T) {
	t.Parallel()
	web := newWebsites(t)
	h := weatherHome(t, web, weatherFile)
	rome, late := cities["Rome"], cities["Late"]
	for _, c := range []struct{ name, arguments, want, path, query string }{
		{"home now", `{}`, rainNow, "weather", "Rome,IT"},
		{"home now, asked for", `{"place":" ","when":"now"}`, rainNow, "weather", "Rome,IT"},
		{"other place now", `{"place":"Rome","when":"now"}`, rainNow, "weather", "Rome"},
		{"home today", `{"when":"today"}`, forecastText(rome, rome.zone(), 0), "forecast", "Rome,IT"},
		{"home tomorrow", `{"place":"","when":"tomorrow"}`, forecastText(rome, rome.zone(), 1), "forecast", "Rome,IT"},
		{"other place today", `{"place":" Sao\n Paulo","when":"today"}`, forecastText(cities["Sao Paulo"], cities["Sao Paulo"].zone(), 0), "forecast", "Sao Paulo"},
		{"no slots left today", `{"place":"Late","when":"today"}`, "no forecast for Late on " + began.In(late.zone()).Format(time.DateOnly), "forecast", "Late"},
		{"and tomorrow", `{"place":"Late","when":"tomorrow"}`, forecastText(late, late.zone(), 1), "forecast", "Late"},
		{"unknown place", `{"place":"Atlantis"}`, "error: weather request failed for Atlantis", "weather", "Atlantis"},
		{"unknown place tomorrow", `{"place":"Atlantis","when":"tomorrow"}`, "error: weather request failed for Atlantis", "forecast", "Atlantis"},
		{"a place of odd letters", `{"place":"L'Aquila & \"x\" $(id) é\\ @/etc/passwd","when":"now"}`, `error: weather request failed for L'Aquila & "x" $(id) é\ @/etc/passwd`, "weather", `L'Aquila & "x" $(id) é\ @/etc/passwd`},
	} {
		t.Log(c.name)
		h.says(t, "weather", c.arguments, c.want)
		if q := web.one(t, "/data/2.5/"+c.path); q.Get("q") != c.query || q.Get("units") != "metric" || q.Get("appid") != weatherKey {
			t.Errorf("%s: asked for %v", c.name, q)
		}
	}
	if slots := strings.Count(forecastText(rome, rome.zone(), 1), "degrees"); slots != 8 {
		t.Errorf("the fixture has %d slots tomorrow", slots)
	}
	for _, when := range []string{"yesterday", "NOW", "now today", "$(id)"} {
		h.says(t, "weather", `{"when":"`+when+`"}`, "error: when must be now, today or tomorrow")
	}
	if len(web.requests()) > 0 {
		t.Error("a bad when is asked for")
	}
	// Without an offset in the answer, the time is that of this machine.
	local := weatherHome(t, web, weatherFile)
	offset := cities["Clockless"].offset() + 13*3600 // half past noon
	sign, abs := "-", offset                         // east is negative in TZ
	if offset < 0 {
		sign, abs = "+", -offset
	}
	zone := time.FixedZone("here", offset)
	local.env = append(local.env, "TZ=<here>"+sign+time.Unix(int64(abs), 0).UTC().Format("15:04:05"))
	local.says(t, "weather", `{"place":"Clockless","when":"tomorrow"}`, forecastText(cities["Clockless"], zone, 1))
}

// TestWeatherCache: for home and now a fresh file of another program is used,
// read only, and nothing else of it.
func TestWeatherCache(t *testing.T) {
	t.Parallel()
	web := newWebsites(t)
	h := weatherHome(t, web, weatherFile)
	const file, kept = "cache/udt/weather.json", `{"name":"Home","weather":[{"description":"clear sky"}],"main":{"temp":20.5,"feels_like":-0.6,"humidity":40},"wind":{"speed":10}}`
	age := func(d time.Duration) {
		t.Helper()
		if err := os.Chtimes(filepath.Join(h.dir, file), time.Time{}, time.Now().Add(-d)); err != nil {
			t.Fatal(err)
		}
	}
	h.write(t, file, kept)
	age(29 * time.Minute)
	h.says(t, "weather", `{"when":"now"}`, "Home: clear sky, 21 degrees, feels like -1, humidity 40%, wind 36 km/h")
	if len(web.requests()) > 0 {
		t.Error("asked although the file is fresh")
	}
	for _, other := range []string{`{"place":"Rome"}`, `{"when":"today"}`, `{"when":"tomorrow"}`} {
		h.call(t, "weather", other)
		if len(web.requests()) != 1 {
			t.Errorf("%s is answered out of the file", other)
		}
	}
	for name, d := range map[string]time.Duration{"stale": 31 * time.Minute, "of the future": -time.Hour} {
		age(d)
		h.says(t, "weather", `{}`, rainNow)
		if len(web.requests()) != 1 {
			t.Errorf("the file is %s and not asked anew", name)
		}
	}
	for _, broken := range []string{"", "{", `{"cod":401,"message":"Invalid API key"}`, kept + kept, kept + "x", "[]", `"text"`} {
		h.write(t, file, broken)
		h.says(t, "weather", `{}`, rainNow)
		if text, err := os.ReadFile(filepath.Join(h.dir, file)); err != nil || string(text) != broken {
			t.Errorf("the file was changed to %q, %v", text, err)
		}
	}
}

// TestWeatherFile: the file is data in the form of a script, and never run.
func TestWeatherFile(t *testing.T) {
	t.Parallel()
	web := newWebsites(t)
	for name, file := range map[string]string{
		"quotes":         "KEY=\"" + weatherKey + "\"\nCITY='Rome'\nCOUNTRY=\"IT\" # there\n",
		"export":         "export KEY=" + weatherKey + "\nexport CITY=Rome\nexport COUNTRY=IT",
		"from elsewhere": "\ufeffKEY=" + weatherKey + "\r\nCITY=Rome\r\nCOUNTRY=IT\r\n",
		"comments":       "#KEY=x\n\n  KEY=" + weatherKey + " # mine\nCITY=Rome\t\nCOUNTRY=IT\nOTHER=$(touch ran)\nrm -rf x\n=\nUNITS=\n",
		"blanks":         " KEY = \"" + weatherKey + "\"\nCITY= Rome\nCOUNTRY =IT\nUNITS = 'metric'\n",
		"the last wins":  "KEY=x\nCITY=x\n" + weatherFile,
	} {
		h := weatherHome(t, web, file)
		if got := h.call(t, "weather", `{}`); got != rainNow {
			t.Errorf("%s: %s", name, got)
		}
	}
	h := weatherHome(t, web, weatherFile+"CITY=$(touch ran)`touch ran`;touch ran\nUNITS=imperial;touch ran\n$(touch ran)\ntouch ran\n")
	h.says(t, "weather", `{}`, "error: UNITS must be metric or imperial in "+h.dir+"/weather.env")
	for _, ran := range []string{filepath.Join(h.dir, "ran"), "../../examples/tools/ran"} {
		if _, err := os.Stat(ran); !os.IsNotExist(err) {
			t.Errorf("the file was run: %v", err)
		}
	}

	imperial := weatherHome(t, web, weatherFile+"UNITS=imperial\n")
	imperial.says(t, "weather", `{}`, "Rome: light rain, 51 degrees, feels like 31, humidity 81%, wind 8 mph")
	if web.requests(); imperial.call(t, "weather", `{"when":"today"}`) == "" || web.one(t, "/data/2.5/forecast").Get("units") != "imperial" {
		t.Error("the forecast is not asked for in the units of the file")
	}
	weatherHome(t, web, "KEY="+weatherKey+"\nCITY=Rome").says(t, "weather", `{}`, rainNow) // without a country
	for file, want := range map[string]string{
		"": "KEY is empty", "KEY=\nCITY=Rome\n": "KEY is empty", "KEY='' # soon\n": "KEY is empty", "CITY=Rome": "KEY is empty",
		"KEY=x\n": "CITY is empty",
	} {
		h := weatherHome(t, web, file)
		h.says(t, "weather", `{}`, "error: "+want+" in "+h.dir+"/weather.env")
	}

	// Where the file is looked for.
	h = newHome(t, web.config())
	h.says(t, "weather", `{}`, "error: no weather env file at "+h.dir+"/home/.config/udt/weather.env")
	h.write(t, "home/.config/udt/weather.env", weatherFile)
	h.says(t, "weather", `{}`, rainNow)
	for _, where := range []string{"", "~/.config/udt/weather.env"} {
		h.write(t, "config/desktop-assistant/config.toml", web.config(`WEATHER_ENV = "`+where+`"`))
		h.says(t, "weather", `{}`, rainNow)
	}
	h.write(t, "config/desktop-assistant/config.toml", web.config(`WEATHER_ENV = "`+h.dir+`"`))
	h.says(t, "weather", `{}`, "error: no weather env file at "+h.dir)
}

func TestWeatherFails(t *testing.T) {
	t.Parallel()
	web := newWebsites(t)
	h := weatherHome(t, web, weatherFile)
	const failed = "error: weather request failed for Rome,IT"
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"limited":        answers(429, "application/json", `{"cod":429,"message":"Your account is temporary blocked"}`),
		"broken":         answers(500, "application/json", `{"cod":"500","message":"Internal error"}`),
		"a page":         answers(200, "text/html", "<html>Welcome to the hotel</html>"),
		"another page":   answers(502, "text/html", "<html>Bad Gateway</html>"),
		"cut JSON":       answers(200, "application/json", `{"name":"Rome","main":{"temp":1`),
		"empty":          answers(200, "application/json", ""),
		"null":           answers(200, "application/json", "null"),
		"another answer": answers(200, "application/json", `{"name":"Rome"}`),
		"odd types":      answers(200, "application/json", `{"name":"Rome","weather":[{"description":7}],"main":{"temp":"warm"},"list":{},"city":[]}`),
		"odd slots":      answers(200, "application/json", `{"name":7,"city":{"name":"Rome","timezone":"x"},"list":[{"dt":"x"}]}`),
		"odd times":      answers(200, "application/json", `{"city":{"name":"Rome","timezone":1e300},"list":[{"dt":1e300}]}`),
		"without end": func(w http.ResponseWriter, r *http.Request) bool {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					break
				}
			}
			return true
		},
	} {
		web.instead(answer)
		t.Log(name)
		h.says(t, "weather", `{}`, failed)
		h.says(t, "weather", `{"when":"tomorrow"}`, failed)
	}
	web.instead(nil)
	wrong := weatherHome(t, web, "KEY=wrong\nCITY=Rome\nCOUNTRY=IT\n")
	wrong.says(t, "weather", `{}`, failed)
	closed := weatherHome(t, &websites{url: "http://" + closedPort(t)}, weatherFile)
	closed.says(t, "weather", `{}`, failed)
	web.instead(never)
	weatherHome(t, web, weatherFile, `PATH = "`+programs(t, append(bare, impatient(t), "jq")...)+`"`).says(t, "weather", `{}`, failed)
	missing(t, web, "weather", `{}`)
}

// TestWeatherKey: while a request runs, no process carries the key, the query or
// the address of the server in its arguments.
func TestWeatherKey(t *testing.T) {
	t.Parallel()
	web := newWebsites(t)
	h := weatherHome(t, web, weatherFile)
	var mu sync.Mutex
	var lines []string
	web.instead(func(http.ResponseWriter, *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		lines = slices.AppendSeq(lines, maps.Values(h.processes(t)))
		return false
	})
	h.says(t, "weather", `{"when":"now"}`, rainNow)
	h.says(t, "search", `{"query":"x"}`, foundText)
	mu.Lock()
	defer mu.Unlock()
	curls := 0
	for _, line := range lines {
		if strings.HasPrefix(line, "curl ") {
			curls++
		}
		if strings.Contains(line, weatherKey) || strings.Contains(line, web.url) {
			t.Errorf("everyone can read %s", line)
		}
	}
	if curls < 2 {
		t.Errorf("curl was not seen at work: %q", lines)
	}
}
