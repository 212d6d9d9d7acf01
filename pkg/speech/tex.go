// SPDX-License-Identifier: Apache-2.0

package speech

import (
	"regexp"
	"strings"
)

var (
	displayMath = regexp.MustCompile(`\$\$([^$]*)\$\$|\\\[(.*?)\\\]|\\\((.*?)\\\)`)
	inlineMath  = regexp.MustCompile(`\$([^$\s\d](?:[^$]*[^$\s])?)\$|\$([^$]*[\\^_=][^$]*)\$`)
	texFraction = regexp.MustCompile(`\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}`)
	texCommand  = regexp.MustCompile(`\\([a-zA-Z]+)\s?`)
)

// texSigns are the commands that stand for a sign; others are dropped.
var texSigns = map[string]string{
	"times": "×", "cdot": "×", "div": "÷", "pm": "±", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "ne": "≠",
	"approx": "≈", "sqrt": "√", "infty": "∞", "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "Delta": "Δ", "theta": "θ",
	"lambda": "λ", "mu": "μ", "pi": "π", "sigma": "σ", "phi": "φ", "omega": "ω", "circ": "°", "to": "→", "rightarrow": "→",
}

// stripMath takes formulas out of their marks and writes the commands of TeX
// that have a sign as that.
func stripMath(s string) string {
	if !strings.ContainsAny(s, `$\`) {
		return s
	}
	s = displayMath.ReplaceAllStringFunc(s, func(m string) string {
		g := displayMath.FindStringSubmatch(m)
		return plainMath(g[1] + g[2] + g[3])
	})
	return inlineMath.ReplaceAllStringFunc(s, func(m string) string {
		g := inlineMath.FindStringSubmatch(m)
		return plainMath(g[1] + g[2])
	})
}

func plainMath(s string) string {
	s = texFraction.ReplaceAllString(s, "$1 / $2")
	s = texCommand.ReplaceAllStringFunc(s, func(m string) string {
		return texSigns[strings.TrimSpace(m[1:])]
	})
	return strings.NewReplacer("{", "", "}", "", "_", " ", "$", " ", `\`, " ").Replace(s)
}
