// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"strconv"
)

// Rate is the sample rate of microphone audio on the bus, in Hz: signed 16 bit
// little endian, one channel.
const Rate = 16000

// AudioOp says what an audio message is.
type AudioOp string

// The operations of a microphone stream. A stream has one begin and one end
// or abort.
const (
	AudioBegin  AudioOp = "begin"
	AudioData   AudioOp = "data"
	AudioPause  AudioOp = "pause"
	AudioResume AudioOp = "resume"
	AudioEnd    AudioOp = "end"
	AudioAbort  AudioOp = "abort"
)

// Headers of an audio message.
const (
	headerOp     = "Da-Op"
	headerSeq    = "Da-Seq"
	headerPos    = "Da-Pos"
	headerReason = "Da-Reason"
)

// Headers shared by audio messages and tool calls.
const (
	HeaderCall      = "Da-Call-Id"
	HeaderTurn      = "Da-Turn"
	HeaderSession   = "Da-Session"
	HeaderDevice    = "Da-Device"
	HeaderTimeout   = "Da-Timeout-Ms"
	HeaderRoute     = "Da-Route"
	HeaderLimit     = "Da-Limit"
	HeaderAsker     = "Da-Asker"
	HeaderConfirmed = "Da-Confirmed"
)

// Audio is one message of a microphone stream.
//
// Seq counts the messages of the stream from 0; Pos is the index of the first
// sample in the stream, on end the total number of samples, so that a receiver
// knows what it lost. Turn is on every message. PCM is set on data only and
// belongs to the receiver.
type Audio struct {
	Op     AudioOp
	Seq    uint64
	Pos    uint64
	Turn   string
	Reason string // on end and abort: why, as in [UtteranceEnded]
	PCM    []byte // signed 16 bit little endian, mono, [Rate]
}

// EncodeAudio gives the headers and body of a message.
func EncodeAudio(a Audio) (header map[string][]string, body []byte) {
	header = map[string][]string{
		headerOp:  {string(a.Op)},
		headerSeq: {strconv.FormatUint(a.Seq, 10)},
		headerPos: {strconv.FormatUint(a.Pos, 10)},
	}
	if a.Turn != "" {
		header[HeaderTurn] = []string{a.Turn}
	}
	if a.Reason != "" {
		header[headerReason] = []string{a.Reason}
	}
	return header, a.PCM
}

// DecodeAudio reads a message. Unknown operations, missing numbers and half
// samples are errors with code invalid.
func DecodeAudio(header map[string][]string, body []byte) (Audio, error) {
	a := Audio{Op: AudioOp(first(header[headerOp])), Turn: first(header[HeaderTurn]), Reason: first(header[headerReason])}
	switch a.Op {
	case AudioBegin, AudioData, AudioPause, AudioResume, AudioEnd, AudioAbort:
	default:
		return Audio{}, Errorf(CodeInvalid, "decode audio", "unknown operation %q", a.Op)
	}
	var err error
	if a.Seq, err = strconv.ParseUint(first(header[headerSeq]), 10, 64); err != nil {
		return Audio{}, Errorf(CodeInvalid, "decode audio", "header %s: %v", headerSeq, err)
	}
	if a.Pos, err = strconv.ParseUint(first(header[headerPos]), 10, 64); err != nil {
		return Audio{}, Errorf(CodeInvalid, "decode audio", "header %s: %v", headerPos, err)
	}
	if len(body)%2 != 0 {
		return Audio{}, Errorf(CodeInvalid, "decode audio", "%d bytes are not whole samples", len(body))
	}
	if a.Op == AudioData {
		a.PCM = body
	}
	return a, nil
}
