#!/usr/bin/env bash
# The shard and the four learners of the example sync-rates, started one by one, as on several hosts;
# ends by itself:
#   examples/distributed/sync-rates.sh [arguments of every worker, such as --set data.passes=30]
# Runs are runs/sync-rates-learner-0 to runs/sync-rates-learner-3; the shard is in
# runs/sync-rates-shard-0, and ends with the last of them.
set -euo pipefail
murmurate=${MURMURATE:-murmurate}

meeting=$(mktemp -d)
around=(--set "parameters.shards=[\"ipc://$meeting/shard-0\"]")
started=()
finish() {
  for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
  wait
  rm -rf "$meeting"
}
trap finish EXIT

"$murmurate" params sync-rates --shard 0 --fresh --quiet "${around[@]}" &
started+=($!)
for worker in 0 1 2 3; do
  "$murmurate" train sync-rates --worker "$worker" --quiet "${around[@]}" "$@" &
  started+=($!)
done
for learner in "${started[@]:1}"; do wait "$learner"; done
wait "${started[0]}"
