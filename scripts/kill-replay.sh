#!/usr/bin/env bash
# A learner with a replay, killed with kill -9 at moments of chance and resumed each time: what an actor was
# told is committed is in the replay of the newest checkpoint, once (tests/ledger/replay_kill_test.cc, which
# ./test runs with two kills of a small one).
#
#   scripts/kill-replay.sh [-n 20] [-l 3]      kills of a small replay, and of one of 1 GB (3 GB of /tmp)
#
# stdout: what was kept, and how long each took. stderr: what a test that failed said. Exit code 1 if one failed.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
program=${MURMURATE_KILL_REPLAY:-$here/build/release/tests/ledger/replay_kill_test}
small=20 large=3
while getopts n:l: option; do
  case $option in
    n) small=$OPTARG ;;
    l) large=$OPTARG ;;
    *) exit 2 ;;
  esac
done
said=$(mktemp)
trap 'rm -f "$said"' EXIT
if ! MURMURATE_KILLS=$small MURMURATE_LARGE_KILLS=$large "$program" >"$said" 2>&1; then
  cat "$said" >&2
  echo "a replay that was killed is not what was committed" >&2
  exit 1
fi
echo "$small kills of a small replay, $large of one of 1 GB:"
grep -E "^[0-9]+ steps|       OK" "$said"
