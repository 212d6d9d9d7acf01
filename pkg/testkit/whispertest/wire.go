// SPDX-License-Identifier: Apache-2.0

package whispertest

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"example.org/desktop-assistant/pkg/audio"
)

const maxRequest = 64 << 20 // bytes

// names are the languages this server knows, a few of the real one's; others
// fail the way that unknown ones do there.
var names = map[string]string{
	"en": "english", "it": "italian", "de": "german", "fr": "french", "es": "spanish",
	"pt": "portuguese", "nl": "dutch", "la": "latin", "ru": "russian", "ja": "japanese",
}

// read takes the form apart; false is what the real server calls an invalid
// request: no multipart form, no file, or a file it cannot decode.
func read(r *http.Request) (Request, bool) {
	req := Request{Form: map[string]string{}}
	parts, err := r.MultipartReader()
	if err != nil {
		return req, false
	}
	for left := int64(maxRequest); ; {
		part, err := parts.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return req, false
		}
		body, err := io.ReadAll(io.LimitReader(part, left))
		if err != nil {
			return req, false
		}
		left -= int64(len(body))
		if part.FormName() == "file" {
			req.WAV = body
		} else {
			req.Form[part.FormName()] = string(body)
		}
	}
	req.Samples, req.Rate, err = audio.DecodeWAV(req.WAV)
	return req, err == nil && len(req.Samples) > 0
}

// render writes the answer in the format that was asked for.
func render(req Request, a Answer) (status int, kind string, body []byte) {
	if a.Status != 0 {
		return a.Status, "text/plain", []byte(a.Body)
	}
	if a.Body != "" {
		return http.StatusOK, "application/json", []byte(a.Body)
	}
	segments := a.Segments
	if segments == nil && a.Text != "" {
		segments = []string{" " + strings.TrimSpace(a.Text)}
	}
	length := audio.Duration(len(req.Samples), req.Rate)
	if length.Milliseconds() < 100 {
		segments = nil
	}
	text := ""
	for _, s := range segments {
		text += s + "\n"
	}
	switch req.Form["response_format"] {
	case "text":
		return http.StatusOK, "text/html", []byte(text)
	case "verbose_json":
		return verbose(req, a, segments, text, length.Seconds())
	}
	return http.StatusOK, "application/json", marshal(map[string]any{"text": text})
}

// verbose writes verbose_json. An unknown language breaks the real server
// while it looks for the name.
func verbose(req Request, a Answer, segments []string, text string, seconds float64) (int, string, []byte) {
	asked, code := req.Form["language"], req.Form["language"]
	if asked == "auto" || asked == "" {
		if code = a.Language; code == "" {
			code = "en"
		}
	}
	name, known := names[code]
	if !known {
		return http.StatusInternalServerError, "text/plain",
			[]byte("500 Internal Server Error\nbasic_string: construction from null is not valid")
	}
	list := make([]map[string]any, 0, len(segments))
	for i, s := range segments {
		share := seconds / float64(len(segments))
		list = append(list, map[string]any{
			"id": i, "text": s, "start": share * float64(i), "end": share * float64(i+1),
			"tokens": []int{50364 + i}, "words": spoken(s, a.LogProb),
			"temperature": 0.0, "avg_logprob": a.LogProb, "no_speech_prob": 1.7e-15,
		})
	}
	answer := map[string]any{
		"task": "transcribe", "language": name, "duration": seconds, "text": text, "segments": list,
	}
	if req.Form["no_language_probabilities"] != "true" {
		answer["detected_language"], answer["detected_language_probability"] = name, 1.0
		answer["language_probabilities"] = map[string]float64{code: 1}
	}
	return http.StatusOK, "application/json", marshal(answer)
}

// spoken lists the words of a segment as the server does when it was told not
// to time them.
func spoken(segment string, logProb float64) []map[string]any {
	list := []map[string]any{}
	for _, word := range strings.Fields(segment) {
		list = append(list, map[string]any{"word": " " + word, "t_dtw": -1, "probability": math.Exp(logProb)})
	}
	return list
}

// cut promises the whole body, sends half of it and ends the connection.
func cut(w http.ResponseWriter, status int, body []byte) {
	conn, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	fmt.Fprintf(buffered, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %s\r\n\r\n",
		status, http.StatusText(status), w.Header().Get("Content-Type"), strconv.Itoa(len(body)))
	_, _ = buffered.Write(body[:len(body)/2])
	_ = buffered.Flush()
	_ = conn.Close()
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // strings and numbers only; a NaN log probability is the test's defect
		panic("whispertest: " + err.Error())
	}
	return b
}
