// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/services/toolrunner/internal/native/argument"
	"example.org/desktop-assistant/services/toolrunner/internal/native/fault"
	"example.org/desktop-assistant/services/toolrunner/internal/native/fetch"
	"example.org/desktop-assistant/services/toolrunner/internal/native/origin"
	"example.org/desktop-assistant/services/toolrunner/internal/native/plain"
)

const (
	titleRunes   = 200
	linkBytes    = 500
	snippetRunes = 400
	maxAnswers   = 3 // direct answers and boxes beside the results
)

var webSearch = Record{
	Name:        "web_search",
	Description: "Search the web. Gives titles, addresses and short extracts. Use it for facts, news and prices instead of guessing.",
	Params: []argument.Param{
		{Name: "query", Required: true, Description: "What to search for"},
		{Name: "max_results", Type: argument.Integer, Description: "Give at most so many results"},
	},
	On:    func(n config.NativeTools) bool { return n.WebSearch },
	Shows: map[string]Show{"query": showText, "max_results": showInteger},
	Run:   runSearch,
}

// Endpoint reads the address of a SearXNG server: of its search page, or of the
// server when it has no path. The error is a *[fault.Fault].
func Endpoint(address string) (*url.URL, error) {
	u, _, err := origin.ParseEndpoint(address)
	if err != nil {
		return nil, err
	}
	if u.Path == "" || u.Path == "/" {
		u.Path, u.RawPath = "/search", ""
	}
	return u, nil
}

func runSearch(ctx context.Context, w World, v argument.Values) (Outcome, error) {
	given, _ := v.Text("query")
	query := strings.Join(strings.Fields(plain.Text(given)), " ")
	switch {
	case query == "":
		return Outcome{}, fault.Invalid("query is empty")
	case utf8.RuneCountInString(query) > w.Limits.QueryRunes:
		return Outcome{}, fault.Invalid("query is too long")
	case w.Endpoint == nil:
		return Outcome{}, fault.Unavailable("no search server is configured")
	}
	address := *w.Endpoint
	values := address.Query()
	values.Set("q", query)
	values.Set("format", "json")
	address.RawQuery = values.Encode()
	r, err := w.Client.Do(ctx, fetch.Request{Method: http.MethodGet, URL: &address})
	switch {
	case err != nil:
		return Outcome{}, err
	case r.Status == http.StatusForbidden:
		return Outcome{}, fault.BadResponse("the search server refuses to answer in JSON: its format json must be enabled")
	case r.Status != http.StatusOK:
		return Outcome{}, fault.BadResponse(fmt.Sprintf("the search server answered with status %d", r.Status))
	}
	a, err := parseAnswer(r.Body)
	if err != nil {
		return Outcome{}, err
	}
	data, count := a.text(int(lower(w.Limits.SearchResults, v.Integer("max_results"))))
	label := "web search: " + plural(count, "result")
	if count == 0 && a.silent > 0 {
		label += fmt.Sprintf(", and %s did not answer", plural(a.silent, "search engine"))
	}
	return Outcome{label, data}, nil
}

// answer is what a search server said, as far as it can be used.
type answer struct {
	direct  []string
	results []result
	silent  int // engines that did not answer
}

type result struct{ title, link, snippet string }

// parseAnswer reads SearXNG's JSON. Each part is read on its own, so that one
// of another type does not cost the others.
func parseAnswer(body []byte) (answer, error) {
	var fields map[string]json.RawMessage
	var results []json.RawMessage
	if !utf8.Valid(body) || json.Unmarshal(body, &fields) != nil || fields["results"] == nil || json.Unmarshal(fields["results"], &results) != nil {
		return answer{}, fault.BadResponse("the search server did not answer with search results")
	}
	a := answer{silent: len(list(fields["unresponsive_engines"]))}
	for _, raw := range append(list(fields["answers"]), list(fields["infoboxes"])...) {
		if said := directAnswer(raw); said != "" && len(a.direct) < maxAnswers {
			a.direct = append(a.direct, plain.Line(said, snippetRunes))
		}
	}
	for _, raw := range results {
		if r, ok := parseResult(raw); ok {
			a.results = append(a.results, r)
		}
	}
	return a, nil
}

// list reads a list that may be missing or of another type.
func list(raw json.RawMessage) (items []json.RawMessage) {
	if json.Unmarshal(raw, &items) != nil {
		return nil
	}
	return items
}

// directAnswer reads an answer, which is a text or an object in different
// versions of SearXNG, or an infobox.
func directAnswer(raw json.RawMessage) string {
	fields := textFields(raw)
	if fields == nil {
		return stringOf(raw)
	}
	return strings.TrimSpace(fields["answer"] + " " + fields["content"])
}

// stringOf reads a text, "" when it is something else.
func stringOf(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// textFields are the texts of an object, nil when it is none.
func textFields(raw json.RawMessage) map[string]string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return nil
	}
	texts := map[string]string{}
	for name, value := range fields {
		texts[name] = stringOf(value)
	}
	return texts
}

// parseResult keeps a result with a link that can be followed.
func parseResult(raw json.RawMessage) (result, bool) {
	fields := textFields(raw)
	u, err := url.Parse(fields["url"])
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return result{}, false
	}
	link := u.String()
	if len(link) > linkBytes || strings.ContainsFunc(link, func(r rune) bool { return r <= ' ' || r > '~' }) {
		link = u.Scheme + "://" + plain.Line(strings.ToValidUTF8(u.Host, ""), titleRunes)
	}
	title := plain.Line(fields["title"], titleRunes)
	if title == "" {
		title = link
	}
	return result{title, link, plain.Line(fields["content"], snippetRunes)}, true
}

// text shows at most limit results.
func (a answer) text(limit int) (data string, count int) {
	var b strings.Builder
	for _, said := range a.direct {
		fmt.Fprintf(&b, "answer: %s\n", said)
	}
	count = min(limit, len(a.results))
	for i, r := range a.results[:count] {
		fmt.Fprintf(&b, "%d. %s\n   %s\n", i+1, r.title, r.link)
		if r.snippet != "" {
			fmt.Fprintf(&b, "   %s\n", r.snippet)
		}
	}
	return b.String(), count
}
