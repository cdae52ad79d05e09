#!/usr/bin/env bash
# What a machine with an NVIDIA GPU says of murmurate, in two calls of less than nine minutes each. The
# machine needs a driver, the libraries of CUDA 13 (docs/gpu.md) and Python 3; PyTorch for `speed`.
#
#   scripts/gpu-campaign.sh build [FOLDER]     here, where a CUDA toolkit is and no GPU need be: one
#                                              folder of 60 MiB at most with all that the calls run
#                                              (build/gpu-campaign; $MURMURATE_BUILD: build/release)
#   FOLDER/gpu-campaign.sh correctness         there: kernels and engine against the processor, whole
#   FOLDER/gpu-campaign.sh speed               runs, failures; rows of docs/performance.md in turns
#                                              with PyTorch
#   scripts/gpu-campaign.sh record RESULTS     here: results.json of `speed` into docs/performance.md,
#                                              and the GPU's description into tests/fixtures/gpus
#
# The calls write results.json, table.txt, log.txt and device.json into $OUT (gpu-campaign-results),
# after each stage, whatever becomes of the next. Each stage has its own time limit; one that cannot
# run says why and is skipped. Exit code 0: nothing failed; 1: a stage failed; 5: there is no GPU, or
# what it needs is missing, as one sentence says.
#
# --device cuda:N takes another GPU. --device host --small tries a call without one: this processor
# takes the GPU's place, with sizes that it can compute.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
most_mib=60
programs="server/murmurate server/murmurate-sensors server/murmurate_device_cuda.so
  bench/bench_device_probe bench/bench_device_step tests/device/device_loss_test
  tests/device/device_network_test tests/device/device_models_test tests/device/device_trainer_test"

fail() { # code, sentence
  echo "murmurate: $2" >&2
  exit "$1"
}

# What every Linux machine has, in a version that belongs to its loader.
of_the_system='^(libc|libm|libdl|librt|libpthread|libresolv|libstdc\+\+|libgcc_s)\.so'

# Copies the program $1 to bin, stripped, and the libraries that a bare machine lacks to lib.
take() {
  local program=$1 name path
  strip --strip-unneeded -o "$folder/bin/$(basename "$program")" "$program"
  while read -r name path; do
    [[ $name =~ $of_the_system ]] || cp -L "$path" "$folder/lib/$name"
  done < <(ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }')
}

commit() {
  local name
  name=$(git -C "$root" rev-parse --short HEAD 2>/dev/null) || name=unknown
  git -C "$root" diff --quiet HEAD 2>/dev/null || name+=+changes
  echo "$name"
}

build() {
  root=$(dirname "$here")
  folder=$(realpath -m "${1:-$root/build/gpu-campaign}")
  local made=${MURMURATE_BUILD:-$root/build/release} program mib
  [[ -e $made/build.ninja ]] || "$root/scripts/build.sh" "$(basename "$made")" --target murmurate
  grep -q "^build murmurate_device_cuda:" "$made/build.ninja" ||
    fail 5 "no CUDA toolkit was found when $made was configured; docs/gpu.md says how to install one"
  # shellcheck disable=SC2086  # words
  cmake --build "$made" --target $programs >&2
  if [[ -e $folder && ! -e $folder/gpu-campaign.sh ]]; then
    fail 2 "$folder is there and is no folder of a campaign; name another"
  fi
  rm -rf "$folder"
  mkdir -p "$folder/bin" "$folder/lib"
  for program in $programs; do
    take "$made/$program"
  done
  program=$(PATH=$PATH:/usr/sbin command -v mosquitto) && take "$program" # of the example sensors
  cp -r "$root/scripts/gpu_campaign" "$root/scripts/gpu-campaign.sh" "$folder"
  rm -rf "$folder/gpu_campaign/__pycache__"
  cp "$root/python/bench/torch_step.py" "$root/examples/sensors/lossless.toml" "$folder"
  commit >"$folder/commit"
  mib=$(($(du -s --block-size=1K --apparent-size "$folder" | cut -f1) / 1024))
  ((mib < most_mib)) || fail 1 "$folder has $mib MiB, expected less than $most_mib"
  echo "$folder: $mib MiB, commit $(<"$folder/commit")"
}

case ${1:-} in
  build)
    shift
    build "$@"
    ;;
  correctness | speed | record)
    command -v python3 >/dev/null || fail 5 "python3 is not installed here"
    if [[ $1 != record && ! -d $here/bin ]]; then
      made=$(dirname "$here")/build/gpu-campaign
      [[ -d $made/bin ]] || fail 2 "there is no $made; say first: scripts/gpu-campaign.sh build"
      exec "$made/gpu-campaign.sh" "$@"
    fi
    PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/gpu_campaign" "$@"
    ;;
  *)
    sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0" >&2
    exit 2
    ;;
esac
