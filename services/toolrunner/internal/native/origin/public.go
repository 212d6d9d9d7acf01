// SPDX-License-Identifier: Apache-2.0

package origin

import (
	"net/netip"
	"slices"
)

// special are the ranges that are not on the public network, by the IANA
// registries of special-purpose addresses for IPv4 and IPv6 (RFC 6890). Outside
// of 2000::/3 no IPv6 address is, see [Public].
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // behind carriers
	netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("169.254.0.0/16"), // of one link, and of cloud metadata
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), // documentation
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("224.0.0.0/4"),     // groups
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("2001::/23"),     // protocols, among them Teredo, which holds IPv4
	netip.MustParsePrefix("2001:db8::/32"), // documentation
	netip.MustParsePrefix("2002::/16"),     // 6to4, which holds IPv4
	netip.MustParsePrefix("3fff::/20"),     // documentation
}

var globalUnicast = netip.MustParsePrefix("2000::/3")

// Public says whether an address belongs to a machine on the public network.
// The forms of IPv6 that carry an IPv4 address do not, since a gateway may lead
// them anywhere.
func Public(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	if !addr.IsValid() || addr.Is6() && !globalUnicast.Contains(addr) {
		return false
	}
	return !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// builtin are origins that only read, need no account and answer in text or
// JSON. They are used only when the configuration says so.
var builtin = []string{
	"https://en.wikipedia.org",
	"https://it.wikipedia.org",
	"https://www.wikidata.org",
	"https://api.open-meteo.com",
	"https://geocoding-api.open-meteo.com",
}

// Builtin lists the origins in code.
func Builtin() []string { return slices.Clone(builtin) }
