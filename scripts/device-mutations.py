#!/usr/bin/env python3
"""Breaks the learner on a device in one place after another and shows which test notices.

    scripts/device-mutations.py [--write] [BUILD_FOLDER]

  * each SyncThreads of a kernel left out (device_races finds the race);
  * each Record and WaitFor of the engine left out;
  * each number of TrainingControl that the host changes from batch to batch kept as it was at the first pass, as a
    recorded graph would keep it.

Nothing is built: tests/device/host_mutation.h and tests/device/device_races.cc say how. Exit code 1:
something was not noticed. --write: the list goes to tests/device/mutations.txt as well.
"""

import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Programs that train on a host device, and those whose launches are recorded (as tests/device/CMakeLists.txt has them).
ENGINE = ["device/device_trainer_test"]
KERNELS = ["device/device_test", "device/device_loss_test", "device/device_network_test:*TakesFewer*:*/PoolTies*",
           "device/device_trainer_test:Agreement.OfModelsThat*"]
SECONDS = 120
# Of TrainingControl: the same for every batch of an engine, so that keeping them is right.
CONSTANT = {"dual_clip", "value_weight", "most_kl", "first_update"}


def run(program, mutation=None, options=()):
    """The exit code and the output of a test program; a test that hangs has failed."""
    environment = dict(os.environ)
    if mutation:
        environment["MURMURATE_DEVICE_MUTATION"] = mutation
    try:
        done = subprocess.run([program, "--gtest_fail_fast", *options], env=environment, timeout=SECONDS,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        return 124, (late.stdout or b"").decode(errors="replace")


def failed_test(output):
    """The first test that failed, or the one that was under way when the program ended."""
    found = re.search(r"^\[  FAILED  \] (\S+?),? ", output, re.MULTILINE)
    if found:
        return found[1]
    begun = re.findall(r"^\[ RUN      \] (\S+)", output, re.MULTILINE)
    return (begun[-1] if begun else "?") + " (ends the program)"


def functions(program, addresses):
    """The function that holds each address, and which of its calls it is: "DeviceBatch::Upload 1"."""
    before = [hex(int(address, 16) - 1) for address in addresses]  # in the call, not behind it
    lines = subprocess.run(["addr2line", "-Cfe", program, *before], check=True, stdout=subprocess.PIPE,
                           text=True).stdout.splitlines()[::2]
    count = collections.Counter()
    names = {}
    for address, line in sorted(zip(addresses, lines), key=lambda pair: int(pair[0], 16)):
        name = re.sub(r"\(.*", "", line.replace("murmurate::", "").replace("(anonymous namespace)::", "~"))
        count[name] += 1
        names[address] = f"{name} {count[name]}"
    return names


def listed(program):
    """All mutations that the program could run with, by their names."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "list"
        code, output = run(program, f"list {file}")
        if code != 0:
            sys.exit(f"{program} fails without a mutation:\n{output[-2000:]}")
        lines = file.read_text().split("\n")[:-1] if file.exists() else []
    events = [line.split()[1] for line in lines if line.startswith("event ")]
    names = functions(program, events) if events else {}
    found = {f"{names[event]}, event": f"event {event}" for event in events
             if "TestBody" not in names[event] and "~" not in names[event]}
    found.update({f"{line.split()[1]}, frozen": line for line in lines
                  if line.startswith("control ") and line.split()[1] not in CONSTANT})
    return found


def engine_mutations(build):
    """Which test notices each mutation of the engine; None: none does."""
    caught = {}
    for program in [build / "tests" / name for name in ENGINE]:
        for name, mutation in listed(program).items():
            if caught.get(name):
                continue
            code, output = run(program, mutation)
            caught[name] = failed_test(output) if code != 0 else None
            print(f"{name}: {caught[name] or 'MISSED'}", flush=True)
    return caught


def barrier_mutations(build):
    """The same for barriers of kernels: the kernel in which the race is seen."""
    races = build / "tests/device/device_races"
    if not races.exists():
        print("barriers are skipped: this build has no device_races (tests/device/CMakeLists.txt)")
        return {}
    done = subprocess.run([ROOT / "tests/device/races.sh", "--mutations", races, *[build / "tests" / name for name in KERNELS]],
                          stdout=subprocess.PIPE, text=True)
    print(done.stdout, end="", flush=True)
    caught = {}
    for place, kernel in re.findall(r"^(\S+:\d+) left out: (\S+)", done.stdout, re.MULTILINE):
        caught[f"{place}, SyncThreads"] = None if kernel == "MISSED" else kernel
    if done.returncode != 0 and all(caught.values()):
        sys.exit("device_races found something else")
    return caught


def main():
    words = [word for word in sys.argv[1:] if word != "--write"]
    build = pathlib.Path(words[0] if words else ROOT / "build/release")
    caught = {**barrier_mutations(build), **engine_mutations(build)}
    missed = [name for name, test in caught.items() if test is None]
    print(f"{len(caught)} mutations, {len(missed)} missed")
    if "--write" in sys.argv:
        lines = [f"{name}: {test or 'MISSED'}\n" for name, test in sorted(caught.items())]
        head = "# What scripts/device-mutations.py broke, and what noticed; --write writes the list anew.\n"
        (ROOT / "tests/device/mutations.txt").write_text(head + "".join(lines))
    sys.exit(1 if missed else 0)


main()
