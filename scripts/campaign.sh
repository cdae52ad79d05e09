#!/usr/bin/env bash
# What dies in the middle of training around a parameter server, rule by rule:
#
#   scripts/campaign.sh [-n 20] [-p 300] [RULE...]
#
# examples/distributed/RULE.toml (the parabola; four workers, one shard), five runs undisturbed, then
# -n runs each of which loses something by kill -9 at a random moment: a worker, the shard, or both.
# Counts the runs that did not end by themselves within a minute with exit code 0 ("hung", ended by
# the script), those that left a process, and those whose last loss is above three times the worst of
# the undisturbed ones. One Markdown row a rule.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
murmurate=${MURMURATE:-$here/build/release/server/murmurate}
trials=20 passes=300
while getopts n:p: option; do
  case $option in
    n) trials=$OPTARG ;;
    p) passes=$OPTARG ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
rules=${*:-asgd downpour agn adag dynsgd sync sagn easgd aeasgd aeamsgd}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
[[ -f $here/examples/distributed/parabola-x.npy ]] ||
  "$here/build/release/examples/distributed/make_distributed_data" "$here/examples/distributed"

# Processes that work in this folder and have $1 in their command line.
of() {
  local pid
  for pid in $(pgrep -f "$1" || true); do
    [[ $(readlink "/proc/$pid/cwd" 2>/dev/null) == "$work" ]] && echo "$pid"
  done
  return 0
}
last_loss() {
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "train/loss") c = i; next }
    $c != "" { loss = $c } END { print loss }' "$1/progress.csv"
}
# Starts a run of $1 called $2; its process is $pid.
start() {
  "$murmurate" train "$here/examples/distributed/$1.toml" --quiet --set "run.name=$2" \
    --set "run.seed=$3" --set "data.passes=$passes" --set checkpoint.every_s=0.2 >"$2.txt" 2>&1 &
  pid=$!
}
# Leaves its exit code in $code: within a minute, or "hung".
await() {
  local i
  for ((i = 0; i < 600; i++)); do
    if ! kill -0 "$pid" 2>/dev/null; then
      code=0
      wait "$pid" || code=$?
      return
    fi
    sleep 0.1
  done
  kill -9 "$pid"
  code=hung
}

echo "| rule | runs | shard, worker, both killed | hung or failed | processes left | loss, undisturbed | loss, worst | above the band |"
echo "| --- | --- | --- | --- | --- | --- | --- | --- |"
for rule in $rules; do
  worst=0 seconds=0
  for seed in 1 2 3 4 5; do
    begin=$(date +%s%N)
    start "$rule" "$rule-calm-$seed" "$seed"
    await
    [[ $code == 0 ]] || { echo "undisturbed $rule: $code" >&2; cat "$rule-calm-$seed.txt" >&2; exit 1; }
    seconds=$(awk -v b="$begin" -v e="$(date +%s%N)" 'BEGIN { print (e - b) / 1e9 }')
    worst=$(awk -v a="$worst" -v b="$(last_loss "runs/$rule-calm-$seed")" 'BEGIN { print (a > b ? a : b) }')
  done
  failed=0 left=0 above=0 highest=0
  counts=(0 0 0)
  for ((trial = 0; trial < trials; trial++)); do
    run=$rule-$trial
    start "$rule" "$run" $((trial + 100))
    sleep "$(awk -v s="$seconds" -v r="$RANDOM" 'BEGIN { print s * (0.25 + 0.4 * r / 32768) }')"
    kind=$((trial % 3))
    shard=$(of "params runs/$run/" | head -1)
    worker=$(of "run.name=\"learner-$((RANDOM % 3 + 1))\"" | head -1)
    if ((kind != 1)) && [[ -n $shard ]]; then kill -9 "$shard"; fi
    if ((kind != 0)) && [[ -n $worker ]]; then kill -9 "$worker"; fi
    counts[kind]=$((counts[kind] + 1))
    await
    if [[ $code != 0 ]]; then
      failed=$((failed + 1))
      { echo "$run: $code"; tail -3 "$run.txt"; } >&2
    fi
    sleep 0.2
    remaining=$(of "$run")
    if [[ -n $remaining ]]; then
      left=$((left + 1))
      # shellcheck disable=SC2086  # process numbers are words
      kill -9 $remaining
    fi
    loss=$(last_loss "runs/$run")
    highest=$(awk -v a="$highest" -v b="$loss" 'BEGIN { print (a > b ? a : b) }')
    if awk -v l="$loss" -v w="$worst" 'BEGIN { exit !(l > 3 * w) }'; then above=$((above + 1)); fi
    rm -rf "runs/$run"
  done
  echo "| $rule | $trials | ${counts[0]}, ${counts[1]}, ${counts[2]} | $failed | $left | $worst | $highest | $above |"
done
