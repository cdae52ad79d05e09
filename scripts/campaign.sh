#!/usr/bin/env bash
# What dies in the middle of training around a parameter server, rule by rule:
#
#   scripts/campaign.sh [-n 20] [-c 4] [-f 1] [-j 4] [RULE...] >campaign.tsv
#
# examples/distributed/RULE.toml (the parabola; four workers, one shard), all ten rules unless some
# are named. -n runs of each rule lose something to kill -9 three times, each at a random moment of
# the first worker's way through its data: a worker between 10 and 25 % of it, the shard between 30
# and 45 %, then another worker and the shard together between 50 and 65 %. So each of the three
# happens -n times a rule, and two of four workers are left. -j runs go on at a time. Each rule has as
# many passes (times -f) as it needs to come near what it can reach; passes_of says how many.
#
# Checked of each run:
#   failed   it did not end by itself within 90 s with exit code 0, or its loss cannot be read
#   left     it left a process behind
#   lost     an update that had been committed is gone: the shard was started again from a checkpoint
#            older than one that lay there before it was killed. Or its merges are not as many as the
#            pushes that it knows of each worker, who number them: one that is missing was lost, one
#            too many merged twice. (Under sync and sagn: fewer merges than the first worker took part
#            in. Not for the elastic rules: nothing is pushed again, as an old x_i would pull the
#            center back.)
#   above    its loss is above the band: twice the worse loss of two undisturbed runs with its seed, one
#            with four workers and one with two, with as many updates of each worker. Who lost two
#            workers must not end worse than who never had them. There are -c seeds, which say how a
#            model begins. A loss is train/loss of the first worker, the mean over the last tenth of
#            its updates (last-loss.awk); ratio is the loss over the worse undisturbed one. Two
#            runs are few where workers do not wait for each other: no two are alike. So -n more in
#            which four workers learn and nothing dies are judged by the same band: calm_above.
#   partial  less was tried than was meant: it ended before everybody was killed, or before the shard
#            was there again, or the shard was killed before its first checkpoint: with nothing to lose
#
# stdout: tab-separated, a header and a row a rule. stderr: a line for each step of the way and each
# run that is not as it should be. Exit code 1 if one failed, left or lost something; partial and
# above the band are for a person to judge.
#
# Time: for all ten rules 19 minutes on two cores that others used at the same time; a barrier waits 3 s
# for each of the two workers.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
murmurate=$(realpath "${MURMURATE:-$here/build/release/server/murmurate}")
trials=20 calm=4 factor=1 jobs=4 limit_s=90
while getopts n:c:f:j: option; do
  case $option in
    n) trials=$OPTARG ;;
    c) calm=$OPTARG ;;
    f) factor=$OPTARG ;;
    j) jobs=$OPTARG ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
rules=${*:-asgd downpour agn adag dynsgd sync sagn easgd aeasgd aeamsgd}
work=$(mktemp -d)

