#!/usr/bin/env bash
# The Python package's tests, with the real Gymnasium and PettingZoo from PyPI, in a virtual
# environment that is made once:
#   scripts/python-tests.sh EXECUTABLE LIBRARY VENV [pytest arguments...]
# The package is installed as a user would, `pip install ./python`, with LIBRARY and the library of the parameter
# server inside. Exit code 77 and a sentence: not possible here.
set -euo pipefail
cd "$(dirname "$0")/../python"
executable=$1 library=$2 venv=$3
parameters=$(dirname "$library")/../server/parameters_abi/libmurmurate-parameters.so.1
shift 3

skip() {
  echo "skipped: $1" >&2
  rm -rf "$venv"
  exit 77
}
reason() { grep -m1 -E '^(ERROR|error)' "$venv.log" || tail -n1 "$venv.log"; }

wanted=$(cat tests/requirements.txt; python3 -VV)
if [ "$(cat "$venv/wanted" 2>/dev/null)" != "$wanted" ]; then
  rm -rf "$venv"
  mkdir -p "$(dirname "$venv")"
  python3 -m venv "$venv" >"$venv.log" 2>&1 ||
    skip "no virtual environment can be made (apt install python3-venv): $(reason)"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 2 --timeout 30 \
    -r tests/requirements.txt >"$venv.log" 2>&1 ||
    skip "PyPI does not give what the tests need: $(reason)"
  printf '%s\n' "$wanted" >"$venv/wanted"
fi

held=$(find pyproject.toml build_backend.py README.md src -type f -name '*[!c]' ! -name '*.so.1' | sort |
  xargs sha256sum; sha256sum "$library" "$parameters")
if [ "$(cat "$venv/held" 2>/dev/null)" != "$held" ]; then
  MURMURATE_LIBRARY=$library MURMURATE_PARAMETERS_LIBRARY=$parameters "$venv/bin/pip" install --quiet --disable-pip-version-check --no-index \
    --no-deps --force-reinstall . || exit 1
  printf '%s\n' "$held" >"$venv/held"
fi
unset MURMURATE_LIBRARY MURMURATE_PARAMETERS_LIBRARY PYTHONPATH
export MURMURATE_EXECUTABLE=$executable MYPY_CACHE_DIR=$venv/mypy
exec "$venv/bin/python" -m pytest -q -p no:cacheprovider tests "$@"
