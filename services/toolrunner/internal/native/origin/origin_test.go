// SPDX-License-Identifier: Apache-2.0

package origin

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/toolrunner/internal/native/fault"
)

func set(t testing.TB, texts ...string) Set {
	t.Helper()
	s := Set{}
	for _, text := range texts {
		o, err := Parse(text)
		if err != nil {
			t.Fatalf("parse %q: %v", text, err)
		}
		s[o] = true
	}
	return s
}

var allowed = []string{"https://api.example.org", "https://example.org:8443/", "http://127.0.0.1:4001", "http://localhost:4002", "http://[::1]:4003", "https://192.168.1.10", "https://[fd00::a]"}

func TestParseURL(t *testing.T) {
	s := set(t, allowed...)
	for _, text := range []string{
		"https://api.example.org", "https://api.example.org/", "https://api.example.org:443/a?b=c", "HTTPS://API.Example.ORG/a",
		"https://example.org:8443/x%20y", "http://127.0.0.1:4001/a//b", "http://localhost:4002/?", "http://LocalHost:4002/", "https://[FD00::A]/", "http://[::1]:4003/", "https://192.168.1.10/",
	} {
		u, o, err := s.ParseURL(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if u.Hostname() != o.host {
			t.Errorf("%s would be dialled as %s", text, u.Hostname())
		}
	}
	for text, kind := range map[string]string{
		"":                        proto.KindInvalidArguments,
		"api.example.org":         proto.KindInvalidArguments,
		"//api.example.org/":      proto.KindInvalidArguments,
		"/x":                      proto.KindInvalidArguments,
		"https://":                proto.KindInvalidArguments,
		"https:///x":              proto.KindInvalidArguments,
		"https:api.example.org/x": proto.KindInvalidArguments,
		"https://api.example.org\\@evil.example/":              proto.KindInvalidArguments,
		"https://api.example.org/\r\nX: y":                     proto.KindInvalidArguments,
		"https://api.example.org/\x00":                         proto.KindInvalidArguments,
		" https://api.example.org/":                            proto.KindInvalidArguments,
		"https://api.example.org/a b":                          proto.KindInvalidArguments,
		"https://api.example.org:/":                            proto.KindInvalidArguments,
		"https://api.example.org:0443/":                        proto.KindInvalidArguments,
		"https://api.example.org:70000/":                       proto.KindInvalidArguments,
		"https://api.example.org:443x/":                        proto.KindInvalidArguments,
		"https://api.example.org/\u00e9":                       proto.KindInvalidArguments,
		"https://127\u30020\u30020\u30021/":                    proto.KindInvalidArguments,
		"https://api.example.org/" + strings.Repeat("a", 9000): proto.KindInvalidArguments,
		"https://api.example.org.evil.example/":                proto.KindNotAllowed,
		"https://evil-api.example.org/":                        proto.KindNotAllowed,
		"https://xapi.example.org/":                            proto.KindNotAllowed,
		"https://example.org/":                                 proto.KindNotAllowed,
		"https://api.example.org:8443/":                        proto.KindNotAllowed,
		"http://api.example.org/":                              proto.KindNotAllowed,
		"https://api.example.org./":                            proto.KindNotAllowed,
		"https://user@api.example.org/":                        proto.KindNotAllowed,
		"https://user:secret@api.example.org/":                 proto.KindNotAllowed,
		"https://@api.example.org/":                            proto.KindNotAllowed,
		"https://api.example.org/#":                            proto.KindNotAllowed,
		"https://api.example.org/#x":                           proto.KindNotAllowed,
		"https://evil.example/#@api.example.org/":              proto.KindNotAllowed,
		"https://evil.example/?x=https://api.example.org":      proto.KindNotAllowed,
		"ftp://api.example.org/":                               proto.KindNotAllowed,
		"file:///etc/passwd":                                   proto.KindNotAllowed,
		"javascript:alert(1)":                                  proto.KindInvalidArguments,
		"http://2130706433:4001/":                              proto.KindNotAllowed,
		"http://0x7f.1:4001/":                                  proto.KindNotAllowed,
		"http://0177.0.0.1:4001/":                              proto.KindNotAllowed,
		"http://127.1:4001/":                                   proto.KindNotAllowed,
		"http://0:4001/":                                       proto.KindNotAllowed,
		"http://127.0.0.1.:4001/":                              proto.KindNotAllowed,
		"http://127.000.0.1:4001/":                             proto.KindNotAllowed,
		"http://[::ffff:127.0.0.1]:4001/":                      proto.KindNotAllowed,
		"http://[::ffff:7f00:1]:4001/":                         proto.KindNotAllowed,
		"http://[0:0:0:0:0:0:0:1]:4003/":                       proto.KindNotAllowed,
		"http://[::1%25lo]:4003/":                              proto.KindNotAllowed,
		"http://localhost.:4002/":                              proto.KindNotAllowed,
		"http://127.0.0.1:4002/":                               proto.KindNotAllowed,
	} {
		_, _, err := s.ParseURL(text)
		var f *fault.Fault
		if !errors.As(err, &f) || f.Kind != kind {
			t.Errorf("%.80q: %v, want %s", text, err, kind)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"https://Example.org:443/": "https://example.org", "http://localhost": "http://localhost", "http://[::1]:80": "http://[::1]",
		"https://[2606:2800:220:1::1]:8443": "https://[2606:2800:220:1::1]:8443",
	} {
		if o, err := Parse(text); err != nil || o.String() != want {
			t.Errorf("%s: %s, %v", text, o, err)
		}
	}
	for _, text := range []string{"", "*", "https://*.example.org", "https://example.org/path", "https://example.org?", "https://example.org?x", "example.org",
		"http://example.org", "http://192.168.1.10", "http://127.1", "https://user@example.org", "https://[fe80::1%25eth0]", "https://-x.example.org", "https://a..b"} {
		if o, err := Parse(text); err == nil {
			t.Errorf("%q is accepted as %s", text, o)
		}
	}
}

// TestReachable: names lead to the public network only, whatever form an
// address has; a host that is an address leads to that one.
func TestReachable(t *testing.T) {
	for _, c := range []struct {
		host, addr string
		want       bool
	}{
		{"example.org", "93.184.216.34", true}, {"example.org", "2606:2800:220:1::1", true}, {"example.org", "::ffff:93.184.216.34", true},
		{"example.org", "127.0.0.1", false}, {"example.org", "::1", false}, {"example.org", "::ffff:127.0.0.1", false},
		{"example.org", "10.1.2.3", false}, {"example.org", "172.31.0.1", false}, {"example.org", "192.168.0.1", false},
		{"example.org", "169.254.169.254", false}, {"example.org", "100.64.0.1", false}, {"example.org", "198.19.0.1", false},
		{"example.org", "0.0.0.0", false}, {"example.org", "255.255.255.255", false}, {"example.org", "224.0.0.1", false}, {"example.org", "192.0.0.9", false},
		{"example.org", "fc00::1", false}, {"example.org", "fe80::1", false}, {"example.org", "ff02::1", false}, {"example.org", "::", false},
		{"example.org", "64:ff9b::7f00:1", false}, {"example.org", "64:ff9b:1::1", false}, {"example.org", "2002:7f00:1::", false},
		{"example.org", "::7f00:1", false}, {"example.org", "::ffff:0:7f00:1", false}, {"example.org", "2001:0:53aa:64c::1", false},
		{"example.org", "2001:db8::1", false}, {"example.org", "fec0::1", false}, {"example.org", "100::1", false},
		{"localhost", "127.0.0.1", true}, {"localhost", "::1", true}, {"localhost", "127.3.4.5", true}, {"localhost", "93.184.216.34", false}, {"localhost", "10.0.0.1", false},
		{"192.168.1.10", "192.168.1.10", true}, {"192.168.1.10", "::ffff:192.168.1.10", true}, {"192.168.1.10", "192.168.1.11", false},
		{"::1", "::1", true}, {"::1", "127.0.0.1", false}, {"127.0.0.1", "127.0.0.1", true}, {"127.0.0.1", "127.0.0.2", false},
	} {
		if got := Reachable(c.host, netip.MustParseAddr(c.addr)); got != c.want {
			t.Errorf("%s at %s: %v", c.host, c.addr, got)
		}
	}
	if Public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

// TestBuiltin: the list in code holds origins over https to names.
func TestBuiltin(t *testing.T) {
	for _, text := range Builtin() {
		o, err := Parse(text)
		if err != nil || o.String() != text || o.scheme != "https" || !strings.ContainsAny(o.host, "abcdefghijklmnopqrstuvwxyz") {
			t.Errorf("%s: %s, %v", text, o, err)
		}
	}
}

// FuzzParseURL: whatever is accepted names an allowed origin in the words of
// the list, and its host may be dialled only at that origin's addresses.
func FuzzParseURL(f *testing.F) {
	s := set(f, allowed...)
	for _, text := range append([]string{"https://api.example.org@evil.example/", "http://127.1:4001/x", "http://[::ffff:127.0.0.1]:4001"}, allowed...) {
		f.Add(text)
	}
	addrs := []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1"), netip.MustParseAddr("192.168.1.10"),
		netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("64:ff9b::a00:1")}
	f.Fuzz(func(t *testing.T, text string) {
		if o, err := Parse(text); err == nil {
			if back, err := Parse(o.String()); err != nil || back != o {
				t.Fatalf("%q is %s, which is %v, %v", text, o, back, err)
			}
		}
		if u, o, err := ParseEndpoint(text); err == nil && (u.Hostname() == "" || o == Origin{}) {
			t.Fatalf("%q is an endpoint without a host", text)
		}
		u, o, err := s.ParseURL(text)
		if err != nil {
			return
		}
		if !s[o] || u.User != nil || u.Fragment != "" || u.Opaque != "" || strings.ContainsAny(text, "#\\ \r\n\t\x00") {
			t.Fatalf("%q is accepted", text)
		}
		// What the HTTP client would dial, taken from the parsed address alone.
		again, err := url.Parse(u.String())
		if err != nil || again.Host != u.Host || again.Scheme != u.Scheme {
			t.Fatalf("%q is %v, then %v, %v", text, u, again, err)
		}
		host, port := strings.ToLower(again.Hostname()), again.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[again.Scheme]
		}
		if host != o.host || port != o.port {
			t.Fatalf("%q dials %s port %s for %s", text, host, port, o)
		}
		for _, addr := range addrs {
			private := addr != netip.MustParseAddr("93.184.216.34")
			literal := host == addr.String()
			local := host == "localhost" && addr.IsLoopback()
			if Reachable(host, addr) && private && !literal && !local {
				t.Fatalf("%q may dial %s", text, addr)
			}
		}
	})
}
