#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# weather.sh [--] PLACE WHEN: the weather of OpenWeatherMap. An empty PLACE is
# home; WHEN is now (also when empty), today or tomorrow. Times and days are
# those of the place.
#
# WEATHER_ENV names a file (~/.config/udt/weather.env) with lines like these:
#
#   KEY=0123456789abcdef
#   CITY=Rome
#   COUNTRY=IT
#   UNITS=metric
#
# UNITS may be imperial too. The file is read, never run: make it readable for
# you alone (chmod 600). When something else on this machine keeps the answer
# for home in $XDG_CACHE_HOME/udt/weather.json, it is used for half an hour.
# OPENWEATHERMAP_URL stands for https://api.openweathermap.org/data/2.5.
#
# The last line on standard error is what the model is told; the cause may
# stand above it.
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

# settings FILE: sets key, city, country and units from lines NAME=VALUE, with
# or without quotes and "export".
settings() {
	key='' city='' country='' units=''
	return=$(printf '\r') mark=$(printf '\357\273\277') # of lines and files from elsewhere
	while IFS='	 ' read -r line || [ -n "$line" ]; do
		line=${line#"$mark"} line=${line%"$return"} line=${line#export }
		case $line in *=*) ;; *) continue ;; esac
		name=${line%%=*} value=${line#*=}
		name=${name%"${name##*[! ]}"} value=${value#"${value%%[! ]*}"} # blanks around the =
		case $value in
		\"*\"*) value=${value#\"} value=${value%%\"*} ;;
		\'*\'*) value=${value#\'} value=${value%%\'*} ;;
		*) value=${value%% #*} ;;
		esac
		case $name in
		KEY) key=$(squeeze "$value") ;;
		CITY) city=$(squeeze "$value") ;;
		COUNTRY) country=$(squeeze "$value") ;;
		UNITS) units=$(squeeze "$value") ;;
		esac
	done <"$1"
}

# expand PATH: with the home folder for ~, since nothing else replaces it.
expand() {
	case $1 in
	\~/*) printf '%s' "${HOME-}/${1#??}" ;;
	*) printf '%s' "$1" ;;
	esac
}

[ "${1-}" != -- ] || shift
place=$(squeeze "${1-}")
when=$(squeeze "${2-}")
case $when in
now | '') when=now ;;
today | tomorrow) ;;
*) fail "when must be now, today or tomorrow" ;;
esac

file=$(expand "${WEATHER_ENV:-~/.config/udt/weather.env}")
if ! [ -f "$file" ] || ! [ -r "$file" ]; then
	fail "no weather env file at $file"
fi
settings "$file"
[ -n "$key" ] || fail "KEY is empty in $file"
units=${units:-metric}
case $units in
metric | imperial) ;;
*) fail "UNITS must be metric or imperial in $file" ;;
esac
query=$place
if [ -z "$place" ]; then
	[ -n "$city" ] || fail "CITY is empty in $file"
	query=$city${country:+,$country}
fi

# shellcheck disable=SC2016 # the dollars are those of jq
words='
# Each of these fails on what has not the form of an answer.
def text: if type == "string" then gsub("[[:cntrl:]]+"; " ") else error("no text") end | if . == "" then error("no text") else . end;
def whole: if type == "number" then round | if . == 0 then 0 else . end else error("no number") end;
def description: .weather[0].description | text;
def temperature: .main.temp | whole | "\(.) degrees";
def wind: .wind.speed | if env.units == "imperial" then "\(whole) mph" else "\(. * 3.6 | whole) km/h" end;

def current:
	"\(.name | text): \(description), \(temperature), feels like \(.main.feels_like | whole), "
	+ "humidity \(.main.humidity | whole)%, wind \(wind)";

# A time in seconds, or an offset of at most a day; jq itself gives up on larger ones.
def seconds($from; $to): if type == "number" and . >= $from and . <= $to then floor else error("no time") end;

# A time of the place; without an offset in the answer that of this machine.
def local($offset; $form): seconds(0; 1e10) | if $offset == null then strflocaltime($form) else . + $offset | strftime($form) end;

def forecast:
	(.city.timezone | if . == null then . else seconds(-86400; 86400) end) as $offset | (.city.name | text) as $city
	| (now | floor | local($offset; "%Y-%m-%d")) as $today
	| (if env.when == "today" then $today else $today | strptime("%Y-%m-%d") | mktime + 86400 | strftime("%Y-%m-%d") end) as $day
	| [.list[] | select((.dt | local($offset; "%Y-%m-%d")) == $day)
		| "\(.dt | local($offset; "%H:%M")) \(description) \(temperature)"]
	| if length == 0 then "no forecast for \($city) on \($day)" else "\($city) \($day): \(join(", "))" end;
'

# At most so many bytes of an answer are read.
limit=1000000

# Home "now" out of the file that something else keeps, while that is fresh.
cached() {
	cache=${XDG_CACHE_HOME:-${HOME-}/.cache}/udt/weather.json
	[ -f "$cache" ] && [ -r "$cache" ] || return 1
	age=$(($(date +%s) - $(stat -c %Y "$cache" 2>/dev/null || echo 0)))
	[ "$age" -ge 0 ] && [ "$age" -lt 1800 ] || return 1
	head -c "$limit" "$cache" | units=$units jq -Rrs "$words fromjson | current" 2>/dev/null
}
if [ -z "$place" ] && [ "$when" = now ] && cached; then
	exit 0
fi

# The address goes to curl on its standard input: the arguments of a program
# can be read by every user of the machine, and this one holds the key.
address() {
	base=${OPENWEATHERMAP_URL:-https://api.openweathermap.org/data/2.5} key=$key query=$query units=$units when=$when jq -nr '
		env | (if .when == "now" then "weather" else "forecast" end) as $what
		| "url = " + ("\(.base | sub("/+$"; ""))/\($what)?q=\(.query | @uri)&units=\(.units)&appid=\(.key | @uri)" | tojson)'
}

# The answer, then a line with the status of HTTP and of curl: "200 000".
ask() {
	address | curl --disable --silent --show-error --globoff --proto '=http,https' \
		--connect-timeout 4 --max-time 8 --write-out '\n%{http_code}' --config -
	printf ' %03d' $?
}

# shellcheck disable=SC2016 # the dollars are those of jq
answer='
def fail($cause): "\($cause)\nweather request failed for \(env.query)\n" | halt_error(1);

.[-7:] as $tail | .[:-8] as $body
| if $tail | test("^[0-9]{3} [0-9]{3}$") | not then fail("the answer is too long")
	elif $tail[4:] == "028" then fail("no answer in time")
	elif $tail[4:] != "000" then fail("no answer")
	else (try ($body | fromjson) catch null)
		| if $tail[:3] != "200" then fail("HTTP \($tail[:3]) " + (try (.message | text) catch "")) else . end
		| try (if env.when == "now" then current else forecast end) catch fail("the answer cannot be read: \(.)")
	end'

ask | head -c "$limit" | query=$query units=$units when=$when jq -Rrs "$words $answer"
