// SPDX-License-Identifier: Apache-2.0

// Package bus is the only way the daemons talk: typed events, commands, audio
// and tool calls over NATS. It alone imports the NATS client.
//
// What is published while the bus is away is treated by its kind: events are
// kept, a bounded number of them, and published in order when it is back;
// audio, live events and requests fail at once, since stale ones do harm.
package bus
