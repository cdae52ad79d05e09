#!/usr/bin/env bash
# Configures (once) and builds one preset:  scripts/build.sh PRESET [cmake --build arguments...]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
# Clones in other folders share what the compiler cache knows.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
free_kib=$(df -Pk . | awk 'NR==2 {print $4}')
if [ "$free_kib" -lt 1048576 ] && [ ! -d "build/$preset" ]; then
  echo "murmurate: the build needs about 1 GiB of disk, $((free_kib / 1024)) MiB are free in $PWD;" \
       "free some and try again" >&2
  exit 5
fi
if [ ! -e "build/$preset/build.ninja" ]; then
  mkdir -p "build/$preset"
  cmake --preset "$preset" >"build/$preset/configure.log" 2>&1 || {
    tail -n 20 "build/$preset/configure.log" >&2
    rm -f "build/$preset/CMakeCache.txt"
    echo "murmurate: could not configure; the whole output is in build/$preset/configure.log" >&2
    exit 70
  }
fi
cmake --build --preset "$preset" "$@"
