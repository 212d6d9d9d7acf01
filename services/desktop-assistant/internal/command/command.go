// SPDX-License-Identifier: Apache-2.0

// Package command is the command line of the assistant: one file a group of
// verbs.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/pkg/config"
	"example.org/desktop-assistant/pkg/daemon"
	"example.org/desktop-assistant/pkg/xdg"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/shelf"
	"example.org/desktop-assistant/services/desktop-assistant/internal/usage"
)

// Exit codes. 64 to 78 are those of sysexits.h.
const (
	ExitFailed      = 1   // the turn or the tool failed
	ExitUsage       = 64  // unknown verb, flag or argument
	ExitInvalid     = 65  // the request was understood by nobody
	ExitUnavailable = 69  // the assistant, or the part that is needed, does not run
	ExitTimeout     = 75  // no answer in time
	ExitDenied      = 77  // not allowed, such as listening while muted
	ExitConfig      = 78  // the configuration cannot be used
	ExitInterrupted = 130 // Ctrl-C
)

// Streams are where a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// app carries what every verb needs.
type app struct {
	Streams
	configPath string
	json       bool
	watchEvery time.Duration // how often a follower looks whether who works for it still lives
}

func newApp(s Streams) *app { return &app{Streams: s, watchEvery: 2 * time.Second} }

// Main runs the command line and gives the exit code.
func Main(ctx context.Context, args []string, s Streams) int { return newApp(s).main(ctx, args) }

func (a *app) main(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var quiet quietError
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, &proto.Error{Code: proto.CodeCancelled})):
		return ExitInterrupted
	case !errors.As(err, &quiet):
		daemon.Explain(a.Err, prefixOf(err), err)
	}
	return exitCode(err)
}

// prefixOf names the program in front of an error that does not name a file.
func prefixOf(err error) string {
	if len(config.Faults(err)) > 0 {
		return ""
	}
	return "desktop-assistant: "
}

// quietError only sets the exit code: everything was printed already.
type quietError struct{ code int }

func (q quietError) Error() string { return fmt.Sprintf("exit status %d", q.code) }

func exitCode(err error) int {
	var quiet quietError
	var wrong usage.Error
	var e *proto.Error
	switch {
	case errors.As(err, &quiet):
		return quiet.code
	case errors.As(err, &wrong):
		return ExitUsage
	case len(config.Faults(err)) > 0:
		return ExitConfig
	case errors.As(err, &e):
		return codeExit(e.Code)
	}
	return ExitFailed
}

func codeExit(c proto.Code) int {
	switch c {
	case proto.CodeInvalid, proto.CodeNotFound:
		return ExitInvalid
	case proto.CodeUnavailable, proto.CodeDisconnected:
		return ExitUnavailable
	case proto.CodeTimeout:
		return ExitTimeout
	case proto.CodeDenied:
		return ExitDenied
	}
	return ExitFailed
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "desktop-assistant",
		Short: "A voice assistant for the Linux desktop: local, fast, never silent",
		Long: `A voice assistant for the Linux desktop.

Start it with "desktop-assistant run", then ask: "desktop-assistant ask 'what time is it'".

Exit status: 0 done; 1 failed; 64 wrong usage; 65 not understood; 69 not running;
75 no answer in time; 77 not allowed; 78 faulty configuration; 130 interrupted.`,
		SilenceErrors: true, SilenceUsage: true,
		Version: daemon.Version,
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetVersionTemplate("desktop-assistant {{.Version}}\n")
	root.SetFlagErrorFunc(usage.Flags)
	root.PersistentFlags().StringVar(&a.configPath, "config", "", "configuration `file` (default: see config path)")
	root.AddCommand(a.runCommand(), a.askCommand(), a.sayCommand(), a.listenCommand(), a.stopCommand(),
		a.muteCommand(), a.voiceCommand(), a.eventsCommand(), a.statusCommand(), a.toolCommand(), a.skillCommand(), a.configCommand(), a.versionCommand())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	usage.Strict(root)
	return root
}

func (a *app) jsonFlag(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return c
}

func (a *app) config() (config.Config, error) { return config.Load(a.configPath) }

// dial connects to the running assistant.
func (a *app) dial(ctx context.Context) (*bus.Conn, config.Config, error) {
	cfg, err := a.config()
	if err != nil {
		return nil, cfg, err
	}
	dir, err := xdg.Runtime()
	if err != nil {
		return nil, cfg, err
	}
	conn := bus.New(bus.Options{
		Service: "cli", Version: daemon.Version, Device: cfg.Bus.Device, Dir: dir,
		URL: cfg.Bus.URL, Creds: cfg.Bus.Creds, CA: cfg.Bus.CA, Log: a.log(),
	})
	if err := conn.Dial(ctx); err != nil {
		return nil, cfg, err
	}
	return conn, cfg, nil
}

func (a *app) skillCommand() *cobra.Command {
	return shelf.Command(func(ctx context.Context) (*bus.Conn, error) {
		conn, _, err := a.dial(ctx)
		return conn, err
	}, a.Out)
}

// log is for what goes wrong on the bus; a command prints its own errors.
func (a *app) log() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: slog.LevelError}))
}

func (a *app) versionCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use: "version", Short: "Print the version", Args: usage.Args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.printJSON(map[string]string{"version": daemon.Version})
			}
			_, err := fmt.Fprintln(a.Out, "desktop-assistant", daemon.Version)
			return err
		},
	})
}

// printJSON writes one line.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.Out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
