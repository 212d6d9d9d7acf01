// SPDX-License-Identifier: Apache-2.0

package chattest

import (
	"encoding/json"
	"net"
	"net/http"
	"slices"
)

// End is how the body of an exchange ends.
type End int

// The ends.
const (
	Close End = iota // properly
	Cut              // the chunked body breaks off and the connection closes
	Reset            // the connection is reset
	Stall            // nothing more comes, the connection stays open
)

// An Exchange answers one request.
type Exchange struct {
	Match       func(*Request) bool // nil takes any request
	Status      int                 // 0 is 200
	ContentType string              // "" is text/event-stream
	Header      http.Header         // more headers
	Pieces      []Piece             // written and flushed one by one
	End         End
}

// A Piece is one write of a body, or a wait.
type Piece struct {
	Bytes string
	Until <-chan struct{} // not nil: go on when it is closed
}

// Raw makes a piece of each string.
func Raw(parts ...string) []Piece {
	var pieces []Piece
	for _, p := range parts {
		pieces = append(pieces, Piece{Bytes: p})
	}
	return pieces
}

// Hold waits until the channel is closed or the client has gone.
func Hold(until <-chan struct{}) []Piece { return []Piece{{Until: until}} }

// Join puts pieces together.
func Join(parts ...[]Piece) []Piece { return slices.Concat(parts...) }

// Role is llama-server's first chunk: the role, with content null.
func Role() []Piece { return delta(map[string]any{"role": "assistant", "content": nil}, nil) }

// Text is one content delta for each word.
func Text(words ...string) []Piece {
	var pieces []Piece
	for _, w := range words {
		pieces = append(pieces, delta(map[string]any{"content": w}, nil)...)
	}
	return pieces
}

// CallDelta is a tool call as llama-server streams it: id and name first, then the
// arguments in the given pieces.
func CallDelta(index int, id, name string, arguments ...string) []Piece {
	pieces := callPiece(map[string]any{"index": index, "id": id, "type": "function",
		"function": map[string]any{"name": name, "arguments": ""}})
	for _, a := range arguments {
		pieces = append(pieces, callPiece(map[string]any{"index": index,
			"function": map[string]any{"arguments": a}})...)
	}
	return pieces
}

func callPiece(entry map[string]any) []Piece {
	return delta(map[string]any{"tool_calls": []any{entry}}, nil)
}

// Finish is the finish chunk, the usage chunk with timings, and [DONE].
func Finish(reason string) []Piece {
	usage := frame(map[string]any{
		"choices": []any{},
		"usage":   map[string]any{"prompt_tokens": 42, "completion_tokens": 7, "total_tokens": 49},
		"timings": map[string]any{"cache_n": 30, "prompt_n": 12, "prompt_ms": 20.5, "predicted_n": 7, "predicted_ms": 70.25},
	})
	return Join(delta(map[string]any{}, &reason), usage, Raw("data: [DONE]\n\n"))
}

func delta(d map[string]any, finish *string) []Piece {
	return frame(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": d, "finish_reason": finish}}})
}

func frame(v map[string]any) []Piece {
	v["id"], v["object"], v["created"], v["model"] = "chatcmpl-fixture", "chat.completion.chunk", 1760000000, "fixture.gguf"
	b, err := json.Marshal(v)
	if err != nil {
		panic("chattest: encode frame: " + err.Error()) // maps of plain values only
	}
	return Raw("data: " + string(b) + "\n\n")
}

// Say is a whole good answer, streamed word by word.
func Say(words ...string) Exchange {
	return Exchange{Pieces: Join(Role(), Text(words...), Finish("stop"))}
}

// CallTool is a whole answer with one tool call; the arguments come in pieces.
func CallTool(id, name string, arguments ...string) Exchange {
	return Exchange{Pieces: Join(Role(), CallDelta(0, id, name, arguments...), Finish("tool_calls"))}
}

// Fail is a refusal with a JSON body.
func Fail(status int, body string) Exchange {
	return Exchange{Status: status, ContentType: "application/json; charset=utf-8", Pieces: Raw(body)}
}

// Loading is what llama-server answers while it loads its model.
func Loading() Exchange {
	return Fail(http.StatusServiceUnavailable, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`)
}

// play writes the exchange. It returns false when the client went away first.
func (ex Exchange) play(w http.ResponseWriter, r *http.Request, stop <-chan struct{}) bool {
	for key, values := range ex.Header {
		w.Header()[key] = values
	}
	contentType := ex.ContentType
	if contentType == "" {
		contentType = "text/event-stream"
	}
	w.Header().Set("Content-Type", contentType)
	status := ex.Status
	if status == 0 {
		status = http.StatusOK
	}
	w.WriteHeader(status)
	control := http.NewResponseController(w)
	if control.Flush() != nil {
		return false
	}
	for _, p := range ex.Pieces {
		if p.Until != nil && !wait(r, p.Until, stop) {
			return false
		}
		if _, err := w.Write([]byte(p.Bytes)); err != nil || control.Flush() != nil {
			return false
		}
	}
	switch ex.End {
	case Cut:
		panic(http.ErrAbortHandler) // the documented way to break a body off
	case Reset:
		reset(control)
	case Stall:
		return wait(r, nil, stop)
	}
	return true
}

// wait returns false when the client went away, true at until or stop.
func wait(r *http.Request, until, stop <-chan struct{}) bool {
	select {
	case <-until:
	case <-stop:
	case <-r.Context().Done():
		select {
		case <-stop:
		default:
			return false
		}
	}
	return true
}

// reset closes the connection so that the peer gets a TCP reset.
func reset(control *http.ResponseController) {
	conn, _, err := control.Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // on failure the close below is a plain cut
	}
	_ = conn.Close()
}
