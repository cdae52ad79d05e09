"""What must be right on a GPU: kernels, engine and daemon, each against the processor."""

import csv
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time

from campaign import Failed, Skipped, end_group
from device_stage import device

# Kernels and layers by themselves; the whole learner.
TESTS = "device_loss_test", "device_network_test", "device_models_test", "device_trainer_test"
# What the tools of compute-sanitizer, which take ten to a hundred times as long, are run on:
# kernels without libraries, then whole training steps.
SMALL_TESTS = (
    ("device_loss_test", "DevicePolicyLoss.*:DeviceOptimizer.*:DeviceReturns.*"),
    ("device_trainer_test", "Repeats.OfSmallModelsHaveTheSameBits"),
)
TOOLS = "memcheck", "racecheck", "initcheck", "synccheck"


def doctor(campaign):
    if campaign.device == "host":
        raise Skipped("this processor takes the place of a GPU")
    ran = campaign.run([campaign.program("murmurate"), "doctor", "--device", campaign.device])
    return [{"doctor": line} for line in ran.output.splitlines() if line.strip()]


def tests(executable):
    """All of its tests; each is a figure, also where the time was too short for all."""
    def stage(campaign):
        try:
            ran = campaign.run([campaign.program(executable)], expect=None)
        except Failed as late:
            campaign.figures = list(figures_of(late.output))
            raise
        campaign.figures += figures_of(ran.output)
        broken = [figure["test"] for figure in campaign.figures if figure["result"] == "FAILED"]
        if broken:
            raise Failed(", ".join(broken))
        if ran.code != 0:
            raise Failed(f"exit code {ran.code}: {ran.sentence()}")
    return stage


def figures_of(output):
    """Of what GoogleTest prints."""
    said = []
    for line in output.splitlines():
        if line.startswith("[ RUN "):
            said = []
        elif found := re.match(r"\[ +(OK|FAILED|SKIPPED) +\] (\S+?)(?:, .*)? \((\d+) ms\)$", line):
            figure = {"test": found[2], "result": found[1], "s": int(found[3]) / 1000}
            yield figure | ({"said": "\n".join(said)[:2000]} if found[1] == "FAILED" else {})
        else:
            said.append(line)


def one_rank(campaign):
    """NCCL's sums inside recorded steps, of a job of one rank."""
    ran = campaign.run([campaign.program("device_trainer_test"), "--gtest_filter=OneRank.*"],
                       expect=None)
    campaign.figures += figures_of(ran.output)
    if "[  SKIPPED ]" in ran.output:
        said = [line.strip() for line in ran.output.splitlines() if "NCCL" in line]
        raise Skipped(said[0] if said else "NCCL cannot be opened here")
    if ran.code != 0:
        raise Failed(f"exit code {ran.code}: {ran.sentence()}")


def sanitize(campaign, command):
    ran = campaign.run(command, expect=None)
    said = ran.output + ran.errors
    if "not supported" in said:
        raise Skipped("compute-sanitizer refuses this device")
    if ran.code != 0:
        found = [line for line in said.splitlines() if line.startswith("=========")]
        raise Failed(f"exit code {ran.code}: {(found or [ran.sentence()])[0]}")


def sanitizer(tool):
    def stage(campaign):
        program = shutil.which("compute-sanitizer") or \
            shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
        if campaign.device == "host":
            raise Skipped("this processor takes the place of a GPU")
        if program is None:
            raise Skipped("compute-sanitizer is not installed here")
        for executable, some in SMALL_TESTS:
            sanitize(campaign, [program, "--tool", tool, "--error-exitcode", "9",
                                campaign.program(executable), f"--gtest_filter={some}"])
            campaign.figures.append({"test": f"{executable}, {some}", "result": "OK"})
    return stage


def on_device(campaign):
    """The setting that a run is on the device with."""
    if campaign.device == "host":
        return []
    return ["--set", f'model.device="{campaign.device}"']


def train(campaign, run, *more, expect=0):
    return campaign.run([campaign.program("murmurate"), "train", run, "--quiet", "--seed", "301",
                         "--set", f"run.name={run}", *on_device(campaign), *more], expect=expect)


def learns(example, target):
    def stage(campaign):
        ran = train(campaign, example)
        found = re.search(r"^Evaluation: mean return ([-0-9.]+)", ran.output, re.MULTILINE)
        mean = float(found[1]) if found else float("nan")
        campaign.figures.append({"example": example, "greedy": mean, "expected": target,
                                 "said": ran.output.splitlines()[0]})
        if not mean >= target:
            raise Failed(f"{example}: greedy episodes give {mean}, expected {target} or better")
    return stage


