#!/usr/bin/env bash
# The shard and the four learners of sync-rates.toml, started one by one, as on several hosts; ends
# by itself:
#   examples/distributed/sync-rates.sh [arguments of every worker, such as --set data.passes=30]
# Runs are runs/sync-rates-0 to runs/sync-rates-3; the shard is in runs/sync-rates-shard-0, and ends
# with the last of them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
murmurate=${MURMURATE:-$here/../../build/release/server/murmurate}
config=$here/sync-rates.toml

meeting=$(mktemp -d)
around=(--set run.learners=1 --set 'parameters.mode="server"' --set parameters.workers=4
  --set "parameters.shards=[\"ipc://$meeting/shard-0\"]")
started=()
finish() {
  for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
  wait
  rm -rf "$meeting"
}
trap finish EXIT

"$murmurate" params "$config" --shard 0 --fresh --quiet --dir runs/sync-rates-shard-0 \
  "${around[@]}" &
started+=($!)
for worker in 0 1 2 3; do
  "$murmurate" train "$config" --quiet "${around[@]}" --set "run.name=sync-rates-$worker" \
    --set "parameters.worker=$worker" --set "run.seed=$((worker + 1))" "$@" &
  started+=($!)
done
for learner in "${started[@]:1}"; do wait "$learner"; done
wait "${started[0]}"
