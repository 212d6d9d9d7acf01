// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"testing"
	"time"
)

// A bus that was away for a moment is found within a moment; one that stays away
// is looked for about once a second.
func TestReconnectDelay(t *testing.T) {
	var waited time.Duration
	tries := 0
	for attempts := 1; waited < time.Hour; attempts++ {
		d := reconnectDelay(attempts)
		if d > reconnectLate*3/2 || attempts < reconnectTries && d > reconnectSoon*3/2 {
			t.Fatalf("attempt %d waits %s", attempts, d)
		}
		waited += d
		tries++
	}
	if tries > 3700 {
		t.Errorf("%d attempts in an hour", tries)
	}
}
