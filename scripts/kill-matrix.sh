#!/usr/bin/env bash
# The kill matrix again and again: {ppo, impala, a2c, staleness = "block", lock-step, two learners around a
# shard} x {learner, actor, shard}, killed with kill -9 at moments of chance (tests/server/kill_matrix_test.cc,
# which ./test runs once).
#
#   scripts/kill-matrix.sh [-n 20] [WAY...]     a WAY: ppo, impala, a2c, block, lockstep, together or own
#
# Beside them `own`: programs of one's own around two shards (tests/parameters_abi/kill_test.cc), of which workers
# and then shards are killed, 4 each a run; nothing that was answered may be lost or count twice.
#
# stdout: a line for each way, with the kills and how often it did not learn on. stderr: what a test that
# failed said. Exit code 1 if one failed. About 2 s a way and time on two cores.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
learners=${MURMURATE_KILL_MATRIX:-$here/build/release/tests/server/kill_matrix_test}
programs=$here/build/release/tests/parameters_abi/parameters_abi_test
times=20
while getopts n: option; do
  case $option in
    n) times=$OPTARG ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
ways=${*:-ppo impala a2c block lockstep together own}
said=$(mktemp)
trap 'rm -f "$said"' EXIT

bad=0
for way in $ways; do
  program=$learners tests=1
  case $way in
    own) program=$programs filter='OwnProgramsKilled.*' kills=8 tests=2 ;;
    together) filter='KilledTogether.*' kills=5 ;;
    *) filter="*KilledBeside.*/$way" kills=4 ;;
  esac
  failed=0
  for ((i = 1; i <= times; i++)); do
    if MURMURATE_KILLS=4 "$program" --gtest_filter="$filter" >"$said" 2>&1 &&
      grep -q "^\[  PASSED  \] $tests test" "$said"; then
      continue
    fi
    failed=$((failed + 1))
    cat "$said" >&2
  done
  echo "$way: $((times * kills)) kills in $times runs, $failed of which did not learn on"
  bad=$((bad + failed))
done
((bad == 0))
