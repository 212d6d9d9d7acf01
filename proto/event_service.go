// SPDX-License-Identifier: Apache-2.0

package proto

import "encoding/json"

// Problem is something wrong with a daemon that a person can mend.
type Problem struct {
	What string `json:"what"`
	Hint string `json:"hint,omitempty"` // what to type or do
}

// ServiceState is the whole list of a daemon's current problems, published at
// each change; an empty list means that all is well.
type ServiceState struct {
	past
	Service  string    `json:"service"`
	Problems []Problem `json:"problems"`
}

// EventType is "service.state".
func (ServiceState) EventType() string { return "service.state" }

// BusStopping is the last event before the bus goes.
type BusStopping struct {
	past
}

// EventType is "bus.stopping".
func (BusStopping) EventType() string { return "bus.stopping" }

// ToolCalled says that a call was received by toolrunner, or made up by the
// model and never run.
type ToolCalled struct {
	past
	Call      string          `json:"call"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // as the model wrote them; a JSON string when they are not JSON
}

// EventType is "tool.called".
func (ToolCalled) EventType() string { return "tool.called" }

// ToolFinished is the end of a call.
type ToolFinished struct {
	past
	ToolResult
	Name string `json:"name"`
}

// EventType is "tool.finished".
func (ToolFinished) EventType() string { return "tool.finished" }

// ToolChanged says that the list of tools has a new revision.
type ToolChanged struct {
	past
	Revision int `json:"revision"`
}

// EventType is "tool.changed".
func (ToolChanged) EventType() string { return "tool.changed" }
