#!/usr/bin/env bash
# The kill matrix again and again: {ppo, impala, a2c, staleness = "block", lock-step, two learners around a
# shard} x {learner, actor, shard}, killed with kill -9 at moments of chance (tests/server/kill_matrix_test.cc,
# which ./test runs once).
#
#   scripts/kill-matrix.sh [-n 20] [WAY...]     a WAY: ppo, impala, a2c, block, lockstep or together
#
# stdout: a line for each way, with the kills and how often it did not learn on. stderr: what a test that
# failed said. Exit code 1 if one failed. About 2 s a way and time on two cores.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
program=${MURMURATE_KILL_MATRIX:-$here/build/release/tests/server/kill_matrix_test}
times=20
while getopts n: option; do
  case $option in
    n) times=$OPTARG ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
ways=${*:-ppo impala a2c block lockstep together}
said=$(mktemp)
trap 'rm -f "$said"' EXIT

bad=0
for way in $ways; do
  case $way in
    together) filter='KilledTogether.*' kills=5 ;;
    *) filter="*KilledBeside.*/$way" kills=4 ;;
  esac
  failed=0
  for ((i = 1; i <= times; i++)); do
    if "$program" --gtest_filter="$filter" >"$said" 2>&1 && grep -q '^\[  PASSED  \] 1 test' "$said"; then
      continue
    fi
    failed=$((failed + 1))
    cat "$said" >&2
  done
  echo "$way: $((times * kills)) kills in $times runs, $failed of which did not learn on"
  bad=$((bad + failed))
done
((bad == 0))
