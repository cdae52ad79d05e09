#!/usr/bin/env bash
# The example asynchronous-towers with a learner on each of two GPUs of this host, or without them on
# the processor, started one by one as on several hosts; ends by itself:
#   examples/distributed/asynchronous-towers.sh [arguments of every learner]
# Runs are runs/asynchronous-towers-learner-0 and -1; the shard ends with the last of them.
set -euo pipefail
murmurate=${MURMURATE:-murmurate}

gpus=$(nvidia-smi --list-gpus 2>/dev/null | wc -l || true)
meeting=$(mktemp -d)
around=(--set "parameters.shards=[\"ipc://$meeting/shard-0\"]")
started=()
finish() {
  for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
  wait
  rm -rf "$meeting"
}
trap finish EXIT

"$murmurate" params asynchronous-towers --shard 0 --fresh --quiet "${around[@]}" &
started+=($!)
for worker in 0 1; do
  device=()
  if [ "$gpus" -gt "$worker" ]; then device=(--set "model.device=cuda:$worker"); fi
  "$murmurate" train asynchronous-towers --worker "$worker" --quiet "${around[@]}" "${device[@]}" "$@" &
  started+=($!)
done
for learner in "${started[@]:1}"; do wait "$learner"; done
wait "${started[0]}"
