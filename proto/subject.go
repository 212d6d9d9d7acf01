// SPDX-License-Identifier: Apache-2.0

package proto

import "strings"

// The roots of all subjects. Nothing outside this file spells a subject.
const (
	rootAudio      = "da.audio."
	rootEvent      = "da.evt."
	rootLive       = "da.live."
	rootCommand    = "da.cmd."
	rootToolRun    = "da.tool.run."
	rootToolCancel = "da.tool.cancel."
)

// DefaultDevice is the device token of a machine that was given no name.
const DefaultDevice = "local"

// Any is the wildcard for one token: a device, an area or a name.
const Any = "*"

// AudioIn is the subject of one microphone stream: begin, data and end of a
// stream travel on this one subject, since two subscriptions have no order.
func AudioIn(dev, stream string) string { return rootAudio + dev + ".in." + stream }

// StreamOfAudio gives the device and the stream of a subject made by [AudioIn].
func StreamOfAudio(subject string) (dev, stream string, ok bool) {
	tail, audio := strings.CutPrefix(subject, rootAudio)
	dev, stream, in := strings.Cut(tail, ".in.")
	return dev, stream, audio && in
}

// EventSubject is where an event of the given type ("stt.final") is published.
func EventSubject(dev, typ string) string { return rootEvent + dev + "." + typ }

// LiveSubject is where a lossy event for screens is published.
func LiveSubject(dev, typ string) string { return rootLive + dev + "." + typ }

// AreaOfEvent gives the area, such as "speech", of a subject made by
// [EventSubject]; ok is false for another subject.
func AreaOfEvent(subject string) (area string, ok bool) {
	tail, event := strings.CutPrefix(subject, rootEvent)
	_, typ, _ := strings.Cut(tail, ".")
	area, _, named := strings.Cut(typ, ".")
	return area, event && named
}

// EventsOf matches every event of one device; [Any] means all devices.
func EventsOf(dev string) string { return rootEvent + dev + ".>" }

// LiveOf matches every lossy event of one device.
func LiveOf(dev string) string { return rootLive + dev + ".>" }

// AllEvents is what the event stream keeps.
const AllEvents = rootEvent + ">"

// CommandSubject is where a command is requested; verb is "area.verb".
func CommandSubject(dev, verb string) string { return rootCommand + dev + "." + verb }

// ToolRun is the subject of one tool. It carries no device: the device of a
// call is in its headers.
func ToolRun(name string) string { return rootToolRun + name }

// ToolCancel is where the cancel of one call is published.
func ToolCancel(call string) string { return rootToolCancel + call }

// CallOfCancel gives the call id of a subject made by [ToolCancel].
func CallOfCancel(subject string) (call string, ok bool) {
	return strings.CutPrefix(subject, rootToolCancel)
}

// ValidToken says whether s can stand as a device, stream or call token of a
// subject: one to 64 of A-Z a-z 0-9 _ and -. Tool names follow the same rule.
func ValidToken(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}
