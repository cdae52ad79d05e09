#!/usr/bin/env bash
# A client to ship inside a game: static, position-independent, and with a libzmq that needs nothing but
# the C and C++ libraries (no libsodium, krb5, pgm, norm). Debian's libzmq.a is not position-independent,
# so libzmq is built from Debian's own source package, of the release this machine takes its packages from.
#   scripts/minimal-client.sh [--windows] [FOLDER]    (build/minimal-client, build/minimal-client-windows)
# leaves FOLDER/prefix (headers, libmurmurate_client.a, libzmq.a, pkg-config, CMake) and, as an example
# linked against it, FOLDER/plugin.so, whose size and libraries it prints. --windows compiles for Windows
# with Debian's mingw-w64 and leaves FOLDER/game.exe instead.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
windows=false name=minimal-client
if [ "${1:-}" = --windows ]; then
  windows=true name=minimal-client-windows
  command -v x86_64-w64-mingw32-g++-posix >/dev/null || {
    echo "murmurate: no compiler for Windows here; install g++-mingw-w64-x86-64-posix" >&2; exit 5; }
  shift
fi
"$root/scripts/install-packages.sh" client
folder=$(realpath -m "${1:-$root/build/$name}")
prefix=$folder/prefix
mkdir -p "$folder"
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
# A linker can leave out what is never called.
sections="-ffunction-sections -fdata-sections"

# The source, from where apt takes its packages; apt's own lists and settings stay as they are.
fetch_libzmq() {
  local apt=$folder/apt
  mkdir -p "$apt/lists/partial"
  apt-get indextargets --format '$(CREATED_BY) $(ORIGIN) deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' |
    sed -n 's/^Packages Debian //p' | sort -u >"$apt/sources.list"
  [ -s "$apt/sources.list" ] || {
    echo "murmurate: apt knows no Debian packages here (apt-get update); get the source of zeromq3" \
         "yourself and unpack it as $folder/zeromq3" >&2
    exit 5
  }
  local options=(-qq -o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=-
                 -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache::srcpkgcache="
                 -o "Dir::Cache::pkgcache=" -o APT::Sandbox::User=)
  rm -rf "$folder/source"
  mkdir "$folder/source"
  (apt-get "${options[@]}" update && cd "$folder/source" && apt-get "${options[@]}" source zeromq3) || {
    echo "murmurate: apt does not give the source of zeromq3 here; get it yourself and unpack it as" \
         "$folder/zeromq3" >&2
    exit 5
  }
  mv "$folder"/source/zeromq3-*/ "$folder/zeromq3"
}

arguments=()
if $windows; then
  # Of this machine's headers those alone that are the same everywhere.
  mkdir -p "$folder/headers"
  ln -sfn /usr/include/flatbuffers /usr/include/xxhash.h /usr/include/zmq.hpp -t "$folder/headers"
  arguments=(-DCMAKE_TOOLCHAIN_FILE="$root/cmake/windows.cmake" -DZMQ_HAVE_IPC=OFF
             -DFLATBUFFERS_INCLUDE="$folder/headers" -DXXHASH_INCLUDE="$folder/headers"
             -DCPPZMQ_INCLUDE="$folder/headers")
fi

build() { # SOURCE BUILD-FOLDER cmake-arguments...: built and installed into the prefix
  cmake -S "$1" -B "$2" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DCMAKE_C_FLAGS="$sections" -DCMAKE_CXX_FLAGS="$sections" "${arguments[@]}" "${@:3}" >"$2.log" 2>&1 &&
    cmake --build "$2" >>"$2.log" 2>&1 && cmake --install "$2" >>"$2.log" 2>&1 || {
      tail -n 20 "$2.log" >&2
      echo "murmurate: could not build $1; the whole output is in $2.log" >&2
      exit 70
    }
}

[ -d "$folder/zeromq3" ] || fetch_libzmq
build "$folder/zeromq3" "$folder/zeromq3-build" -DBUILD_SHARED=OFF -DBUILD_STATIC=ON -DBUILD_TESTS=OFF \
  -DENABLE_CURVE=OFF -DWITH_LIBSODIUM=OFF -DWITH_LIBBSD=OFF -DWITH_OPENPGM=OFF -DWITH_NORM=OFF \
  -DWITH_VMCI=OFF -DENABLE_WS=OFF -DENABLE_DRAFTS=OFF -DENABLE_CPACK=OFF -DWITH_DOCS=OFF \
  -DWITH_PERF_TOOL=OFF -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
if $windows; then export PKG_CONFIG_LIBDIR=$PKG_CONFIG_PATH; fi
build "$root" "$folder/client-build" -DMURMURATE_CLIENT_ONLY=ON

if $windows; then
  x86_64-w64-mingw32-g++-posix -std=c++20 -O2 -static "$root/examples/game/game.cpp" \
    $(pkg-config --cflags --libs murmurate) -Wl,--gc-sections -o "$folder/game.exe"
  x86_64-w64-mingw32-strip "$folder/game.exe"
  echo "$folder/game.exe: $(stat -c %s "$folder/game.exe") bytes, stripped; it needs" \
    "$(x86_64-w64-mingw32-objdump -p "$folder/game.exe" | awk '/DLL Name/ {print $3}' | xargs)"
  exit 0
fi

# Nothing but the plug-in's own functions is seen from outside, whatever else is in the game.
echo '{ global: plugin_*; local: *; };' >"$folder/plugin.map"
"${CXX:-g++}" -std=c++20 -O2 -fPIC -shared "$root/examples/plugin/plugin.cpp" \
  $(pkg-config --cflags --libs murmurate) -Wl,--version-script="$folder/plugin.map" -Wl,--gc-sections -Wl,-z,defs \
  -o "$folder/plugin.so"
strip "$folder/plugin.so"
echo "$folder/plugin.so: $(stat -c %s "$folder/plugin.so") bytes, stripped"
echo "it exports: $(nm -D --defined-only "$folder/plugin.so" | awk '{print $3}' | xargs)"
ldd "$folder/plugin.so"
