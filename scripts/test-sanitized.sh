#!/usr/bin/env bash
# Builds with AddressSanitizer and UndefinedBehaviorSanitizer and runs the suite under them.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-packages.sh test
scripts/build.sh asan
exec ctest --preset asan -j "$(nproc)" "$@"
