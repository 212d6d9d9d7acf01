// SPDX-License-Identifier: Apache-2.0

// Package adapter answers the line protocol by which recorded chat-completion
// streams are run against the client in package model: one JSON object a line
// in, one out, one model round each.
package adapter

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/services/brain/internal/model"
)

type request struct {
	Op      string `json:"op"` // only "round"
	BaseURL string `json:"base_url"`
	User    string `json:"user"`
	Tools   []struct {
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	IdleMS  int64 `json:"idle_timeout_ms"`
	TotalMS int64 `json:"total_timeout_ms"`
}

type response struct {
	Content string  `json:"content"`
	Calls   []call  `json:"calls"`
	Error   *string `json:"error"` // "kind:NAME words"
}

type call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments any    `json:"arguments"` // the object, or the raw text when undecodable
	Run       bool   `json:"run"`
}

// kinds gives each kind of error the name that the recorded cases use.
var kinds = map[model.Kind]string{
	model.KindUnreachable: "server", model.KindLoading: "loading", model.KindUntrusted: "config", model.KindAddress: "config", model.KindUnauthorized: "config",
	model.KindRefused: "config", model.KindNoTools: "config", model.KindContextFull: "context",
	model.KindBusy: "server", model.KindServer: "server", model.KindStalled: "timeout",
	model.KindInterrupted: "interrupted", model.KindEmpty: "empty", model.KindTruncated: "truncated",
	model.KindFiltered: "filtered", model.KindLeak: "leak", model.KindBadStream: "protocol",
	model.KindCancelled: "interrupted",
}

// maxLine is the longest request line in bytes.
const maxLine = 4 << 20

// Main serves standard input and output until the input ends or a signal comes.
// It returns the exit status.
func Main(in io.Reader, out, errs io.Writer) int {
	ctx, stop := daemon.Interruptible()
	defer stop()
	log := slog.New(slog.NewTextHandler(errs, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if err := Serve(ctx, in, out, log); err != nil {
		daemon.Explain(errs, "llm-streams", err)
		return 1
	}
	return 0
}

// Serve answers the lines of in on out until in ends or ctx does.
func Serve(ctx context.Context, in io.Reader, out io.Writer, log *slog.Logger) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for ctx.Err() == nil && lines.Scan() {
		if err := enc.Encode(answer(ctx, lines.Bytes(), log)); err != nil {
			return fmt.Errorf("write answer: %w", err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	return nil
}

func answer(ctx context.Context, line []byte, log *slog.Logger) response {
	var req request
	if err := json.Unmarshal(line, &req); err != nil {
		return failed("kind:protocol decode request: " + err.Error())
	}
	if req.Op != "round" {
		return failed(fmt.Sprintf("kind:protocol unknown op %q", req.Op))
	}
	idle := time.Duration(req.IdleMS) * time.Millisecond
	client, err := model.New(model.Options{BaseURL: req.BaseURL, Log: log, Timeouts: model.Timeouts{
		Connect: idle, FirstToken: idle, Idle: idle, Total: time.Duration(req.TotalMS) * time.Millisecond,
	}})
	if err != nil {
		return failed(words(err))
	}
	defer client.Close()
	chat := model.Request{Messages: []model.Message{{Role: model.RoleUser, Content: req.User}}}
	for _, t := range req.Tools {
		chat.Tools = append(chat.Tools, model.Tool{
			Name: t.Function.Name, Description: t.Function.Description, Parameters: t.Function.Parameters})
	}
	var said strings.Builder
	reply, err := client.Chat(ctx, chat, func(text string) { said.WriteString(text) })
	resp := response{Content: said.String(), Calls: []call{}}
	for _, c := range reply.Calls {
		resp.Calls = append(resp.Calls, call{ID: c.ID, Name: c.Name, Arguments: arguments(c), Run: c.Problem == ""})
	}
	if err != nil {
		text := words(err)
		resp.Error = &text
	}
	return resp
}

// arguments shows what a call would run with, or what the model wrote when that
// is no object.
func arguments(c model.Call) any {
	if c.Decoded {
		return c.Arguments
	}
	return c.Raw
}

func failed(text string) response { return response{Calls: []call{}, Error: &text} }

func words(err error) string {
	kind := "protocol"
	var e *model.Error
	if errors.As(err, &e) {
		kind = kinds[e.Kind]
	}
	return "kind:" + kind + " " + err.Error()
}
