// SPDX-License-Identifier: Apache-2.0

package whispertest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"example.org/desktop-assistant/pkg/audio"
	"example.org/desktop-assistant/pkg/testkit/whispertest"
)

// post sends fields (name, value in turn) and the file when it is not nil.
func post(t *testing.T, url string, file []byte, fields ...string) (int, string, string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(fields); i += 2 {
		_ = w.WriteField(fields[i], fields[i+1])
	}
	if file != nil {
		part, _ := w.CreateFormFile("file", "")
		_, _ = part.Write(file)
	}
	_ = w.Close()
	resp, err := http.Post(url, w.FormDataContentType(), &b)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Content-Type"), string(body)
}

func TestFormats(t *testing.T) {
	second := audio.EncodeWAV(make([]int16, 16000), 16000)
	s := whispertest.New(t, func(whispertest.Request) whispertest.Answer {
		return whispertest.Answer{Segments: []string{" Hello wor", "ld."}, Language: "de"}
	})
	for format, want := range map[string]string{
		"":     "{\"text\":\" Hello wor\\nld.\\n\"}",
		"json": "{\"text\":\" Hello wor\\nld.\\n\"}",
		"text": " Hello wor\nld.\n",
	} {
		if status, _, body := post(t, s.URL+"/inference", second, "response_format", format); status != 200 || body != want {
			t.Errorf("format %q: %d %q", format, status, body)
		}
	}
	status, kind, body := post(t, s.URL+"/inference", second, "response_format", "verbose_json", "language", "auto")
	var got struct {
		Text, Language string
		Detected       string `json:"detected_language"`
		Duration       float64
		Segments       []struct{ Text string }
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 || kind != "application/json" {
		t.Fatalf("%d %s %v", status, kind, err)
	}
	if got.Text != " Hello wor\nld.\n" || got.Language != "german" || got.Detected != "german" || got.Duration != 1 || len(got.Segments) != 2 {
		t.Errorf("%+v", got)
	}
}

func TestRefusals(t *testing.T) {
	s := whispertest.New(t, whispertest.Hearing(func([]byte) string { return "hello" }))
	second := audio.EncodeWAV(make([]int16, 16000), 16000)
	moment := audio.EncodeWAV(make([]int16, 800), 16000)
	for name, c := range map[string]struct {
		path   string
		file   []byte
		fields []string
		status int
		body   string
	}{
		"no file":          {"/inference", nil, nil, 400, "Invalid request"},
		"no WAV":           {"/inference", []byte("OggS"), nil, 400, "Invalid request"},
		"no samples":       {"/inference", audio.EncodeWAV(nil, 16000), nil, 400, "Invalid request"},
		"unknown path":     {"/v1/x", second, nil, 404, "File Not Found (/v1/x)"},
		"unknown language": {"/inference", second, []string{"response_format", "verbose_json", "language", "xx"}, 500, "construction from null"},
		"under 100 ms":     {"/inference", moment, nil, 200, `{"text":""}`},
		"heard":            {"/inference", second, nil, 200, `{"text":" hello\n"}`},
	} {
		if status, _, body := post(t, s.URL+c.path, c.file, c.fields...); status != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s: %d %q", name, status, body)
		}
	}
	resp, err := http.Post(s.URL+"/inference", "audio/wav", bytes.NewReader(second))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 400 {
		t.Errorf("raw body: %d", resp.StatusCode)
	}
}
