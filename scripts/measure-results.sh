#!/usr/bin/env bash
# The table of docs/results.md: what is learned, in how many steps, and how well it is then played.
#
#   scripts/measure-results.sh [-s "301 302 303 304 305"] [-p docs/pictures] [ROW...]
#
# For each row its config, seed after seed: the first step at which the mean raw return of the last
# 100 training episodes reaches the row's target, the mean at the end, wall seconds, and the mean of
# 100 greedy episodes with the result. Prints one line a seed and one line a row, as Markdown; with
# -p it writes a picture of each row's curves there. Rows whose config is not there are left out.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
murmurate=${MURMURATE:-$here/build/release/server/murmurate}
seeds="301 302 303 304 305" pictures=""
while getopts s:p: option; do
  case $option in
    s) seeds=$OPTARG ;;
    p) pictures=$(mkdir -p "$OPTARG" && cd "$OPTARG" && pwd) ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))

# row: config, target, within so many steps, further arguments of train
rows() {
  cat <<'ROWS'
cartpole            cartpole         475    100000
cartpole-impala     cartpole-impala  475    500000
cartpole-a2c        cartpole-a2c     475    500000
pendulum            pendulum         -250   300000
catch               catch            0.95   300000
catch-impala        catch-impala     0.95   300000
gridworld           gridworld        0.845  400000
recall              recall           0.95   100000
recall-forgetful    recall           0.95   100000
recall-long         recall-long      0.95   1500000
recall-long-forgetful recall-long    0.95   1500000
cartpole-4-actors   cartpole         475    150000  --actors 4 --agents 2
cartpole-1-actor    cartpole         475    150000  --actors 1 --agents 2
cartpole-impala-4-actors cartpole-impala 475 500000 --actors 4 --agents 2
cartpole-impala-1-actor cartpole-impala 475 500000  --actors 1 --agents 2
ROWS
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# The first step with 100 episodes behind it and a mean of at least the target; nothing if never.
reached() {
  awk -F, -v target="$2" '
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    $column["rollout/episodes"] >= 100 && $column["rollout/ep_rew_mean"] != "" &&
    $column["rollout/ep_rew_mean"] + 0 >= target + 0 { print $1; exit }' "$1"
}

# What column $1 of $2 says, from the row on that has 100 episodes behind it.
column() {
  awk -F, -v name="$1" '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $at["rollout/episodes"] >= 100 && $at[name] != "" { print $at[name] }' "$2"
}

# A config without the memory that it asks for: the same layers, but none that recurs.
forgetful() {
  sed -E '/^(recurrent|keep_bias)/d; s/^layers = \[\]/layers = [32]/' "$here/examples/configs/$1.toml"
}

measure() {
  local row=$1 config=$2 target=$3 within=$4 seed run start seconds steps mean highest eval reached_all=""
  shift 4
  local steps_list="" greedy_list="" wall_list="" runs=()
  if [[ $row == *-forgetful ]]; then
    forgetful "$config" >"$row.toml"
    config=$row.toml
    set --
  fi
  for seed in $seeds; do
    run=$row-$seed
    start=$(date +%s.%N)
    "$murmurate" train "$config" --seed "$seed" --quiet --set "run.name=$run" \
      --set run.log_interval_s=0.001 "$@" >out.txt 2>&1 || [[ $? == 1 ]] || { cat out.txt; exit 1; }
    seconds=$(awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { printf "%.2f", b - a }')
    steps=$(reached "runs/$run/progress.csv" "$target")
    mean=$(column rollout/ep_rew_mean "runs/$run/progress.csv" | tail -n 1)
    highest=$(column rollout/ep_rew_mean "runs/$run/progress.csv" | sort -g | tail -n 1)
    eval=$("$murmurate" eval "$run" | sed -n 's/^mean \([-0-9.]*\).*/\1/p')
    printf '    %-24s seed %3d  reached %7s  mean at the end %8s, highest %8s  greedy %8s  wall %6.2f s\n' \
      "$row" "$seed" "${steps:-never}" "$mean" "$highest" "$eval" "$seconds" >&2
    steps_list+="${steps:-never} " greedy_list+="$eval " wall_list+="$seconds " runs+=("$run")
  done
  printf '| %s | %s within %s | %s| %s | %s | %s |\n' "$row" "$target" "$within" "$steps_list" \
    "$(median "$steps_list")" "$greedy_list" "$(median "$wall_list") s"
  if [[ -n $pictures ]]; then
    "$murmurate" plot "${runs[@]}" -o "$pictures/$row.svg" --title "$row" --target "$target" --quiet
  fi
}

# "never" is more than every number.
median() {
  tr ' ' '\n' <<<"$1" | sed '/^$/d; s/never/1e18/' | sort -g |
    awk '{ v[NR] = $1 } END { m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
      if (m >= 1e18) print "never"; else print m }'
}

echo '| row | must reach | first reached at step, by seed | median | greedy, by seed | wall, median |'
echo '| --- | --- | --- | --- | --- | --- |'
while read -r row config target within arguments; do
  if (($# > 0)) && [[ " $* " != *" $row "* ]]; then continue; fi
  [[ -f $here/examples/configs/$config.toml ]] || continue
  # shellcheck disable=SC2086  # further arguments are words
  measure "$row" "$config" "$target" "$within" $arguments </dev/null
done < <(rows)
