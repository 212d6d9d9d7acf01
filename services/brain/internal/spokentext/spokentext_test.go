// SPDX-License-Identifier: Apache-2.0

package spokentext

import (
	"strings"
	"testing"
)

func TestServe(t *testing.T) {
	for _, tt := range []struct {
		kind, in, out string
		status        int
	}{
		{"sentences", `{"name":"x","lang":"en","chunks":["One", ". T","wo"]}` + "\n" + `{"lang":"en","chunks":[]}`,
			`{"sentences":["One.","Two"],"emitted_after":[1,3]}` + "\n" + `{"sentences":[],"emitted_after":[]}` + "\n", 0},
		{"spoken", `{"lang":"en","text":"**Yes** & no"}`, `{"spoken":"Yes and no"}` + "\n", 0},
		{"language", `{"text":"Grazie mille.","prior":null,"configured":["en","it"]}`, `{"lang":"it"}` + "\n", 0},
		{"language", "no JSON", "", 1},
		{"language", strings.Repeat("x", maxLine+1), "", 1},
		{"poems", "", "", 2},
	} {
		var out, errs strings.Builder
		status := Main([]string{tt.kind}, strings.NewReader(tt.in), &out, &errs)
		if status != tt.status || out.String() != tt.out || (status == 0) != (errs.Len() == 0) {
			t.Errorf("%s: status %d, %q, %q", tt.kind, status, out.String(), errs.String())
		}
	}
}
