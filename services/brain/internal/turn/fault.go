// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"errors"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/model"
)

// asModelError gives the model's error inside err. Another error is a defect of
// whoever stands for the model, and is treated as a server's.
func asModelError(err error) *model.Error {
	var e *model.Error
	if errors.As(err, &e) {
		return e
	}
	return &model.Error{Kind: model.KindServer, Text: err.Error(), Err: err}
}

// asError makes the model's error one for the bus.
func asError(e *model.Error) *proto.Error {
	code := proto.CodeFailed
	switch e.Kind {
	case model.KindUnreachable, model.KindLoading, model.KindBusy:
		code = proto.CodeUnavailable
	case model.KindStalled:
		code = proto.CodeTimeout
	case model.KindCancelled:
		code = proto.CodeCancelled
	case model.KindUnauthorized, model.KindUntrusted:
		code = proto.CodeDenied
	}
	return &proto.Error{Code: code, Op: "ask chat server", Text: e.Reason(), Hint: e.Hint}
}
