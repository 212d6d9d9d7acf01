// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/speech"
	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/proto"
)

// chunks cuts an answer of so many sentences behind each byte that makes one of
// them certain.
func chunks(sentences int) []string {
	s := speech.NewSplitter("en")
	var list []string
	var chunk []byte
	for n := 0; len(list) < sentences; n++ {
		for _, b := range []byte(fmt.Sprintf("This is the sentence of the answer with number %d. ", n)) {
			chunk = append(chunk, b)
			if len(s.Push(string(b))) > 0 && len(list) < sentences {
				list, chunk = append(list, string(chunk)), nil
			}
		}
	}
	return list
}

// paced is a chat server that sends what comes over a channel, as a stream.
func paced(tb testing.TB, pieces <-chan string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/chat/completions" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"data":[{"id":"m"}]}`))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for piece := range pieces {
			text, _ := json.Marshal(piece)
			if piece == "" {
				_, _ = w.Write([]byte("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"))
				return
			}
			_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", text)
			w.(http.Flusher).Flush()
		}
	}))
	tb.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL + "/v1"
}

// From the byte that completes a sentence, as the chat server sends it, to the
// sentence at another client of the bus; the pause between is that of a quick
// model.
func BenchmarkSentenceLatency(b *testing.B) {
	pieces := make(chan string)
	r := rigOn(b, bustest.New(b), paced(b, pieces))
	r.ttsd(false)
	sentences := make(chan time.Time, 16)
	listener := r.bus.Connect("screen")
	_, err := listener.Events(b.Context(), "local", bus.Fail(1024, func() { b.Error("events lost") }), func(_ context.Context, _ proto.Envelope, ev proto.Event) {
		if _, ok := ev.(proto.TurnSentence); ok {
			sentences <- time.Now()
		}
	}, "turn")
	if err == nil {
		err = listener.Flush(b.Context())
	}
	if err != nil {
		b.Fatal(err)
	}
	r.start()
	const perTurn = 500
	answer := chunks(perTurn)
	var took []time.Duration
	pause := time.NewTicker(3 * time.Millisecond)
	defer pause.Stop()
	for i := 0; b.Loop(); i++ {
		if i%perTurn == 0 {
			r.ask("tell me")
		}
		<-pause.C
		start := time.Now()
		pieces <- answer[i%perTurn]
		took = append(took, (<-sentences).Sub(start))
		if i%perTurn == perTurn-1 {
			pieces <- ""
		}
	}
	close(pieces)
	slices.Sort(took)
	at := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))].Microseconds()) / 1000 }
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.95), "p95-ms")
	b.ReportMetric(at(0.99), "p99-ms")
	b.ReportMetric(0, "ns/op")
}
