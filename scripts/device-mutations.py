#!/usr/bin/env python3
"""Breaks the learner on a device in one place after another and shows which test notices.

    scripts/device-mutations.py [options] [BUILD_FOLDER]

  * each SyncThreads of a kernel left out (device_races finds the race);
  * each Record and WaitFor of the engine left out;
  * each number of TrainingControl that the host changes from batch to batch kept as it was at the first pass, as a
    recorded graph would keep it.

Nothing is built: tests/device/host_mutation.h and tests/device/device_races.cc say how. Exit code 1:
something was not noticed.

  --engine         nothing of kernels
  --filter REGEX   of the engine, those whose name has it; of kernels all, or none where it does not fit "SyncThreads"
  --seconds N      those of the engine in an order drawn by --seed, until so many seconds have passed
  --seed TEXT      the commit that is checked out
  --write          the list goes to tests/device/mutations.txt as well; with --engine the part of the engine
"""

import argparse
import collections
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The program that trains on a host device, with what is fast and what is not; those whose launches are recorded (as
# tests/device/CMakeLists.txt has them).
ENGINE = "device/device_trainer_test"
SLOW = "Agreement.OfEveryBundledModel"
KERNELS = ["device/device_test", "device/device_loss_test",
           "device/device_network_test:*TakesFewer*:*/PoolTies*:*/ConvBlocks*",
           "device/device_trainer_test:Agreement.OfModelsThat*:OneRank.*:DeviceReplayTrainer.LeavesOut*:*.DrawsKept*",
           "device/device_models_test:Bf16.NetworksHave*"]
SECONDS = 120
LIST = ROOT / "tests/device/mutations.txt"
# Of TrainingControl: the same for every batch of an engine, so that keeping them is right.
CONSTANT = {"dual_clip", "value_weight", "most_kl", "first_update"}


def run(program, tests, mutation):
    """The exit code and the output of a test program; a test that hangs has failed."""
    environment = dict(os.environ)
    environment["MURMURATE_DEVICE_MUTATION"] = mutation
    try:
        done = subprocess.run([program, "--gtest_fail_fast", f"--gtest_filter={tests}"], env=environment,
                              timeout=SECONDS, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace")
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
    """The function that holds each address."""
    before = [hex(int(address, 16) - 1) for address in addresses]  # in the call, not behind it
    lines = subprocess.run(["addr2line", "-Cfe", program, *before], check=True, stdout=subprocess.PIPE,
                           text=True).stdout.splitlines()[::2]
    return [re.sub(r"\(.*", "", line.replace("murmurate::", "").replace("(anonymous namespace)", "test"))
            for line in lines]


def events(program, places):
    """The calls of the engine among places of calls: {"DeviceBatch::Upload in DeviceEngine::BeginBatch 1": place}."""
    count = collections.Counter()
    found = {}
    for place in sorted(places, key=lambda place: [int(address, 16) for address in place.split()]):
        inner, outer = functions(program, place.split())
        if inner.startswith(("Device", "MirroredRows")):
            count[inner, outer] += 1
            found[f"{inner} in {outer} {count[inner, outer]}"] = place
    return found


def listed(program):
    """All mutations that the program could run with, by their names."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "list"
        code, output = run(program, f"-{SLOW}", f"list {file}")
        if code != 0:
            sys.exit(f"{program} fails without a mutation:\n{output[-2000:]}")
        lines = [line.split(" ", 1) for line in file.read_text().splitlines()] if file.exists() else []
    found = {f"{name}, event": f"event {place}" for name, place in
             events(program, [what for kind, what in lines if kind == "event"]).items()}
    found.update({f"{what}, frozen": f"control {what}" for kind, what in lines
                  if kind == "control" and what not in CONSTANT})
    return found


def noticed(program, mutation):
    """The test that notices it; None: none does."""
    for tests in (f"-{SLOW}", SLOW):
        code, output = run(program, tests, mutation)
        if code != 0:
            return failed_test(output)
    return None


def engine_mutations(program, options):
    """Which test notices each mutation of the engine; None: none does."""
    begin = time.monotonic()
    mutations = [pair for pair in sorted(listed(program).items()) if re.search(options.filter, pair[0])]
    if options.seconds:
        print(f"seed {options.seed}: as many of {len(mutations)} as {options.seconds:g} s are enough for")
        random.Random(options.seed).shuffle(mutations)
    caught = {}
    for name, mutation in mutations:
        if options.seconds and time.monotonic() - begin > options.seconds:
            break
        caught[name] = noticed(program, mutation)
        print(f"{name}: {caught[name] or 'MISSED'}", flush=True)
    return caught


def barrier_mutations(build):
    """The same for barriers of kernels: the kernel in which the race is seen."""
    races = build / "tests/device/device_races"
    if not races.exists():
        print("barriers are skipped: this build has no device_races (tests/device/CMakeLists.txt)")
        return {}
    done = subprocess.run([ROOT / "tests/device/races.sh", "--mutations", races,
                           *[build / "tests" / name for name in KERNELS]], stdout=subprocess.PIPE, text=True)
    print(done.stdout, end="", flush=True)
    caught = {}
    for place, kernel in re.findall(r"^(\S+:\d+) left out: (\S+)", done.stdout, re.MULTILINE):
        caught[f"{place}, SyncThreads"] = None if kernel == "MISSED" else kernel
    if done.returncode != 0 and all(caught.values()):
        sys.exit("device_races found something else")
    return caught


def commit():
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout.strip()


def parse():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", nargs="?", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--engine", action="store_true")
    parser.add_argument("--filter", default="")
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--seed", default=commit())
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.write and (options.filter or options.seconds):
        parser.error("--write needs all of them")
    return options


HEAD = """# What was broken, and what noticed: the test, or of a barrier the kernel in which ThreadSanitizer saw the race.
# `scripts/device-mutations.py --write` makes this list, `--engine --write` the lines without a SyncThreads. Continuous
# integration tries as many of the engine's as two minutes are for, others at each commit (.ci/run).
"""


def write(caught, keeps_barriers):
    lines = [f"{name}: {test or 'MISSED'}\n" for name, test in caught.items()]
    if keeps_barriers:
        lines += [line for line in LIST.read_text().splitlines(True) if ", SyncThreads: " in line]
    LIST.write_text(HEAD + "".join(sorted(lines)))


def main():
    options = parse()
    barriers = not options.engine and re.search(options.filter, "SyncThreads")
    caught = {**(barrier_mutations(options.build) if barriers else {}),
              **engine_mutations(options.build / "tests" / ENGINE, options)}
    missed = [name for name, test in caught.items() if test is None]
    print(f"{len(caught)} mutations, {len(missed)} missed")
    if options.write:
        write(caught, keeps_barriers=options.engine)
    sys.exit(1 if missed or not caught else 0)


main()
