#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# packages.sh run|test: see to it that the distribution packages are there that
# running (or testing) the assistant needs.
#
# It looks for what each package brings, not for the package. What is missing is
# shown first. Then, on Debian and its kin: root, CI and YES=1 install without
# asking, others are asked and sudo is used. Elsewhere the packages are named.
# Exit status: 0 all there, 1 something is missing still.
set -eu

profile=${1:-run}
case $profile in run | test) ;; *)
	echo "usage: $0 run|test" >&2
	exit 2
	;;
esac

# One line a package: what it brings (a command or a path), then its name on
# Debian, Fedora and Arch ("-" where that distribution has none), then why.
needed() {
	cat <<-'LIST'
		espeak-ng espeak-ng espeak-ng espeak-ng the voice
		pocketsphinx_batch pocketsphinx - - hearing without a model (English commands)
		/usr/share/pocketsphinx/model/en-us/en-us pocketsphinx-en-us - - its English model
		curl curl curl curl the tools weather and search
		jq jq jq jq the tools weather and search
	LIST
	[ "$profile" = test ] || return 0
	cat <<-'LIST'
		gcc gcc gcc gcc the race detector of the tests
		pulseaudio pulseaudio pulseaudio pulseaudio a private sound server for the tests
		pactl pulseaudio-utils pulseaudio-utils libpulse its command line
		flite flite flite flite voices that ask questions in the tests
		sox sox sox sox sound files in the tests
		shellcheck shellcheck ShellCheck shellcheck scripts are read by it
		/usr/include/espeak-ng/speak_lib.h libespeak-ng-dev espeak-ng-devel espeak-ng the phoneme helper
		npm npm npm npm the onnxruntime library of the tests
	LIST
}

there() {
	case $1 in
	/*) [ -e "$1" ] ;;
	*) command -v "$1" >/dev/null 2>&1 ;;
	esac
}

missing=$(needed | while read -r brings deb fedora arch why; do
	there "$brings" || echo "$deb $fedora $arch $why"
done)
[ -n "$missing" ] || exit 0

echo "These packages are missing:"
echo "$missing" | while read -r deb fedora arch why; do echo "  $deb: $why"; done

column() { echo "$missing" | cut -d' ' -f"$1" | grep -v '^-$' | tr '\n' ' ' | sed 's/ $//'; }

# elsewhere COLUMN COMMAND...: what to type where there is no apt-get.
elsewhere() {
	names=$(column "$1")
	shift
	if [ -n "$names" ]; then
		echo "Install what your distribution has: $* $names"
	else
		echo "Your distribution has none of them; all else works without."
	fi
	exit 1
}

if ! command -v apt-get >/dev/null 2>&1; then
	! command -v dnf >/dev/null 2>&1 || elsewhere 2 sudo dnf install
	! command -v pacman >/dev/null 2>&1 || elsewhere 3 sudo pacman -S
	echo "Install them with your package manager; the names above are Debian's."
	exit 1
fi

debs=$(column 1)
as=
if [ "$(id -u)" != 0 ]; then
	if ! command -v sudo >/dev/null 2>&1; then
		echo "Ask whoever administers this machine for: apt-get install $debs"
		exit 1
	fi
	as=sudo
	if [ -z "${CI:-}" ] && [ "${YES:-}" != 1 ]; then
		if [ ! -t 0 ]; then
			echo "Install them: sudo apt-get install $debs   (or run again with YES=1)"
			exit 1
		fi
		printf 'Install them now with sudo apt-get? [Y/n] '
		read -r answer
		case $answer in '' | y* | Y*) ;; *) exit 1 ;; esac
	fi
fi
apt() { $as env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@"; }
# shellcheck disable=SC2086 # a list of names
{
	apt-get -qq -s install $debs >/dev/null 2>&1 || apt update # a list that is too old names packages that are gone
	apt install -y --no-install-recommends $debs >/dev/null
}
echo "Installed: $debs"
