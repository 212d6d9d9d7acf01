#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# dev-workspace.sh TOOLRUNNER DIR: start toolrunner once with DIR as the
# workspace of the built-in tools, until it has written the choice down. Later
# starts without the variable keep it.
set -eu

if [ $# -ne 2 ] || [ -z "$2" ]; then
	echo "which folder? make dev-workspace DIR=/home/you/notes" >&2
	exit 2
fi
toolrunner=$1
dir=$(cd -- "$2" && pwd -P)
saved=${XDG_DATA_HOME:-$HOME/.local/share}/desktop-assistant/workspace-root

DESKTOP_ASSISTANT_WORKSPACE=$dir "$toolrunner" -log warn &
pid=$!
trap 'kill "$pid" 2>/dev/null || true' EXIT INT TERM
tries=100
until [ "$(cat "$saved" 2>/dev/null || true)" = "$dir" ]; do
	tries=$((tries - 1))
	if [ "$tries" -eq 0 ] || ! kill -0 "$pid" 2>/dev/null; then
		echo "the workspace was not taken: see above, or end the toolrunner that runs and try again" >&2
		exit 1
	fi
	sleep 0.1
done
kill "$pid"
wait "$pid" || true
trap - EXIT
echo "The workspace is $dir. Switch on what may read it: desktop-assistant tool enable read_file"
