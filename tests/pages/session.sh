#!/usr/bin/env bash
# Types a session: commands of the documents, word for word, in a folder and a network of its own.
#   tests/pages/session.sh SESSION CLONE MURMURATE LIBRARY VENV
# A session is lines of bash. Those that begin with "$ " are commands that a document shows: they are shown, and have
# to end with exit code 0; "1$ " expects exit code 1; "&$ " is typed in another terminal. A line that fails ends the
# session. What it may use besides is below. Exit code 77 and a sentence: not possible here.
set -euo pipefail
session=$1 clone=$2 executable=$3 library=$4 venv=$5
declare -A stand_ins=()

skip() {
  echo "skipped: $1" >&2
  exit 77
}
needs() { # PROGRAM PACKAGE
  command -v "$1" >/dev/null || skip "there is no $1 here: apt install $2"
}
needs_python() { PATH=$venv/bin:$PATH; } # the package, in the virtual environment of the Python tests
make_venv() { # which asks PyPI once, so it is made before the session has a network of its own
  local said
  said=$("$clone/scripts/python-tests.sh" "$executable" "$library" "$venv" --version 2>&1) ||
    skip "$(tail -n1 <<<"$said" | sed 's/^skipped: //')"
}
stand_in() { stand_ins[$1]=$2; } # WORD TEXT: what the reader writes for a word of the document
eventually() { # SECONDS CONDITION...: it holds before they have passed
  local until=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $until ] || return 1
    sleep 0.1
  done
}
live() { murmurate status "$@" | grep -q '^run '; } # a learner answers
type_command() { # EXIT_CODE|& TEXT
  local text=" $2 " word code=0
  for word in "${!stand_ins[@]}"; do text=${text// $word / ${stand_ins[$word]} }; done
  echo "\$$text  ($SECONDS s)"
  if [ "$1" = "&" ]; then
    eval "$text &"
    return
  fi
  eval "$text" || code=$?
  [ "$code" = "$1" ] || { echo "exit code $code, expected $1:$text"; return 1; }
}
end_session() {
  local code=$? pids
  murmurate cluster stop >/dev/null 2>&1 || true
  pids=$(jobs -p)
  [ -z "$pids" ] || kill $pids 2>/dev/null || true
  wait || true
  cd /
  rm -rf "$folder"
  exit "$code"
}

if [ "${SESSION_FOLDER:-}" = "" ]; then
  if grep -q '^needs_python' "$session"; then make_venv; fi
  "$clone/scripts/own-network.sh" true || skip "no network of its own"
  SESSION_FOLDER=$(mktemp -d) exec "$clone/scripts/own-network.sh" "$0" "$@"
fi
folder=$SESSION_FOLDER
trap end_session EXIT
cd "$folder"
mkdir -p build/release
ln -s "$(dirname "$executable")" build/release/server
ln -s "$clone"/{examples,scripts,docs} .
export PATH=$folder/build/release/server:$PATH:/usr/sbin XDG_RUNTIME_DIR=$folder HOME=$folder
while IFS= read -r line <&3; do
  if [[ $line =~ ^([0-9]+|&)?\$\ (.*)$ ]]; then
    type_command "${BASH_REMATCH[1]:-0}" "${BASH_REMATCH[2]}" 3<&-
  else
    eval "$line" 3<&- || { echo "this line of the session fails: $line"; exit 1; }
  fi
done 3<"$session"
