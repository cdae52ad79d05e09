#!/usr/bin/env bash
# Records launches of kernels while tests run, and runs them again under ThreadSanitizer
# (device_races.cc); with --mutations also without each barrier, which takes minutes:
#   races.sh [--mutations] DEVICE_RACES TEST[:FILTER]...
set -euo pipefail
mutations=
[ "$1" != --mutations ] || { mutations=1; shift; }
races=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for test in "$@"; do
  filter=${test#"${test%%:*}"}
  MURMURATE_RECORD_LAUNCHES=$folder "${test%%:*}" --gtest_brief=1 \
    --gtest_filter="${filter#:}-*DeathTest*" >"$folder.log" ||
    { cat "$folder.log"; exit 1; }
done
rm -f "$folder.log"
"$races" planted 2>/dev/null
"$races" replay "$folder"
[ -z "$mutations" ] || "$races" mutations "$folder" 2>/dev/null
