#!/usr/bin/env bash
# The main job, seed after seed: steps and seconds from process start until solved, then the greedy
# evaluation of the result.   scripts/measure-cartpole.sh [SEEDS=10] [murmurate train arguments...]
set -euo pipefail
murmurate=$(cd "$(dirname "$0")/.." && pwd)/build/release/server/murmurate
seeds=${1:-10}
shift || true
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
rows=()
for ((seed = 1; seed <= seeds; ++seed)); do
  start=$(date +%s.%N)
  "$murmurate" train cartpole --seed "$seed" --quiet --set "run.name=seed-$seed" "$@" >out.txt 2>&1 &&
    solved=yes || solved=no
  end=$(date +%s.%N)
  steps=$(tail -n 1 "runs/seed-$seed/progress.csv" | cut -d, -f1)
  mean=$("$murmurate" eval "seed-$seed" | sed -n 's/^mean \([0-9.]*\).*/\1/p')
  seconds=$(awk -v a="$start" -v b="$end" 'BEGIN {printf "%.2f", b - a}')
  printf 'seed %2d  solved %-3s  steps %7d  wall %5.2f s  eval %6.1f\n' \
    "$seed" "$solved" "$steps" "$seconds" "$mean"
  rows+=("$steps $seconds $mean")
done
printf '%s\n' "${rows[@]}" | awk '
  { steps[NR] = $1; wall[NR] = $2; good += $3 >= 475 }
  function sort(a, n,  i, j, t) { for (i = 2; i <= n; i++) for (j = i; j > 1 && a[j-1] > a[j]; j--) {
    t = a[j]; a[j] = a[j-1]; a[j-1] = t } }
  function median(a, n) { sort(a, n); return n % 2 ? a[(n+1)/2] : (a[n/2] + a[n/2+1]) / 2 }
  END { m = median(steps, NR); w = median(wall, NR)
    printf "median %d steps, %.2f s; worst %d steps, %.2f s; eval >= 475 in %d of %d seeds\n",
      m, w, steps[NR], wall[NR], good, NR }'
