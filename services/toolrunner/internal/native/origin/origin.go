// SPDX-License-Identifier: Apache-2.0

// Package origin decides where built-in tools may send requests: which
// addresses of the web are accepted, and which addresses of machines may be
// dialled for them.
package origin

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"example.org/desktop-assistant/services/toolrunner/internal/native/fault"
)

const maxURL = 8192 // bytes of an address

// Origin is scheme, host and port as they are compared: in lower case, the port
// always given. The zero value is no origin.
type Origin struct{ scheme, host, port string }

// String gives the origin as people write it, without the default port.
func (o Origin) String() string {
	host := o.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if o.port == defaultPort(o.scheme) {
		return o.scheme + "://" + host
	}
	return o.scheme + "://" + host + ":" + o.port
}

func defaultPort(scheme string) string {
	if scheme == "http" {
		return "80"
	}
	return "443"
}

// Set is a list of allowed origins.
type Set map[Origin]bool

var (
	errAddress = fault.Invalid("the url is not a valid web address")
	errOrigin  = fault.NotAllowed("that origin is not allowed")
)

// ParseURL reads an address and accepts it when its origin is in the set. The
// error is a *[fault.Fault].
//
// An address is accepted as it is written or not at all: printable ASCII, the
// scheme https (http only to this machine), a host name or a canonical IP
// address, no user, no fragment.
func (s Set) ParseURL(text string) (*url.URL, Origin, error) {
	u, o, err := parse(text)
	if err != nil {
		return nil, Origin{}, err
	}
	if !s[o] {
		return nil, Origin{}, errOrigin
	}
	return u, o, nil
}

// Parse reads an origin as it stands in the configuration: an address with no
// path but "/", no query and no fragment. The error is a *[fault.Fault].
func Parse(text string) (Origin, error) {
	u, o, err := parse(text)
	if err != nil {
		return Origin{}, err
	}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.ForceQuery {
		return Origin{}, fault.Invalid("an origin has no path and no query")
	}
	return o, nil
}

// ParseEndpoint reads the address of a service that the configuration names.
// Its origin is allowed by being named. The error is a *[fault.Fault].
func ParseEndpoint(text string) (*url.URL, Origin, error) { return parse(text) }

func parse(text string) (*url.URL, Origin, error) {
	if len(text) > maxURL || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return nil, Origin{}, errAddress
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r > 0x7f }) {
		return nil, Origin{}, fault.Invalid("the url must be in ASCII, other characters as %XX")
	}
	// net/url would give a fragment that is empty no trace.
	if strings.Contains(text, "#") {
		return nil, Origin{}, fault.NotAllowed("a url with a fragment is not allowed")
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" {
		return nil, Origin{}, errAddress
	}
	switch {
	case u.Scheme == "" || u.Scheme == "https" && u.Host == "" || u.Scheme == "http" && u.Host == "":
		return nil, Origin{}, errAddress
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, Origin{}, fault.NotAllowed("only https is allowed, and http to this machine")
	case u.User != nil:
		return nil, Origin{}, fault.NotAllowed("a url with a user name or password is not allowed")
	}
	u.Host = strings.ToLower(u.Host) // it is compared again when it is dialled
	o := Origin{scheme: u.Scheme, host: u.Hostname(), port: u.Port()}
	if strings.HasSuffix(u.Host, ":") || o.port != "" && !validPort(o.port) {
		return nil, Origin{}, errAddress
	}
	if o.port == "" {
		o.port = defaultPort(o.scheme)
	}
	if !validHost(o.host, strings.HasPrefix(u.Host, "[")) {
		return nil, Origin{}, errOrigin
	}
	if o.scheme == "http" && !thisMachine(o.host) {
		return nil, Origin{}, fault.NotAllowed("plain http is allowed to this machine only")
	}
	return u, o, nil
}

// validPort wants a number as it is written without leading zeros.
func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0 && strconv.FormatUint(n, 10) == port
}

// validHost wants a canonical IP address, in brackets when it is one of IPv6, or
// a name. An IPv4 address in the clothes of IPv6 is neither.
func validHost(host string, bracketed bool) bool {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return !bracketed && validName(host)
	}
	_, canonical := literal(host)
	return canonical && !addr.Is4In6() && addr.Is6() == bracketed
}

// literal reads a host that is a canonical IP address.
func literal(host string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(host)
	return addr, err == nil && addr.Zone() == "" && addr.String() == host
}

// validName says whether host is a name by RFC 1123 (with _, which some have)
// that no resolver takes for a number.
func validName(host string) bool {
	if len(host) > 253 {
		return false
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		if strings.ContainsFunc(label, func(r rune) bool {
			return r != '-' && r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
		}) {
			return false
		}
	}
	last := labels[len(labels)-1]
	return last[0] < '0' || last[0] > '9'
}

// localhost is the one name that is this machine (RFC 6761).
const localhost = "localhost"

// thisMachine says whether a host can only be this machine.
func thisMachine(host string) bool {
	addr, ok := literal(host)
	return host == localhost || ok && addr.IsLoopback()
}

// Reachable says whether an address may be dialled for a host: for a host that
// is an address only that one, for localhost only this machine, and for any
// other name only what belongs to the public network, whatever a name server
// says. It is asked at the moment of dialling.
func Reachable(host string, addr netip.Addr) bool {
	addr = addr.Unmap()
	if want, ok := literal(host); ok {
		return addr == want
	}
	if host == localhost {
		return addr.IsLoopback()
	}
	return Public(addr)
}
