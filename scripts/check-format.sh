#!/usr/bin/env bash
# Fails, naming the places, when a tracked C or C++ file is not as clang-format would write it.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -z '*.h' '*.c' '*.cc' '*.cpp' | xargs -0 clang-format --dry-run --Werror
echo "format: fine"
