#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# npm-files.sh PACKAGE@VERSION PATH DIR [SHA256]: take one file or folder out of a
# package of the npm registry and put it into DIR, and nothing else of it: no
# script of the package is run. npm compares the package with the registry's sum;
# SHA256 is of the file, or of all files of the folder one after the other.
set -eu

[ $# -ge 3 ] || {
	echo "usage: $0 PACKAGE@VERSION PATH DIR [SHA256]" >&2
	exit 2
}
package=$1 path=$2 dir=$3 sum=${4:-}

command -v npm >/dev/null || {
	echo "npm is missing: apt install npm" >&2
	exit 1
}
mkdir -p "$(dirname "$dir")"
work=$(mktemp -d "$dir.XXXXXX")
trap 'rm -rf "$work"' EXIT INT TERM

archive=$(cd "$work" && npm pack --silent --ignore-scripts "$package")
tar -xzf "$work/$archive" -C "$work" "package/$path"
if [ -n "$sum" ]; then
	got=$(cd "$work/package" && find "$path" -type f | LC_ALL=C sort | xargs cat | sha256sum | cut -d' ' -f1)
	[ "$got" = "$sum" ] || {
		echo "$package: $path has the checksum $got, not $sum" >&2
		exit 1
	}
fi
chmod -R u+rwX,go+rX "$work/package"
mkdir -p "$dir"
rm -rf "${dir:?}/$(basename "$path")"
mv "$work/package/$path" "$dir/"
