#!/usr/bin/env bash
# A story of the README as it is typed, with what was built here in place of what its first lines install:
#   scripts/story-test.sh STORY CMAKE BUILD-FOLDER EXECUTABLE LIBRARY
# in a folder and a network of its own. Exit code 77 and a sentence: not possible here.
set -euo pipefail
scripts=$(cd "$(dirname "$0")" && pwd)
story=$1 cmake=$2 build=$3 executable=$4 library=$5

skip() {
  echo "skipped: $1" >&2
  exit 77
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$cmake" --install "$build" --prefix "$folder/prefix" >"$folder/install.log"
export PATH=$folder/prefix/bin:$PATH LD_LIBRARY_PATH=$folder/prefix/lib XDG_RUNTIME_DIR=$folder
export PKG_CONFIG_PATH=$folder/prefix/lib/pkgconfig
command=("$scripts/story.sh" play "$story")
case $story in
  researcher)
    venv=$build/python/venv
    "$scripts/python-tests.sh" "$executable" "$library" "$venv" --version >"$folder/venv.log" 2>&1 ||
      skip "$(tail -n1 "$folder/venv.log")"
    PATH=$venv/bin:$PATH
    ;;
  stream)
    PATH=$PATH:/usr/sbin
    for program in mosquitto mosquitto_sub; do
      command -v $program >/dev/null || skip "no $program here: apt install mosquitto mosquitto-clients"
    done
    # As its package starts it.
    broker='mosquitto -p 1883 2>broker.log & trap "kill $!" EXIT
      for i in $(seq 100); do mosquitto_pub -t ready -m yes 2>/dev/null && break; sleep 0.1; done; "$@"'
    command=(bash -c "$broker" broker "${command[@]}")
    ;;
esac
cd "$folder"
"$scripts/own-network.sh" true || skip "no network of its own"
"$scripts/own-network.sh" "${command[@]}"
