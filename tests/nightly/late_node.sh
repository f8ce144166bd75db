#!/usr/bin/env bash
# `python` as of another node of a network's folder: what a program that matches $LATE_PROGRAMS writes to
# results/ is seen there by itself (an overlay in a mount namespace), by others $LATE_SECONDS after its end.
set -eu
[[ "${1:-}" =~ $LATE_PROGRAMS ]] || exec "$LATE_PYTHON" "$@"
node=$(mktemp --directory "$PWD/.node-XXXXXX")
mkdir "$node/own" "$node/work"
mount="mount -t overlay overlay -o lowerdir=results,upperdir=$node/own,workdir=$node/work results"
status=0
unshare --mount bash -c "$mount"' && exec "$@"' _ "$LATE_PYTHON" "$@" || status=$?
arrive='sleep "$1"; cd "$2" && find . -type f | while read -r file; do
    mkdir -p "$3/${file%/*}" && mv "$file" "$3/$file"
done; rm -rf "${2%/own}"'
setsid bash -c "$arrive" _ "$LATE_SECONDS" "$node/own" "$PWD/results" </dev/null &>/dev/null &
exit $status
