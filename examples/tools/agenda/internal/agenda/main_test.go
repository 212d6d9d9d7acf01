// SPDX-License-Identifier: Apache-2.0

package agenda

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run runs the program as if in a zone, without a cache unless dir names one.
func run(t *testing.T, root, cache, place string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	local, err := time.LoadLocation(place)
	if err != nil {
		t.Fatal(err)
	}
	s := Setting{Root: root, Named: true, Cache: cache, Local: local, Now: time.Now}
	var out, complaints bytes.Buffer
	err = Run(s, args, &out, &complaints)
	return out.String(), complaints.String(), err
}

// TestCases are the handed cases: calendars as programs really write them.
func TestCases(t *testing.T) {
	folders, err := filepath.Glob("testdata/cases/*/args.txt")
	if err != nil || len(folders) < 49 {
		t.Fatalf("%d cases, %v", len(folders), err)
	}
	for _, path := range folders {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			args, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(dir + "/expect.txt")
			if err != nil {
				t.Fatal(err)
			}
			f := strings.Fields(string(args))
			got, stderr, err := run(t, dir+"/cal", "", f[2], f[0], f[1])
			if err != nil || strings.TrimSuffix(got, "\n") != strings.TrimSuffix(string(want), "\n") {
				t.Errorf("error %v, stderr %q, got:\n%swant:\n%s", err, stderr, got, want)
			}
		})
	}
}
