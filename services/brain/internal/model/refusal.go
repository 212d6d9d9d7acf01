// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"example.org/desktop-assistant/services/brain/internal/stream"
)

// pause is how long to wait before asking a loading or busy server again, when it
// does not say.
const pause = 2 * time.Second

// maxRetryAfter is the longest Retry-After that a person can be made to wait.
const maxRetryAfter = 10 * time.Second

// refusal reads an answer that is not a success.
func refusal(status int, header http.Header, body []byte) *Error {
	e := &Error{Status: status}
	f := stream.ParseFault(body)
	switch {
	case f != nil:
		e.Text = f.Error()
	case webPage(header.Get("Content-Type"), body):
		e.Text = "a web page instead of an answer" + pageTitle(body)
	default:
		e.Text = excerpt(body)
	}
	classify(e)
	if e.Retry == RetryLater {
		if s, err := strconv.Atoi(header.Get("Retry-After")); err == nil && s >= 0 {
			e.After = time.Duration(s) * time.Second
		}
		if e.After > maxRetryAfter {
			e.Retry = RetryNever
		}
	}
	return e
}

// classify fills kind, hint and retry from the status and the server's words.
// Words go first: servers give the same refusal with 400, 404 and 500.
func classify(e *Error) {
	defer func() {
		if e.Retry == RetryLater {
			e.After = pause
		}
	}()
	for _, s := range signs {
		if s.words.MatchString(e.Text) {
			e.Kind, e.Hint, e.Retry = s.kind, s.hint, s.retry
			return
		}
	}
	switch s := e.Status; {
	case s == http.StatusServiceUnavailable:
		e.Kind, e.Retry = KindLoading, RetryLater
		e.Hint = "wait until the chat server has loaded its model"
	case s == http.StatusTooManyRequests:
		e.Kind, e.Retry = KindBusy, RetryLater
		e.Hint = "wait a little and ask again"
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		e.Kind = KindUnauthorized
		e.Hint = "set api_key_env or api_key_file in [model] to a valid key"
	case s == http.StatusNotFound || s == http.StatusMethodNotAllowed:
		e.Kind = KindAddress
		e.Hint = `check llm in the configuration: the address usually ends in /v1`
	case s == http.StatusRequestEntityTooLarge:
		e.Kind, e.Retry = KindContextFull, RetryShorter
	case s >= 300 && s < 400:
		e.Kind = KindAddress
		e.Hint = "set llm in the configuration to the address the server redirects to"
	case s >= 400 && s < 500 && s != http.StatusRequestTimeout && s != http.StatusTooEarly:
		e.Kind = KindRefused
	default:
		e.Kind, e.Retry = KindServer, RetryAgain // a gateway, a template's parser, a model that wrote nonsense: often once only
	}
}

// signs are the refusals that need an answer of their own, by the words that the
// servers use for them.
var signs = []struct {
	words *regexp.Regexp
	kind  Kind
	retry Retry
	hint  string
}{
	{regexp.MustCompile(`(?i)exceed_context_size|context_length_exceeded|exceeds? (the )?(available |maximum )?context|maximum context length|context (size|length|window)` +
		`|(prompt|input)( \(.*\))? (is )?too (long|large)|prompt length|input (length|token count)\b.*exceeds|too (long|large) for (the )?(requested )?model` +
		`|max_seq_len|max_total_tokens|must be <= \d+\. given|maximum (allowed )?(input|number of) (length|tokens)|job requires \d+ pages` +
		`|reduce the (length|number) of (the )?(messages|prompt|tokens|input)`),
		KindContextFull, RetryShorter, "give the chat server a larger context (llama-server: -c), or lower history_messages in [model]"},
	{regexp.MustCompile(`(?i)content_filter|content (management )?policy|ResponsibleAIPolicy`),
		KindFiltered, RetryNever, ""},
	{regexp.MustCompile(`(?i)loading model|model\b.{0,80}\b(is|still) (currently |still )?(being )?load(ing|ed)|warming up`),
		KindLoading, RetryLater, "wait until the chat server has loaded its model"},
	{regexp.MustCompile(`(?i)requires? --jinja`),
		KindNoTools, RetryBare, "start llama-server with --jinja"},
	{regexp.MustCompile(`(?i)enable-auto-tool-choice`),
		KindNoTools, RetryBare, "start vLLM with --enable-auto-tool-choice and --tool-call-parser"},
	{regexp.MustCompile(`(?i)does not support (tools|function)`),
		KindNoTools, RetryBare, "choose a model that can use tools"},
	{regexp.MustCompile(`(?i)jinja|chat template|raise_exception`),
		KindRefused, RetryNever, "the chat template of the model does not take the conversation: try another one, or start a new session"},
	{regexp.MustCompile(`(?i)does not match the expected .*format`),
		KindServer, RetryAgain, ""},
	{regexp.MustCompile(`(?i)no models? (is |are )?(currently )?loaded`),
		KindAddress, RetryNever, "load a model in the chat server, or set name in [model] to one that it can load by itself"},
	{regexp.MustCompile(`(?i)overloaded|over capacity|high demand|resource.?exhausted|rate.?limit|too many requests|slots? (are )?(busy|unavailable)|server (is )?busy`),
		KindBusy, RetryLater, "wait a little and ask again"},
	{regexp.MustCompile(`(?i)model\b.*\b(not found|does not exist|not exist)|unknown model`),
		KindAddress, RetryNever, "check name in [model]: the server does not have this model"},
	{regexp.MustCompile(`(?i)(invalid|incorrect|missing|no) api[ _-]?key`),
		KindUnauthorized, RetryNever, "set api_key_env or api_key_file in [model] to a valid key"},
	{regexp.MustCompile(`(?i)HTTP request to an HTTPS server`),
		KindAddress, RetryNever, "set llm in the configuration to the same address with https"},
}

// reported is an error that came inside a stream.
func reported(f *stream.Fault) *Error {
	e := &Error{Text: f.Error(), Err: f}
	classify(e)
	return e
}

func webPage(contentType string, body []byte) bool {
	head := bytes.ToLower(bytes.TrimSpace(body[:min(len(body), 512)]))
	return strings.HasPrefix(strings.ToLower(contentType), "text/html") ||
		bytes.HasPrefix(head, []byte("<!doctype")) || bytes.HasPrefix(head, []byte("<html"))
}

var title = regexp.MustCompile(`(?is)<title>\s*([^<]{1,80}?)\s*</title>`)

func pageTitle(body []byte) string {
	if m := title.FindSubmatch(body); m != nil {
		return " (" + excerpt(m[1]) + ")"
	}
	return ""
}

// excerpt makes one short line of a body that is plain text.
func excerpt(body []byte) string {
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "?")), " ")
	if s == "" {
		return "no words"
	}
	if r := []rune(s); len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return s
}
