#!/usr/bin/env bash
# Known vulnerabilities of all that any lock file pins; `make audit` calls this with its uv.
#
# Exit status 1 if there are any, 2 if the service that knows them cannot be reached.
set -euo pipefail
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- requirements.txt dev.txt cloud.txt uv.txt audit.txt ./*.linux-64.txt

folder=$(mktemp --directory)
trap 'rm -r "$folder"' EXIT
status=0
# Pins and hashes are taken as they are: nothing is resolved or installed. Strict: what the service does not
# know is not taken for harmless.
uv run --quiet --no-project --isolated --with-requirements audit.txt pip-audit \
    --strict --disable-pip --require-hashes --progress-spinner=off \
    --output "$folder/found" "${@/#/--requirement=}" 2>"$folder/said" || status=$?
if [ "$status" -ne 0 ] && [ ! -s "$folder/found" ]; then
    echo "error: nothing was audited, as the service of known vulnerabilities gave no answer:" \
        "$(tail -n 1 "$folder/said" | sed 's|^ERROR:[^:]*:||'); try again with a network that reaches it" >&2
    exit 2
fi
cat "$folder/said" "$folder/found"
exit "$status"
