// SPDX-License-Identifier: Apache-2.0

// Package adapter speaks the line protocol of the native-tools case set: JSON
// lines that start the built-in tools, call them and choose their workspace.
package adapter

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/toolrunner/internal/native"
	"example.org/desktop-assistant/services/toolrunner/internal/native/engine"
	"example.org/desktop-assistant/services/toolrunner/internal/native/fault"
	"example.org/desktop-assistant/services/toolrunner/internal/native/workspace"
)

// maxLine holds the largest arguments of the set many times over.
const maxLine = 64 << 20

type request struct {
	Op        string   `json:"op"`
	DataDir   string   `json:"data_dir"`
	Config    settings `json:"config"`
	Route     string   `json:"route"`
	Tool      string   `json:"tool"`
	Arguments string   `json:"arguments"`
	Path      string   `json:"path"`
}

// settings are the configuration as the case set writes it.
type settings struct {
	Enabled      []string `json:"enabled"`
	Workspace    *string  `json:"workspace"`
	CallsPerTurn int      `json:"calls_per_turn"`
	HTTP         struct {
		AllowedOrigins   []string `json:"allowed_origins"`
		AllowedMethods   []string `json:"allowed_methods"`
		MaxRequestBytes  int      `json:"max_request_bytes"`
		MaxResponseBytes int      `json:"max_response_bytes"`
		TimeoutMS        int      `json:"timeout_ms"`
	} `json:"http"`
	Search struct {
		Endpoint string `json:"endpoint"`
	} `json:"search"`
	ReadFile struct {
		MaxBytes int `json:"max_bytes"`
		MaxLines int `json:"max_lines"`
	} `json:"read_file"`
}

type answer struct {
	OK    bool      `json:"ok"`
	Kind  string    `json:"error_kind,omitempty"`
	Text  string    `json:"text,omitempty"`
	Tools *[]string `json:"tools,omitempty"`
}

func refuse(err error) answer {
	f := fault.Of(err)
	return answer{Kind: f.Kind, Text: "error: " + f.Text}
}

// Main is [Serve] with a log on errs, as a program; it gives the exit status.
func Main(ctx context.Context, in io.Reader, out, errs io.Writer) int {
	if err := Serve(ctx, in, out); err != nil {
		slog.New(slog.NewTextHandler(errs, nil)).Error("serve requests", "error", err)
		return 1
	}
	return 0
}

// Serve answers each line of in but cancel with one line on out, in order,
// until in ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	d := &desk{turn: rand.Text(), cancel: make(chan struct{}, 1)}
	defer d.close()
	lines := make(chan request)
	var reading sync.WaitGroup
	var readErr error
	reading.Go(func() {
		defer close(lines)
		readErr = d.read(in, lines)
	})
	answers := json.NewEncoder(out)
	var writeErr error
	for q := range lines {
		if err := answers.Encode(d.answer(ctx, q)); err != nil && writeErr == nil {
			writeErr = fmt.Errorf("write answer: %w", err)
		}
	}
	reading.Wait()
	if readErr != nil {
		return readErr
	}
	return writeErr
}

// desk is the state between two lines.
type desk struct {
	sources  native.Sources
	timeout  time.Duration
	methods  []string
	route    string
	external bool
	turn     string
	tools    *native.Tools
	engine   *engine.Engine
	cancel   chan struct{} // one token: the call that runs is cancelled
}

