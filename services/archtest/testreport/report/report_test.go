// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"
)

func TestTally(t *testing.T) {
	const run = `{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:3: no reason\n"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestC","Output":"needs root to become another user\n"}
{"Action":"skip","Package":"p","Test":"TestC"}
{"Action":"output","Package":"p","Test":"TestD","Output":"boom\n"}
{"Action":"fail","Package":"p","Test":"TestD"}
not json
`
	var tally Tally
	if err := tally.Read(strings.NewReader(run)); err != nil {
		t.Fatal(err)
	}
	if tally.Passed != 1 || tally.Failed != 1 || tally.Skipped != 2 {
		t.Errorf("counted %d passed, %d failed, %d skipped", tally.Passed, tally.Failed, tally.Skipped)
	}
	if len(tally.Complaints) != 2 || !strings.Contains(tally.Complaints[0], "no reason") || !strings.Contains(tally.Complaints[1], "boom") {
		t.Errorf("complaints: %q", tally.Complaints)
	}
}
