#!/usr/bin/env bash
# The stories of the README's first five minutes, as they stand there: nothing of them is repeated here.
#   scripts/story.sh lines STORY      what is typed, a line each          (STORY: game, researcher, stream)
#   scripts/story.sh file STORY NAME  one of the files that it shows
#   scripts/story.sh install STORY    types the lines that install, in this folder
#   scripts/story.sh play STORY       saves the files here, types the other lines, and looks at what comes of it
# What was typed and said is in session.txt. 127.0.0.1:7420 and localhost:1883 are used as they are
# found: own-network.sh makes them free.
set -euo pipefail
clone=$(cd "$(dirname "$0")/.." && pwd)

fail() {
  tell "$1"
  exit 1
}
tell() { echo "story $story: $1" >&4; }

section() { # the README from a heading to the next
  awk -v heading="### $title" '/^##/ { inside = $0 == heading } inside' "$clone/README.md"
}

# A fenced block of the section: of a language the first, the second..., or the one behind a line that
# ends in `NAME`:
block() { # LANGUAGE PLACE|NAME
  section | awk -v fence="\`\`\`$1" -v which="$2" '
    /^```/ && inside { exit }
    inside
    $0 == fence {
      end = "`" which "`:"
      inside = ++place == which || substr(before, length(before) - length(end) + 1) == end
    }
    NF { before = $0 }'
}

file() { # NAME
  local language=${1##*.}
  block "${language/#py/python}" "$1"
}

save() {
  local name
  for name in $(section | sed -n 's/^.*`\([a-z]*\.[a-z]*\)`:$/\1/p'); do file "$name" >"$name"; done
  # What a story plays is in the examples, not in the README: the tiny games.
  if [ "$story" = game ]; then cp "$clone/examples/game/game.h" "$clone/examples/game/game_c.h" .; fi
}

installs() { [[ $1 == ./run* || $1 == *"apt install"* || $1 == *"pip install"* ]]; }

enter() { # as typed, in this shell, which shows the line first and how long it took behind it
  local began=$SECONDS
  echo "\$ $1"
  eval "$1" || return
  echo "($((SECONDS - began)) s)"
}

type_lines() { # install|play; a person reads where the learner listens before he goes on
  local line
  while read -r line <&3; do
    if installs "$line"; then [ "$1" = install ] || continue; else [ "$1" = play ] || continue; fi
    enter "$line" 3<&-
    if [[ $line == "murmurate serve"* ]]; then
      eventually 20 grep -q "^murmurate serves" session.txt || fail "the learner does not start"
    fi
  done 3< <(block sh 1)
}

eventually() { # SECONDS CONDITION...: whether it holds before they have passed
  local until=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $until ] || return 1
    sleep 0.1
  done
}

end_session() { # and what lines that end in & left running
  local code=$? pids
  if [ $code != 0 ]; then
    tell "not as written; the session's end:"
    tail -n 30 session.txt >&4
  fi
  pids=$(jobs -p)
  [ -z "$pids" ] || kill $pids 2>/dev/null || true
  wait || true
}

number() { # NAME: of the model or stream that the live learner tells of
  murmurate status --json | sed -n "s/^ *\"$1\": \([0-9]*\).*/\1/p" | tail -n1
}

wins() { # head|tail FILE: in how many of the first or last 500 rounds the flag was reached
  sed -n 's/^round [0-9]*: the flag was reached \([0-9]*\) times.*/\1/p' "$2" | "$1" -n1
}
expect_wins() { # head|tail FILE WHAT
  local count
  count=$(wins "$1" "$2")
  [ "${count:-0}" -ge 375 ] || fail "$3: the flag was reached ${count:-0} times of 500"
  tell "$3: the flag was reached $count times of 500"
}

look_at_game() {
  expect_wins tail session.txt "at first $(wins head session.txt), at last"
  [ "$(number trained_steps)" -ge 10000 ] || fail "the learner has trained on nothing"
  enter "$(section | sed -n 's/^.*`\(gcc [^`]*\)`.*$/\1/p')" >in_c.txt
  expect_wins tail in_c.txt "in C, at last"
  local line
  while read -r line; do enter "$line"; done < <(block sh 2)
  # The learner is gone. What the README says stands in place of Connect, and the file is played.
  mkdir -p shipped
  cp game.h npc.policy shipped
  awk -v open="$(block cpp 2)" '/mmr::Client::Connect/ { print open; next } 1' game.cpp >shipped/game.cpp
  (cd shipped && enter "$(block sh 1 | grep 'g++')" >said.txt)
  expect_wins head shipped/said.txt "the day it ships, from the first round on"
}

look_at_researcher() {
  local actors trained
  actors=$(jobs -p | tail -n 4)
  wait $actors || fail "an actor ended badly"
  trained=$(number trained_steps)
  [ "$trained" -ge 600000 ] || fail "only $trained of the actors' 800000 steps were trained on"
  tell "$trained steps of four actors were trained on"
  enter "python loop.py"
  [ "$(number trained_steps)" -gt $((trained + 100000)) ] || fail "the loop's steps were not trained on"
  tell "the loop's steps, too"
  murmurate stop cartpole
  local began=$SECONDS
  python actor.py 2>no_learner.txt &
  eventually 20 test -s no_learner.txt || fail "an actor without a learner says nothing"
  [ $((SECONDS - began)) -ge 3 ] || fail "an actor without a learner does not wait for three seconds"
  [ "$(wc -l <no_learner.txt)" = 1 ] && grep -q 'tcp://127.0.0.1:7420.*`murmurate serve`' no_learner.txt ||
    fail "an actor without a learner says $(cat no_learner.txt)"
  kill -0 $! || fail "an actor without a learner does not wait"
  tell "without a learner: $(cat no_learner.txt)"
  enter "$(block sh 2)" || fail "murmurate train cartpole does not solve it"
  tell "murmurate train cartpole: solved"
}

look_at_stream() {
  local forecasts messages devices kept
  messages=$(number messages)
  forecasts=$(grep -c '^sensors/[^ ]*/forecast {.*"forecast":' session.txt || true)
  [ "$messages" -gt 0 ] && [ "$forecasts" = "$messages" ] || fail "$forecasts forecasts came of $messages messages"
  [ "$(number trained_steps)" -gt 0 ] || fail "the learner has trained on nothing"
  tell "$forecasts forecasts, one of each message; $(number trained_steps) trained on"
  devices=$(number devices)
  kept=$(mosquitto_sub --retained-only -t 'sensors/+/forecast' -C "$devices" -W 10 | wc -l)
  [ "$kept" = "$devices" ] || fail "the broker keeps $kept forecasts of $devices devices"
  tell "the newest of each of $devices devices is retained"
}

story=${2:-}
case $story in
  game) title="A game developer" ;;
  researcher) title="A researcher" ;;
  stream) title="A stream engineer" ;;
  *) sed -n '3,6s/^# *//p' "$0" >&2; exit 2 ;;
esac
case $1 in
  lines) block sh 1 ;;
  file) file "$3" ;;
  install) type_lines install ;;
  play)
    exec 4>&1 >session.txt 2>&1
    trap end_session EXIT
    save
    if [ -f .venv/bin/activate ]; then . .venv/bin/activate; fi
    type_lines play
    "look_at_$story"
    ;;
esac