# Processes that work in this folder and have $1 in their command line.
of() {
  local pid
  for pid in $(pgrep -f -- "$1" || true); do
    [[ $(readlink "/proc/$pid/cwd" 2>/dev/null) == "$work" && $pid != "$BASHPID" ]] && echo "$pid"
  done
  return 0
}
end_all() {
  local pid
  for pid in $(of "murmurate (train|params)"); do kill -9 "$pid" 2>/dev/null || true; done
}
# Whatever ends this ends what it started: every process of the campaign works in this folder.
trap 'end_all; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work"
cp "$here"/examples/distributed/*.toml .

say() { echo "$(date +%T) $*" >&2; }
# Column $2 of progress.csv of folder $1: "" while there is none.
column() {
  awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next }
    NF >= c && $c != "" { value = $c } END { print value }' "$1/progress.csv" 2>/dev/null || true
}
# "-" where no loss was written.
loss() {
  [[ -r $1/progress.csv ]] || { echo -; return; }
  awk -f "$here/scripts/last-loss.awk" "$1/progress.csv"
}
# The newest checkpoint of the shard of run $1, by its merges: 0 if there is none.
merges() {
  local newest
  newest=$(find "runs/$1/shard-0/models/default/checkpoints" -name "step-*" 2>/dev/null |
    sed 's/.*step-0*//' | sort -n | tail -1) || true
  echo "${newest:-0}"
}
# Starts run $2 of rule $1 with seed $3, $4 workers and $5 passes over the part of each; its process
# is $pid, and it has until $ends.
start() {
  ends=$((SECONDS + limit_s))
  "$murmurate" train "$1.toml" --quiet --learners "$4" --shards 1 --set "run.name=$2" \
    --set "run.seed=$3" --set "data.passes=$5" --set checkpoint.every_s=0.1 >"$2.txt" 2>&1 &
  pid=$!
}
in_time() { ((SECONDS < ends)); }
# The run goes on, and may.
goes_on() { kill -0 "$pid" 2>/dev/null && in_time; }
# Its exit code, or "hung", in $code.
await() {
  while goes_on; do sleep 0.1; done
  code=0
  if kill -9 "$pid" 2>/dev/null; then code=hung; fi
  if [[ $code == hung ]]; then wait "$pid" 2>/dev/null || true; else wait "$pid" || code=$?; fi
}
# Until the first worker of run $1 has learned from $2 items (its first column), or the run has ended.
reach() {
  local at
  while goes_on; do
    IFS=, read -r at _ < <(tail -n 1 "runs/$1/progress.csv" 2>/dev/null) || true
    [[ ! ${at-} =~ ^[0-9]+$ ]] || ((at < $2)) || return 0
    sleep 0.05
  done
}

# One undisturbed run; its loss in $2.loss. Arguments as of start.
undisturbed() {
  start "$@"
  await
  if [[ $code != 0 ]]; then
    say "$2, undisturbed: $code: $(tail -1 "$2.txt")"
    return
  fi
  loss "runs/$2" >"$2.loss"
  if [[ $(<"$2.loss") == - ]]; then rm "$2.loss" && say "$2, undisturbed: wrote no loss"; fi
}

# What is counted of the killed in a result: "shard" or "learner".
kills() { printf '%s\n' "${killed[@]}" | grep -c "$1" || true; }

