// SPDX-License-Identifier: Apache-2.0

package audio

// A Ring keeps the newest samples written to it and forgets older ones: the
// pre-roll that is heard from before a key was pressed. It is not safe for
// concurrent use.
type Ring struct {
	buf  []int16
	next int // where the next sample goes
	full bool
}

// NewRing makes a ring of the newest size samples; a size of 0 keeps nothing.
func NewRing(size int) *Ring { return &Ring{buf: make([]int16, max(0, size))} }

// Len is how many samples are kept now.
func (r *Ring) Len() int {
	if r.full {
		return len(r.buf)
	}
	return r.next
}

// Write keeps a copy of the samples, dropping the oldest when there is no room.
func (r *Ring) Write(samples []int16) {
	size := len(r.buf)
	if size == 0 {
		return
	}
	if len(samples) >= size {
		copy(r.buf, samples[len(samples)-size:])
		r.next, r.full = 0, true
		return
	}
	n := copy(r.buf[r.next:], samples)
	copy(r.buf, samples[n:])
	r.full = r.full || r.next+len(samples) >= size
	r.next = (r.next + len(samples)) % size
}

// Take returns the kept samples, oldest first, as a slice of the caller's own,
// and empties the ring.
func (r *Ring) Take() []int16 {
	out := make([]int16, 0, r.Len())
	if r.full {
		out = append(out, r.buf[r.next:]...)
	}
	out = append(out, r.buf[:r.next]...)
	r.Reset()
	return out
}

// Reset empties the ring.
func (r *Ring) Reset() { r.next, r.full = 0, false }