// read hands on all lines but cancel, which it acts on at once.
func (d *desk) read(in io.Reader, lines chan<- request) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxLine)
	for scanner.Scan() {
		var q request
		if err := json.Unmarshal(scanner.Bytes(), &q); err != nil {
			q.Op = "unreadable"
		}
		if q.Op != "cancel" {
			lines <- q
			continue
		}
		select {
		case d.cancel <- struct{}{}:
		default:
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	return nil
}

func (d *desk) answer(ctx context.Context, q request) answer {
	if d.tools == nil && q.Op != "start" {
		return answer{Kind: proto.KindUnavailable, Text: "error: not started"}
	}
	switch q.Op {
	case "start":
		return d.start(q)
	case "tools":
		offered := append([]string{}, d.tools.Offered(d.external)...)
		return answer{OK: true, Tools: &offered}
	case "call":
		return d.call(ctx, q)
	case "new_turn":
		d.turn = rand.Text()
		return answer{OK: true}
	case "set_workspace":
		if err := workspace.Save(d.sources.Data, q.Path); err != nil {
			return refuse(err)
		}
		d.sources.Config.Workspace, d.sources.Workspace = "", "" // what was saved holds now
		if err := d.load(); err != nil {
			return refuse(err)
		}
		return answer{OK: true}
	}
	return answer{Kind: proto.KindInvalidArguments, Text: "error: unknown op"}
}

func (d *desk) start(q request) answer {
	n := config.Default().NativeTools
	for name, on := range map[string]*bool{
		"list_directory": &n.ListDirectory, "read_file": &n.ReadFile, "web_search": &n.WebSearch,
		"http_request": &n.HTTPRequest, "fetch_text": &n.FetchText, "fetch_json": &n.FetchJSON,
	} {
		*on = slices.Contains(q.Config.Enabled, name)
	}
	d.external = q.Route == config.RouteExternal
	n.External = d.external
	n.CallLimit = q.Config.CallsPerTurn
	if q.Config.Workspace != nil {
		n.Workspace = *q.Config.Workspace
	}
	n.AllowedOrigins = q.Config.HTTP.AllowedOrigins
	n.SearchEndpoint = q.Config.Search.Endpoint
	n.Limits.RequestBytes, n.Limits.ResponseBytes = q.Config.HTTP.MaxRequestBytes, q.Config.HTTP.MaxResponseBytes
	n.Limits.ReadBytes, n.Limits.ReadLines = q.Config.ReadFile.MaxBytes, q.Config.ReadFile.MaxLines
	d.sources = native.Environment(n, q.DataDir)
	d.timeout = time.Duration(q.Config.HTTP.TimeoutMS) * time.Millisecond
	d.methods = q.Config.HTTP.AllowedMethods
	d.route = q.Route
	if err := d.load(); err != nil {
		return refuse(err)
	}
	return answer{OK: true}
}

// load makes the tools anew from the sources.
func (d *desk) load() error {
	plan, err := native.NewPlan(d.sources)
	if err != nil {
		return err
	}
	// The set lets them be lowered, the configuration of the assistant does not.
	plan.Methods = slices.DeleteFunc(engine.Methods(), func(m string) bool { return !slices.Contains(d.methods, m) })
	if d.timeout > 0 {
		plan.Timeout = min(plan.Timeout, d.timeout)
	}
	e, err := engine.New(plan.Settings, nil)
	if err != nil {
		return err
	}
	_ = e.Open() // a call says that it cannot be opened
	if d.tools == nil {
		d.tools = native.New(plan, e)
	} else {
		d.tools.Replace(plan, e)
	}
	d.close()
	d.engine = e
	return nil
}

func (d *desk) close() {
	if d.engine != nil {
		_ = d.engine.Close() // it was only read
	}
}

func (d *desk) call(ctx context.Context, q request) answer {
	select {
	case <-d.cancel: // of a call that was over
	default:
	}
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	waiting.Go(func() {
		select {
		case <-d.cancel:
			cancel()
		case <-ctx.Done():
		}
	})
	head := proto.ToolCall{Turn: d.turn, Route: d.route}
	r := d.tools.Call(ctx, q.Tool, head, []byte(q.Arguments))
	if r.Kind == proto.KindUnconfirmed { // nobody can be asked here
		r.Kind = proto.KindNotAllowed
	}
	return answer{OK: r.OK, Kind: r.Kind, Text: r.Text}
}

// Stdio runs [Main] on the standard files of the process.
func Stdio(ctx context.Context) int { return Main(ctx, os.Stdin, os.Stdout, os.Stderr) }