# Of disturbed: killed workers and shards, failed, left, lost, partial, loss, ratio.
result() {
  printf '%s\t' "$(kills learner)" "$(kills shard)" "$failed" "$left" "$lost" "$partial" "$end"
  echo "$ratio"
}
# Run $2 of rule $1 with its three moments, with seed $3 and $4 passes; what came of it in $2.result.
disturbed() {
  local rule=$1 run=$2 seed=$3 passes=$4 complaint='' failed=1 left=0 lost=0 partial=0 end=- ratio=-
  local remaining before=() killed=() dead=' ' whole=$((250 * $4))
  result >"$run.result" # of a run that this cannot be said of: it has failed
  RANDOM=${run##*-}
  start "$rule" "$run" "$seed" 4 "$passes"
  strike 10 25 learner
  strike 30 45 shard
  strike 50 65 learner shard
  await
  if ((${#killed[@]} != 4)); then
    partial=1 complaint+=" killed ${killed[*]:-nobody};"
  fi
  [[ $code == 0 ]] || complaint+=" ended with $code: $(tail -1 "$run.txt");"
  sleep 0.3
  remaining=$(of "runs/$run/")
  if [[ -n $remaining ]]; then
    left=1
    complaint+=" left $(wc -w <<<"$remaining") processes;"
    # shellcheck disable=SC2086  # process numbers are words
    kill -9 $remaining 2>/dev/null || true
  fi
  if [[ $code == hung ]]; then partial=1; else check_updates; fi
  [[ $code != 0 ]] || judge_loss
  [[ -z $complaint ]] || say "$run:$complaint"
  result >"$run.result"
  touch "$run.over"
  rm -rf "runs/$run"
}
# Of disturbed: the loss of a run that ended well.
judge_loss() {
  end=$(loss "runs/$run")
  if [[ $end == - ]]; then
    complaint+=" wrote no loss;"
    return
  fi
  failed=0
  ratio=$(ratio_of "$end" "$rule" "$seed")
  if is_above <<<"$ratio"; then complaint+=" loss $end, $ratio times the undisturbed;"; fi
}
# Loss $1 of rule $2 over the worse undisturbed one with seed $3.
ratio_of() {
  awk -v l="$1" '{ w = $1 > w ? $1 : w } END { print l / w }' "$2"-{four,two}-"$3.loss"
}
count_above() { awk '$1 != "-" && $1 > 2 { n++ } END { print n + 0 }'; }
is_above() { awk '{ exit !($1 > 2) }'; }
# Of disturbed: at a moment between $1 and $2 % of the way the others die: the shard, or a learner
# that is still there (but the first). Who they are is found before, so that the moment is met.
strike() {
  local victim process processes=() names=() i
  for victim in "${@:3}"; do
    process=$(until_one "$victim")
    [[ -n $process ]] || continue
    [[ $victim == shard ]] || victim=$(name_of "$process")
    processes+=("$process") names+=("$victim")
  done
  reach "$run" "$((whole * ($1 * 1000 + ($2 - $1) * (RANDOM % 1000)) / 100000))"
  goes_on || return 0
  [[ ${!#} != shard ]] || before+=("$(merges "$run")")
  for i in "${!processes[@]}"; do
    if kill -9 "${processes[i]}" 2>/dev/null; then
      killed+=("${names[i]}") dead+="${processes[i]} "
    fi
  done
}
# A random one of the shard's or the other learners' processes ($1) that nobody has killed, as soon
# as there is one, while the run goes on. A learner that has not begun is none: who dies then ends
# the run.
until_one() {
  local pattern="params runs/$run/config.toml" process
  [[ $1 == shard ]] || pattern="train runs/$run/config.toml .*run.name=\"learner-"
  while goes_on; do
    for process in $(of "$pattern" | shuf); do
      [[ $dead != *" $process "* ]] || continue
      [[ $1 == shard || -e runs/$run/$(name_of "$process")/address.json ]] || continue
      echo "$process"
      return
    done
    sleep 0.02
  done
}
# The run.name of process $1.
name_of() {
  { tr '\0' '\n' <"/proc/$1/cmdline" | sed -n 's/^run.name="\(.*\)"$/\1/p'; } 2>/dev/null || true
}
# Of disturbed: whether a committed update is gone.
check_updates() {
  local went_on=() i
  mapfile -t went_on < <(sed -n 's/.*goes on from .*step-0*/from /p; s/.* shard 0 of 1 on .*/on/p' \
    "runs/$run/shard-0/log.txt" | awk '$1 == "from" { at = $2 } $1 == "on" { print at + 0; at = 0 }')
  for i in "${!before[@]}"; do # the shard's life i + 1 began there
    if [[ -n ${went_on[i + 1]-} ]] && ((went_on[i + 1] < before[i])); then
      lost=1
      complaint+=" began again at ${went_on[i + 1]} of ${before[i]} merges;"
    fi
  done
  if ((${#went_on[@]} <= $(kills shard))); then
    partial=1 complaint+=" ended before the shard was there again;"
    return
  fi
  if [[ " ${went_on[*]:1} " == *" 0 "* ]] && ((lost == 0)); then # it counts from there on
    partial=1 complaint+=" the shard was killed before its first checkpoint;"
    return
  fi
  local at steps state=runs/$run/shard-0/models/default/checkpoints/latest/state.json
  at=$(merges "$run")
  case $rule in
    easgd | aeasgd | aeamsgd) ;;
    sync* | sagn)
      steps=$(column "runs/$run" train/updates)
      steps=$((${steps:-0} / $(window_of "$rule") - 1))
      ((at >= steps)) || lost=1 complaint+=" $at merges, but the first worker took part in $steps;"
      ;;
    *)
      steps=no
      [[ ! -r $state ]] || steps=$(steps_of "$state")
      [[ $at == "$steps" ]] || lost=1 complaint+=" $at merges of $steps pushes;"
      ;;
  esac
}
# The last pushes of all workers, each of which numbers its own, in a shard's state: six words each.
steps_of() {
  awk '/"shard.workers"/ { on = 1; next } /\]/ { on = 0 }
    on { gsub(/[^0-9]/, ""); if (++n % 6 == 3) sum += $0 } END { print sum + 0 }' "$1"
}
passes_of() {
  local passes=1000
  case $1 in
    sagn | downpour) passes=1600 ;;
    dynsgd) passes=2000 ;;
    agn | adag | aeasgd | aeamsgd) passes=3000 ;;
  esac
  awk -v p="$passes" -v f="$factor" 'BEGIN { print 2 * int(p * f / 2) }'
}
window_of() {
  local window
  window=$(sed -n 's/^window = \([0-9]*\).*/\1/p' "$1.toml")
  echo "${window:-1}"
}

# Of the -n runs' $1-th.
seed_of() { echo $((($1 - 1) % calm + 1)); }
# At most -j at a time.
beside() {
  while (($(jobs -rp | wc -l) >= jobs)); do wait -n || true; done
  "$@" &
}
# Of numbers on stdin ("-" is none), the one at $1 % of their order.
at_percent() {
  sort -g | awk -v p="$1" '$1 != "-" { v[++n] = $1 } END { print n ? v[int(1 + (n - 1) * p / 100)] : "-" }'
}
# The sum of column $1 of a rule's results.
sum() { cat "$rule"-[0-9]*.result | awk -F'\t' -v c="$1" '{ s += $c } END { print s + 0 }'; }

bad=0
printf 'rule\tpasses\truns\tworkers_killed\tshards_killed\tfailed\tleft\tlost\tpartial\t'
printf 'four_median\tfour_worst\ttwo_median\ttwo_worst\t'
printf 'median\tworst\tratio_worst\tabove\tcalm_above\tseconds\n'
for rule in $rules; do
  begun=$SECONDS passes=$(passes_of "$rule")
  say "$rule: $passes passes; $calm undisturbed runs of four workers and of two"
  for ((i = 1; i <= calm; i++)); do
    beside undisturbed "$rule" "$rule-four-$i" "$i" 4 "$passes"
    beside undisturbed "$rule" "$rule-two-$i" "$i" 2 $((passes / 2))
  done
  wait
  for ((i = 1; i <= calm; i++)); do
    [[ -s $rule-four-$i.loss && -s $rule-two-$i.loss ]] || exit 1 # it has said why
  done
  say "$rule: $trials runs in which something dies, and as many in which nothing does"
  for ((i = 1; i <= trials; i++)); do
    beside disturbed "$rule" "$rule-$i" "$(seed_of "$i")" "$passes"
  done
  wait
  for ((i = 1; i <= trials; i++)); do
    beside undisturbed "$rule" "$rule-calm-$i" "$(seed_of "$i")" 4 "$passes"
  done
  wait
  for ((i = 1; i <= trials; i++)); do
    [[ -e $rule-$i.over ]] || say "$rule-$i: failed, because this script did not come to its end"
    [[ -s $rule-calm-$i.loss ]] || bad=$((bad + 1)) # it has said why
  done
  losses=$(cut -f7 "$rule"-[0-9]*.result) ratios=$(cut -f8 "$rule"-[0-9]*.result)
  above=$(count_above <<<"$ratios")
  calm_above=$(for ((i = 1; i <= trials; i++)); do
    [[ ! -s $rule-calm-$i.loss ]] || ratio_of "$(<"$rule-calm-$i.loss")" "$rule" "$(seed_of "$i")"
  done | count_above)
  printf '%s\t' "$rule" "$passes" "$trials" "$(sum 1)" "$(sum 2)" "$(sum 3)" "$(sum 4)" "$(sum 5)" \
    "$(sum 6)"
  for kind in four two; do
    printf '%s\t' "$(cat "$rule-$kind"-*.loss | at_percent 50)" \
      "$(cat "$rule-$kind"-*.loss | at_percent 100)"
  done
  printf '%s\t' "$(at_percent 50 <<<"$losses")" "$(at_percent 100 <<<"$losses")" \
    "$(at_percent 100 <<<"$ratios")" "$above"
  printf '%s\t%s\n' "$calm_above" $((SECONDS - begun))
  say "$rule: $(sum 3) failed, $(sum 4) left processes, $(sum 5) lost updates, $(sum 6) partial," \
    "$above above the band ($calm_above of as many in which nothing dies)"
  bad=$((bad + $(sum 3) + $(sum 4) + $(sum 5)))
done
((bad == 0))
