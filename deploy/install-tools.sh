#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# install-tools.sh: copy the example tools into the tools folder of this user
# (TOOLS_DIR names another), where the running assistant finds them at once.
#
# What you have changed is left as it is, and named. To know that, the checksum
# of what was copied is kept in ~/.local/state/desktop-assistant/tools.sha256.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
config=${XDG_CONFIG_HOME:-$HOME/.config}
folder=${TOOLS_DIR:-$config/desktop-assistant/tools}
state=${XDG_STATE_HOME:-$HOME/.local/state}/desktop-assistant
record=$state/tools.sha256

mkdir -p "$folder" "$state"
folder=$(cd "$folder" && pwd)
touch "$record"

sum() { sha256sum <"$1" | cut -d' ' -f1; }

# ours FILE: whether it is as it was when it was copied.
ours() {
	[ ! -L "$1" ] && [ -f "$1" ] && grep -qxF "$(sum "$1")  $1" "$record"
}

# remember FILE: what it is now was copied.
remember() {
	line="$(sum "$1")  $1"
	{
		grep -vF "  $1" "$record" || true # none yet
		echo "$line"
	} >"$record.new"
	mv "$record.new" "$record"
}

# Scripts come first, so that no tool is there without its script.
for from in "$here"/examples/tools/*.sh "$here"/examples/tools/*.toml; do
	name=${from##*/} to=$folder/${from##*/}
	if [ -f "$to" ] && cmp -s "$from" "$to"; then
		remember "$to"
		continue
	fi
	if { [ -e "$to" ] || [ -L "$to" ]; } && ! ours "$to"; then
		echo "kept $to, which you changed; the one that comes with this version is $from"
		continue
	fi
	mode=644
	[ ! -x "$from" ] || mode=755
	install -m "$mode" "$from" "$folder/.$name.new"
	mv "$folder/.$name.new" "$to"
	remember "$to"
	echo "installed $to"
done
