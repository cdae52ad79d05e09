#!/usr/bin/env bash
# CartPole by three learners under each update rule: the table of docs/results.md.
#
#   scripts/measure-rules.sh [-s "1001 1002 1003 1004 1005"] [RULE...]
#
# examples/distributed/cartpole.toml with the rule's own settings, seed after seed: the first step of
# the first learner at which the mean of its last 100 training episodes is 475 or better ("never"),
# the mean of 100 greedy episodes with the result, wall seconds. Prints one Markdown row a rule.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
murmurate=${MURMURATE:-$here/build/release/server/murmurate}
config=$here/examples/distributed/cartpole.toml
seeds="1001 1002 1003 1004 1005"
while getopts s: option; do
  case $option in
    s) seeds=$OPTARG ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))

# rule, rate at first (it falls to a tenth), window
rows() {
  cat <<'ROWS'
sync      2e-3  1
asgd      1e-3  1
downpour  1e-3  3
dynsgd    2e-3  5
agn       2e-3  4
aeasgd    2e-3  32
ROWS
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

reached() {
  awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    $column["rollout/episodes"] >= 100 && $column["rollout/ep_rew_mean"] >= 475 { print $1; exit }' "$1"
}

# "never" is more than every number.
median() {
  tr ' ' '\n' <<<"$1" | sed '/^$/d; s/never/1e18/' | sort -g |
    awk '{ v[NR] = $1 } END { m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
      if (m >= 1e18) print "never"; else print m }'
}

measure() {
  local rule=$1 rate=$2 window=$3 seed start steps end reached_all="" greedy_all="" wall_all=""
  end=$(awk -v rate="$rate" 'BEGIN { print rate / 10 }')
  for seed in $seeds; do
    start=$(date +%s.%N)
    "$murmurate" train "$config" --seed "$seed" --quiet --set "run.name=$rule-$seed" \
      --set run.log_interval_s=0.001 --set "parameters.rule=\"$rule\"" \
      --set "parameters.window=$window" \
      --set "optimizer.learning_rate={from=$rate,to=$end}" >out.txt 2>&1 ||
      [[ $? == 1 ]] || { cat out.txt; exit 1; }
    wall_all+="$(awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { printf "%.2f", b - a }') "
    steps=$(reached "runs/$rule-$seed/progress.csv")
    reached_all+="${steps:-never} "
    greedy_all+="$("$murmurate" eval "$rule-$seed" | sed -n 's/^mean \([-0-9.]*\).*/\1/p') "
  done
  printf '| %s | %s | %s | %s| %s | %s| %s s |\n' "$rule" "$rate" "$window" "$reached_all" \
    "$(median "$reached_all")" "$greedy_all" "$(median "$wall_all")"
}

echo '| rule | rate | window | first reached at step, by seed | median | greedy, by seed | wall, median |'
echo '| --- | --- | --- | --- | --- | --- | --- |'
while read -r rule rate window; do
  if (($# > 0)) && [[ " $* " != *" $rule "* ]]; then continue; fi
  measure "$rule" "$rate" "$window" </dev/null
done < <(rows)