def steps_of(campaign, run):
    with open(campaign.work / f"runs/{run}/progress.csv") as file:
        rows = list(csv.DictReader(file))
    return int(rows[-1]["time/total_timesteps"]) if rows else 0


def await_that(campaign, holds, what):
    while not holds():
        if campaign.left_s() < 0.1:
            raise Failed(f"no time was left to wait for {what}")
        time.sleep(0.02)


def kill_and_resume(campaign):
    program, run = campaign.program("murmurate"), "killed"
    learner = campaign.start([program, "train", "catch", "--quiet", "--seed", "301",
                              "--set", f"run.name={run}", "--set", "checkpoint.every_s=0.1",
                              *on_device(campaign)],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        latest = campaign.work / f"runs/{run}/checkpoints/latest"
        await_that(campaign, lambda: latest.exists() or learner.poll() is not None,
                   "a checkpoint")
        if learner.poll() is not None:
            raise Failed(f"the run ended before it was killed: exit code {learner.returncode}")
    finally:
        end_group(learner)
    before = steps_of(campaign, run)
    campaign.run([program, "resume", run, "--quiet"])
    after = steps_of(campaign, run)
    if after <= before:
        raise Failed(f"killed at step {before}, and resumed it ended at step {after}")
    return [{"killed_at": before, "ended_at": after}]


def out_of_memory(campaign):
    """Another process holds nearly all of the GPU's memory."""
    if campaign.device == "host":
        raise Skipped("this processor takes the place of a GPU")
    holder = campaign.start([*campaign.bench("bench_device_probe"), "hold", "64"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL)
    try:
        if not holder.stdout.readline():
            raise Failed("the memory could not be taken")
        ran = train(campaign, "cartpole", expect=None)
    finally:
        end_group(holder)
    said = ran.errors.strip().splitlines()
    if ran.code != 5 or len(said) != 1 or "memory" not in said[0]:
        raise Failed(f"expected one sentence about memory and exit code 5, got {ran.code}: {said}")
    return [{"said": said[0]}]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def broker_program(campaign):
    own = pathlib.Path(campaign.program("mosquitto"))
    found = str(own) if own.exists() else shutil.which("mosquitto", path=os.environ.get("PATH", "")
                                                       + ":/usr/sbin")
    if found is None:
        raise Skipped("mosquitto is neither in the folder nor installed here")
    return found


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def sensors(campaign):
    port, program = free_port(), campaign.program("murmurate")
    broker, started = f"mqtt://127.0.0.1:{port}", []
    (campaign.work / "broker.conf").write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 100000\n")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        started.append(campaign.start([broker_program(campaign), "-c", "broker.conf"], **quiet))
        await_that(campaign, lambda: answers(port), "the broker")
        learner = campaign.start(
            [program, "serve", str(campaign.folder / "lossless.toml"), "--quiet",
             "--set", f"stream.temp.broker={broker}", "--set", "run.name=sensors",
             "--set", "run.log_interval_s=0.5",
             "--set", f'server.listen=["tcp://127.0.0.1:{free_port()}"]', *on_device(campaign)],
            **quiet)
        started.append(learner)
        campaign.run([program, "actor", "sensors", "--quiet", "--broker", broker,
                      "--devices", "20", "--rate", "20", "--seconds", "8",
                      "--committed", "sensors/{device}/committed",
                      "--status", "sensors/forecaster"])
        learner.send_signal(signal.SIGTERM)
        await_that(campaign, lambda: learner.poll() is not None, "the learner's end")
    finally:
        for process in started:
            end_group(process)
    if learner.returncode != 0:
        raise Failed(f"the learner ended with exit code {learner.returncode}")
    with open(campaign.work / "runs/sensors/progress.csv") as file:
        learned = int(list(csv.DictReader(file))[-1]["train/trained_steps"])
    if learned < 1000:
        raise Failed(f"{learned} rows were learned from, expected 1000 or more")
    return [{"learned_from": learned}]


STAGES = (
    ("device", 45, device),
    ("doctor", 30, doctor),
    *((executable, 90, tests(executable)) for executable in TESTS),
    ("NCCL with one rank", 30, one_rank),
    ("cartpole", 30, learns("cartpole", 475)),
    ("catch", 40, learns("catch", 0.9)),
    ("recall", 40, learns("recall", 0.9)),
    ("catch-dqn", 60, learns("catch-dqn", 0.9)),
    ("pendulum-sac", 60, learns("pendulum-sac", -200)),
    ("sensors", 40, sensors),
    ("kill -9 and resume", 40, kill_and_resume),
    ("out of memory", 30, out_of_memory),
    *((f"compute-sanitizer {tool}", 90, sanitizer(tool)) for tool in TOOLS),
)
