#!/usr/bin/env bash
# Four synchronous workers with learning rates of their own, around one shard; ends by itself:
#   examples/distributed/sync-rates.sh [arguments of every worker, such as --set data.passes=30]
# Runs are runs/sync-rates-0 to runs/sync-rates-3; the shard is in runs/sync-rates-shard-0. It is
# also how a cluster is started by hand: the shards, and each learner with its number. The shard ends
# with the last of them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
murmurate=${MURMURATE:-$here/../../build/release/server/murmurate}
config=$here/sync-rates.toml
rates=(0.4 0.2 0.1 0.05)

meeting=$(mktemp -d)
shards="parameters.shards=[\"ipc://$meeting/shard-0\"]"
started=()
finish() {
  for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
  wait
  rm -rf "$meeting"
}
trap finish EXIT

"$murmurate" params "$config" --shard 0 --fresh --quiet --dir runs/sync-rates-shard-0 \
  --set "$shards" &
started+=($!)
for worker in "${!rates[@]}"; do
  "$murmurate" train "$config" --quiet --set "run.name=sync-rates-$worker" --set "$shards" \
    --set "parameters.worker=$worker" --set "optimizer.learning_rate=${rates[$worker]}" \
    --set "run.seed=$((worker + 1))" "$@" &
  started+=($!)
done
for learner in "${started[@]:1}"; do wait "$learner"; done
wait "${started[0]}"
