#!/usr/bin/env bash
# Who is killed beside a stream, again and again, and whether each message was taken once all the same:
#
#   scripts/stream-campaign.sh [-n 7] >stream-campaign.tsv
#
# -n rounds of tests/stream/stream_kills_test.cc, each with a fleet, a broker, a daemon and a run of
# their own: the daemon is killed with -9 three times and resumed, the broker three times and started
# again, each time after the daemon has taken between 1 and 150 messages more. So seven rounds are 21
# kills of each.
#
# stdout: tab-separated, a header and a row a test and round: messages sent, taken, numbers that never
# came, pairs learned and not learned, all of the last checkpoint; duplicates refused in the daemon's last
# life. stderr: what a failed round said.
# Exit code 1 if one failed: a count was not exact, or it was too slow to kill all in time.
#
# Time: 35 s a round.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
kills=${STREAM_KILLS_TEST:-$here/build/release/tests/stream/stream_kills_test}
rounds=7
while getopts n: option; do
  case $option in
    n) rounds=$OPTARG ;;
    *) exit 2 ;;
  esac
done
said=$(mktemp)
trap 'rm -f "$said"' EXIT
failed=0
printf 'round\twho\tsent\ttaken\tgaps\tlearned\tunlearned\tduplicates\n'
for ((round = 1; round <= rounds; ++round)); do
  if ! "$kills" --gtest_filter='*LoseAndDoubleNothing' >"$said" 2>&1; then
    failed=1
    cat "$said" >&2
  fi
  sed -n "s/^row\tOfThe\([A-Z][a-z]*\)[A-Za-z]*/$round\t\1/p" "$said"
done
exit $failed
