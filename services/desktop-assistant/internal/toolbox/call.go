// SPDX-License-Identifier: Apache-2.0

package toolbox

import (
	"context"
	"errors"
	"sync"
	"time"

	"example.org/desktop-assistant/pkg/bus"
	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/health"
)

// Call runs a tool through the running toolrunner, whose business the timeout
// is, and waits for the result until ctx ends or that toolrunner is gone. A
// result that is not ok is a result; an error is a [*proto.Error]. Every so
// often it looks whether toolrunner is there: two looks in vain end the wait.
func Call(ctx context.Context, conn *bus.Conn, every time.Duration, name string, call proto.ToolCall, arguments []byte) (proto.ToolResult, error) {
	asking, cancel := context.WithTimeout(ctx, health.Limit)
	defer cancel()
	status, err := bus.Request(asking, conn, proto.StatusOf{Daemon: daemon})
	if err != nil {
		return proto.ToolResult{}, err
	}
	calling, end := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer end(nil)
	watching.Go(func() { end(outlive(calling, conn, status.Instance, every)) })
	result, err := conn.CallTool(calling, name, call, arguments)
	var gone *proto.Error
	if err != nil && errors.As(context.Cause(calling), &gone) {
		return result, gone
	}
	return result, err
}

const daemon = "toolrunner"

// outlive waits until the instance of toolrunner is gone and gives the error
// for that, or nil at the end of ctx.
func outlive(ctx context.Context, conn *bus.Conn, instance string, every time.Duration) error {
	look := time.NewTicker(every)
	defer look.Stop()
	for missed := 0; missed < 2; {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
		limit, cancel := context.WithTimeout(ctx, health.Limit)
		missed++
		if conn.Alive(limit, daemon, instance) {
			missed = 0
		}
		cancel()
	}
	if ctx.Err() != nil {
		return nil
	}
	return proto.Errorf(proto.CodeUnavailable, "tool run", "toolrunner is gone, and the call with it").
		WithHint("see what runs: desktop-assistant status")
}
