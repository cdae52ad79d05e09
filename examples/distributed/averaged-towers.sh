#!/usr/bin/env bash
# The example averaged-towers with a tower for each GPU of this host, or without one two towers on the
# processor; ends by itself:
#   examples/distributed/averaged-towers.sh [arguments of every tower, such as --set data.passes=5]
# TOWERS=4 starts so many. Runs are runs/averaged-towers and runs/averaged-towers/learner-1 ...
set -euo pipefail
export MURMURATE=${MURMURATE:-murmurate}

gpus=$(nvidia-smi --list-gpus 2>/dev/null | wc -l || true)
export GPUS=$gpus
towers=${TOWERS:-$((gpus > 0 ? gpus : 2))}
if ! command -v mpirun >/dev/null; then
  echo "averaged-towers.sh: there is no mpirun; install openmpi-bin" >&2
  exit 5
fi
exec mpirun --oversubscribe -n "$towers" bash -c '
  device=()
  if [ "$GPUS" -gt 0 ]; then
    device=(--set "model.device=cuda:${OMPI_COMM_WORLD_LOCAL_RANK:-${SLURM_LOCALID:-0}}")
  fi
  exec "$MURMURATE" train averaged-towers "${device[@]}" "$@"' tower "$@"
