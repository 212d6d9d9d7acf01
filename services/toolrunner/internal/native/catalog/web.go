// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/services/toolrunner/internal/native/argument"
	"example.org/desktop-assistant/services/toolrunner/internal/native/fault"
	"example.org/desktop-assistant/services/toolrunner/internal/native/fetch"
	"example.org/desktop-assistant/services/toolrunner/internal/native/origin"
	"example.org/desktop-assistant/services/toolrunner/internal/native/plain"
)

const headerRunes = 200 // of a response header's value

var urlParam = argument.Param{Name: "url", Required: true, Description: "Whole web address, of an origin that the user allowed"}

var fetchText = Record{
	Name:        "fetch_text",
	Description: "Get a page or a text from the web. Only sites that the user allowed can be reached.",
	Params:      []argument.Param{urlParam},
	On:          func(n config.NativeTools) bool { return n.FetchText },
	Asks:        asksByURL,
	Shows:       map[string]Show{"url": showURL},
	Run: func(ctx context.Context, w World, v argument.Values) (Outcome, error) {
		r, o, err := w.get(ctx, v)
		if err != nil {
			return Outcome{}, err
		}
		text, err := r.Text()
		if err != nil {
			return Outcome{}, err
		}
		return Outcome{fmt.Sprintf("text from %s: %s", o, plural(len(r.Body), "byte")), plain.Text(text)}, nil
	},
}

var fetchJSON = Record{
	Name:        "fetch_json",
	Description: "Get JSON from the web. Only sites that the user allowed can be reached.",
	Params:      []argument.Param{urlParam},
	On:          func(n config.NativeTools) bool { return n.FetchJSON },
	Asks:        asksByURL,
	Shows:       map[string]Show{"url": showURL},
	Run: func(ctx context.Context, w World, v argument.Values) (Outcome, error) {
		r, o, err := w.get(ctx, v)
		if err != nil {
			return Outcome{}, err
		}
		// json.Valid takes bytes that are no UTF-8 for a string.
		if !utf8.Valid(r.Body) || !json.Valid(r.Body) {
			return Outcome{}, fault.BadResponse("the answer is not valid JSON")
		}
		return Outcome{fmt.Sprintf("JSON from %s: %s", o, plural(len(r.Body), "byte")), string(r.Body)}, nil
	},
}

// plainURL is how many bytes an address may have that carries nothing away:
// those of articles and documents are shorter.
const plainURL = 200

// asksByURL says whether a GET could carry data away: in its query, or because
// it is so long.
func asksByURL(v argument.Values) (carries, body bool) {
	address, _ := v.Text("url")
	return strings.Contains(address, "?") || len(address) > plainURL, false
}

// get asks for an address and wants an answer with what was asked for.
func (w World) get(ctx context.Context, v argument.Values) (fetch.Response, origin.Origin, error) {
	address, err := text(v, "url")
	if err != nil {
		return fetch.Response{}, origin.Origin{}, err
	}
	u, o, err := w.Origins.ParseURL(address)
	if err != nil {
		return fetch.Response{}, o, err
	}
	r, err := w.Client.Do(ctx, fetch.Request{Method: http.MethodGet, URL: u})
	if err == nil && (r.Status < 200 || r.Status > 299) {
		err = fault.BadResponse(fmt.Sprintf("the server answered with status %d", r.Status))
	}
	return r, o, err
}

var httpRequest = Record{
	Name: "http_request",
	Description: "Send an HTTP request and get status, some headers and the text of the answer, also when the status is an error. " +
		"Only sites that the user allowed can be reached.",
	Params: []argument.Param{
		{Name: "method", Required: true, Description: "GET or POST"},
		urlParam,
		{Name: "headers", Type: argument.Texts, Description: "Accept, Accept-Language or Content-Type"},
		{Name: "body", Description: "What to send, with POST only"},
	},
	On: func(n config.NativeTools) bool { return n.HTTPRequest },
	Asks: func(v argument.Values) (carries, body bool) {
		address, _ := asksByURL(v)
		content, _ := v.Text("body")
		return address || content != "" || len(v.Texts("headers")) > 0, content != ""
	},
	Shows: map[string]Show{"method": showText, "url": showURL, "headers": showNames, "body": showSize},
	Run:   runRequest,
}

func runRequest(ctx context.Context, w World, v argument.Values) (Outcome, error) {
	address, err := text(v, "url")
	if err != nil {
		return Outcome{}, err
	}
	u, o, err := w.Origins.ParseURL(address)
	if err != nil {
		return Outcome{}, err
	}
	method, _ := v.Text("method")
	body, _ := v.Text("body")
	r, err := w.Client.Do(ctx, fetch.Request{Method: method, URL: u, Header: v.Texts("headers"), Body: []byte(body)})
	if err != nil {
		return Outcome{}, err
	}
	content, err := r.Text()
	if err != nil {
		return Outcome{}, err
	}
	var b strings.Builder
	for _, name := range fetch.Shown {
		if value := r.Header.Get(name); value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, plain.Line(value, headerRunes))
		}
	}
	if content != "" {
		b.WriteString("\n" + plain.Text(content))
	}
	return Outcome{fmt.Sprintf("answer of %s to %s: status %d, %s", o, method, r.Status, plural(len(r.Body), "byte")), b.String()}, nil
}
