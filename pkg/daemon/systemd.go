// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"
)

// notify tells the service manager a state; without one it does nothing.
func notify(state string) {
	_, _ = systemd.SdNotify(false, state) // a manager that went away is not our fault
}

// watchdog pings the service manager at half the interval it asks for, as long
// as the app makes progress.
type watchdog struct {
	app    App
	ticker *time.Ticker
}

func newWatchdog(app App) *watchdog {
	w := &watchdog{app: app}
	if interval, err := systemd.SdWatchdogEnabled(false); err == nil && interval > 0 {
		w.ticker = time.NewTicker(interval / 2)
	}
	return w
}

// tick gives the channel of the next ping, nil when no watchdog asks.
func (w *watchdog) tick() <-chan time.Time {
	if w.ticker == nil {
		return nil
	}
	return w.ticker.C
}

func (w *watchdog) ping() {
	if h, ok := w.app.(Healthy); !ok || h.Healthy() {
		notify("WATCHDOG=1")
	}
}

func (w *watchdog) stop() {
	if w.ticker != nil {
		w.ticker.Stop()
	}
}
