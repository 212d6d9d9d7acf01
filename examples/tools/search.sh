#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# search.sh [--] QUERY: the first five results of a SearXNG server, a line each,
# "title: snippet".
#
# SEARXNG_URL is the address of the server, with its path if it has one. The
# server must give out JSON: "formats: [html, json]" below "search:" in its
# settings.yml.
#
# The last line on standard error is what the model is told; curl may say more
# above it.
set -u

# fail TEXT: the end, with an error.
fail() {
	printf '%s\n' "$1" >&2
	exit 1
}

for program in curl jq; do
	command -v "$program" >/dev/null 2>&1 || fail "$program is missing: install the package $program"
done

# One space for each run of white space and control characters, none around.
squeeze() {
	printf ' %s ' "$1" | LC_ALL=C tr -s '\001-\040\177' ' ' | sed 's/^ //; s/ $//'
}

[ "${1-}" != -- ] || shift
server=$(squeeze "${SEARXNG_URL-}")
query=$(squeeze "${1-}")
[ -n "$server" ] || fail "SEARXNG_URL is not set"
[ -n "$query" ] || fail "empty query"

# The address goes to curl on its standard input: the arguments of a program
# can be read by every user of the machine.
address() {
	server=$server query=$query jq -nr '
		env.server | sub("/+$"; "") | if endswith("/search") then . else . + "/search" end
		| "url = " + (. + "?format=json&q=" + (env.query | @uri) | tojson)'
}

# At most so many bytes of an answer are read.
limit=2000000

# The answer, then a line with the status of HTTP and of curl: "200 000".
ask() {
	address | curl --disable --silent --show-error --globoff --proto '=http,https' \
		--connect-timeout 4 --max-time 8 --write-out '\n%{http_code}' --config -
	printf ' %03d' $?
}

# shellcheck disable=SC2016 # the dollars are those of jq
results='
def fail($why): "search failed\($why)\n" | halt_error(1);

# The character of a number, as in &#8364; of HTML.
def character: if . >= 32 and . < 55296 or . > 57343 and . < 1114112 then [.] | implode else "" end;
def hex: reduce (ascii_downcase | explode[]) as $c (0; . * 16 + $c - (if $c > 96 then 87 else 48 end));

def plain:
	gsub("</?(a|b|em|i|mark|span|strong)( [^<>]*)?>"; "") | gsub("<[/!A-Za-z][^<>]*>"; " ")
	| gsub("&#(?<n>[0-9]{1,7});"; .n | tonumber | character)
	| gsub("&#[xX](?<n>[0-9A-Fa-f]{1,6});"; .n | hex | character)
	| gsub("&nbsp;"; " ") | gsub("&quot;"; "\"") | gsub("&apos;"; "\u0027")
	| gsub("&lt;"; "<") | gsub("&gt;"; ">") | gsub("&amp;"; "&");

# Control characters and line breaks become spaces; marks that turn the
# direction of text or cannot be seen go.
def visible:
	explode | map(
		if . < 32 or . >= 127 and . < 161 or . == 8232 or . == 8233 then 32
		elif . == 8203 or . == 8206 or . == 8207 or . >= 8234 and . < 8239 or . >= 8288 and . < 8304
			or . == 65279 or . >= 917504 and . < 917632 then empty
		else . end) | implode;

# A text of the answer as at most $max characters on one line, "" when it is none.
def line($max):
	if type != "string" then "" else
		.[:2000] | plain | visible | gsub(" {2,}"; " ") | sub("^ "; "") | sub(" $"; "")
		| if length > $max then (.[:$max - 1] | sub(" [^ ]*$"; "")) + "…" else . end
	end;

def result:
	select(type == "object") | [(.title | line(100)), (.content | line(280))]
	| map(select(. != "")) | join(": ") | select(. != "");

.[-7:] as $tail | .[:-8] as $body | ($body[:200] | test("^\\s*<")) as $html
| if $tail | test("^[0-9]{3} [0-9]{3}$") | not then fail(": the answer is too long")
	else ($tail[:3] | tonumber) as $http | ($tail[4:] | tonumber) as $curl
	| if $curl == 28 then fail(": timed out")
		elif $curl == 6 or $curl == 7 then fail(": the server cannot be reached")
		elif $curl != 0 then fail("")
		elif $http == 403 or $http == 200 and $html then fail(": JSON format not enabled")
		elif $http == 429 then fail(": too many requests")
		elif $http != 200 then fail(": HTTP \($http)")
		else (try ($body | fromjson) catch null)
			| if type != "object" or (.results | type) != "array" then fail(": the answer cannot be read") else . end
			| [.results[:50][] | result][:5]
			| if length == 0 then "no results" else .[] end
		end
	end'

ask | head -c "$limit" | jq -Rrs "$results"
