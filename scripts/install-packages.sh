#!/usr/bin/env bash
# Installs the Debian packages that are missing, and only then touches the network.
#   scripts/install-packages.sh client|build|test|ci|stories
# client: what the client alone needs, with libzmq's source.  build: what ./run and the Debian packages
# need, and a Python to play from.  test: also a broker for the tests.  ci: also the checkers, and a
# compiler for Windows.  stories: what makes a clean Debian (scripts/stories.sh).
set -euo pipefail

client=(build-essential cmake ninja-build ccache pkg-config libzmq3-dev cppzmq-dev
        libflatbuffers-dev flatbuffers-compiler libboost-dev libxxhash-dev)
build=("${client[@]}" file libcli11-dev libtomlplusplus-dev libspdlog-dev nlohmann-json3-dev libgtest-dev
       libgmock-dev libbenchmark-dev openmpi-bin libopenmpi-dev libmosquitto-dev libhdf5-dev libcpp-httplib-dev libjs-chart.js
       python3-venv)
test=(mosquitto mosquitto-clients openssl zsh mandoc man-db groff systemd)
# ci also: a browser and Prometheus, which open the live page in its tests.
ci=(chromium prometheus clang-format git doxygen lintian g++-mingw-w64-x86-64-posix)
stories=(debootstrap git python3)

case "${1:-build}" in
  client) wanted=("${client[@]}") ;;
  build) wanted=("${build[@]}") ;;
  test) wanted=("${build[@]}" "${test[@]}") ;;
  ci) wanted=("${build[@]}" "${test[@]}" "${ci[@]}") ;;
  stories) wanted=("${stories[@]}") ;;
  *) echo "usage: scripts/install-packages.sh client|build|test|ci|stories" >&2; exit 2 ;;
esac

missing=()
for package in "${wanted[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "murmurate: missing packages (${missing[*]}); run this as root or install sudo" >&2; exit 5; }
  as_root=(sudo)
fi
echo "murmurate: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1 </dev/null
}
if ! install; then
  { "${as_root[@]}" apt-get update >"$log" 2>&1 </dev/null && install; } || {
    reason=$(grep -m1 -E '^(E:|W:|dpkg:)' "$log" || tail -n1 "$log")
    echo "murmurate: could not install ${missing[*]}: $reason; check the network, the disk and the" \
         "package sources (Debian 12 main), then try again" >&2
    exit 5
  }
fi
