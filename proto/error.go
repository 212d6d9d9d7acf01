// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// Code classifies an [Error]. The list is append-only, since codes travel.
type Code string

// The codes. Each has a fixed number for the service error header of NATS.
const (
	CodeInvalid      Code = "invalid"      // 400: the request cannot be understood
	CodeDenied       Code = "denied"       // 403: understood, not allowed
	CodeNotFound     Code = "not_found"    // 404: no such tool, turn, session
	CodeBusy         Code = "busy"         // 409: in conflict with what runs now
	CodeCancelled    Code = "cancelled"    // 499: someone stopped it
	CodeInternal     Code = "internal"     // 500: a defect of ours
	CodeUnsupported  Code = "unsupported"  // 501: a verb or engine this build lacks
	CodeFailed       Code = "failed"       // 502: what we asked answered with an error
	CodeUnavailable  Code = "unavailable"  // 503: a part is missing or not running
	CodeTimeout      Code = "timeout"      // 504: no answer in time
	CodeDisconnected Code = "disconnected" // 520: the bus itself cannot be reached
)

var codeNumbers = map[Code]int{
	CodeInvalid: 400, CodeDenied: 403, CodeNotFound: 404, CodeBusy: 409, CodeCancelled: 499,
	CodeInternal: 500, CodeUnsupported: 501, CodeFailed: 502, CodeUnavailable: 503,
	CodeTimeout: 504, CodeDisconnected: 520,
}

// Codes lists every code, in the order of their numbers.
func Codes() []Code {
	return []Code{CodeInvalid, CodeDenied, CodeNotFound, CodeBusy, CodeCancelled, CodeInternal,
		CodeUnsupported, CodeFailed, CodeUnavailable, CodeTimeout, CodeDisconnected}
}

// Number is the numeric form for the header [HeaderErrorCode]; 500 for a code
// this build does not know.
func (c Code) Number() int {
	if n, ok := codeNumbers[c]; ok {
		return n
	}
	return 500
}

// Headers of an error reply, as the NATS services API defines them (ADR-32).
const (
	HeaderErrorCode = "Nats-Service-Error-Code"
	HeaderError     = "Nats-Service-Error"
)

// Error is a failure that crosses processes as a value.
//
// Text is one lower-case line without the operation; Hint says what to type
// or do next and may be empty. [errors.Is] compares the fields that the target
// fills in, so errors.Is(err, &Error{Code: CodeNotFound}) works on both sides.
type Error struct {
	Code Code   `json:"code"`
	Op   string `json:"op,omitempty"`
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
}

// nobodyAnswers is the text of an error that [Nobody] makes.
const nobodyAnswers = "nobody answers"

// Nobody is the error of a request that no process serves, as against one that
// a process refused.
func Nobody(op string) *Error {
	return &Error{Code: CodeUnavailable, Op: op, Text: nobodyAnswers, Hint: "see what runs: desktop-assistant status"}
}

// IsNobody says whether err was made by [Nobody].
func IsNobody(err error) bool {
	return errors.Is(err, &Error{Code: CodeUnavailable, Text: nobodyAnswers})
}

// Error gives "op: text", or the code when there is no text.
func (e *Error) Error() string {
	text := e.Text
	if text == "" {
		text = string(e.Code)
	}
	if e.Op == "" {
		return text
	}
	return e.Op + ": " + text
}

// Is reports whether every field that target sets equals this error's.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	if !ok {
		return false
	}
	return (t.Code == "" || t.Code == e.Code) && (t.Op == "" || t.Op == e.Op) &&
		(t.Text == "" || t.Text == e.Text) && (t.Hint == "" || t.Hint == e.Hint)
}

// Errorf makes an [Error] with a formatted text.
func Errorf(code Code, op, format string, args ...any) *Error {
	return &Error{Code: code, Op: op, Text: fmt.Sprintf(format, args...)}
}

// WithHint returns a copy that says what to do next.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// AsError gives the [Error] inside err, or wraps err as an internal one under
// op. It returns nil for nil.
func AsError(op string, err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: CodeInternal, Op: op, Text: err.Error()}
}

// HintOf gives the hint of the [Error] inside err, or "".
func HintOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}

// EncodeError gives the headers and the body of an error reply.
func EncodeError(e *Error) (header map[string][]string, body []byte) {
	body, err := json.Marshal(e)
	if err != nil { // an Error holds strings only
		panic("proto: encode error: " + err.Error())
	}
	return map[string][]string{
		HeaderErrorCode: {strconv.Itoa(e.Code.Number())},
		HeaderError:     {e.Error()},
	}, body
}

// DecodeError gives the error of a reply, or nil when its headers hold none.
// A reply of a foreign service without our body becomes an error by its number.
func DecodeError(header map[string][]string, body []byte) *Error {
	number, text := first(header[HeaderErrorCode]), first(header[HeaderError])
	if number == "" && text == "" {
		return nil
	}
	var e Error
	if json.Unmarshal(body, &e) == nil && e.Code != "" {
		return &e
	}
	e = Error{Code: CodeInternal, Text: text}
	for code, n := range codeNumbers {
		if strconv.Itoa(n) == number {
			e.Code = code
		}
	}
	if e.Text == "" {
		e.Text = "error " + number
	}
	return &e
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}
