"""murmurate.feed against a real learner: what a generator yields is what is learned, in order, once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import murmurate
from learner import Learner, eventually, read_recordings

SUPERVISED = """
[run]
log_interval_s = 0.1
[model]
layers = [16]
normalize_observation = false
[algorithm]
name = "supervised"
trajectory_length = 8
batch_steps = 64
minibatch = 64
"""


def numbered(count: int, size: int = 32) -> Iterator[tuple[Any, Any]]:
    """Batches of samples that hold their own number."""
    for first in range(0, count, size):
        x = np.arange(first, min(first + size, count), dtype=np.float32)[:, None]
        yield x, x * 2


def recorded(learner: Learner) -> tuple[Any, Any]:
    found = read_recordings(learner.recordings)
    x = np.concatenate([each.observation.view(np.float32).ravel() for each in found])
    return x, np.concatenate([each.action.ravel() for each in found])


def test_every_sample_arrives_once_and_in_order() -> None:
    with Learner(SUPERVISED) as learner:
        fed = murmurate.feed(learner.address, numbered(1000), batches=True, report_s=0)
        assert fed.samples == 1000 and fed.dropped == 0 and not fed.interrupted
        learner.stop()
        x, y = recorded(learner)
        assert x.tolist() == list(range(1000))
        assert y.view(np.float32).tolist() == [2.0 * i for i in range(1000)]
        assert all(flag & 1 for each in read_recordings(learner.recordings) for flag in each.flags)  # each by itself


def test_single_samples_and_classes() -> None:
    def samples() -> Iterator[tuple[Any, int]]:
        for i in range(300):
            yield np.array([i], np.float32), i % 3

    with Learner(SUPERVISED) as learner:
        assert murmurate.feed(learner.address, samples(), classes=3, report_s=0).samples == 300
        learner.stop()
        x, y = recorded(learner)
        assert x.tolist() == list(range(300)) and y.tolist() == [i % 3 for i in range(300)]


def test_named_parts() -> None:
    def batches() -> Iterator[tuple[Any, Any]]:
        for i in range(8):
            yield {"p": np.full((32, 4, 4, 1), i, np.uint8), "v": np.full((32, 2), i, np.float32)}, {
                "turn": np.full(32, 0.5), "pick": np.full(32, i % 2)}  # fmt: skip

    with Learner(SUPERVISED) as learner:
        assert murmurate.feed(learner.address, batches(), batches=True, classes=2, report_s=0).samples == 256
        assert learner.stop() == 0, learner.output()


def test_the_generator_waits_for_the_learner() -> None:
    with Learner(SUPERVISED) as learner:
        learner.process.send_signal(signal.SIGSTOP)
        program = subprocess.Popen(
            [sys.executable, "-c", _ENDLESS, learner.address], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        time.sleep(0.5)
        learner.process.send_signal(signal.SIGCONT)
        assert eventually(lambda: learner.steps() > 2000)
        program.send_signal(signal.SIGINT)
        said = program.communicate(timeout=20)[0]
        assert program.returncode == 0, said
        assert "waiting for the learner" in said and "interrupted" in said, said


_ENDLESS = """
import sys, numpy, murmurate
def endless():
    while True:
        yield numpy.zeros((64, 1), numpy.float32), numpy.zeros((64, 1), numpy.float32)
fed = murmurate.feed(sys.argv[1], endless(), batches=True, report_s=0)
print(fed, "interrupted" if fed.interrupted else "")
"""


def test_the_learner_ends_first() -> None:
    with Learner(SUPERVISED, "--set", "run.stop_at_steps=640") as learner:
        fed = murmurate.feed(learner.address, numbered(1 << 20), batches=True, report_s=0)
        assert 640 <= fed.samples < 1 << 20
        assert learner.process.wait(20) == 0


def test_a_learner_that_dies_and_comes_back_is_waited_for() -> None:
    config = SUPERVISED + '\n[checkpoint]\nevery_s = 0.2\n'
    with Learner(config) as learner:
        def batches() -> Iterator[tuple[Any, Any]]:
            for i, batch in enumerate(numbered(6400, 64)):
                latest = learner.folder / "runs" / "run" / "checkpoints" / "latest"
                if i < 50 and not latest.exists():  # one is written between two batches
                    time.sleep(0.02)
                if i == 50:
                    assert latest.exists(), learner.output()
                    learner.process.kill()
                    learner.process.wait()
                    again = ["resume", "runs/run", "--set", f'server.listen=["{learner.address}"]']
                    learner.process = subprocess.Popen(
                        [os.environ["MURMURATE_EXECUTABLE"], *again], cwd=learner.folder, stdout=learner._output,
                        stderr=subprocess.STDOUT, env=learner._environment,
                    )  # fmt: skip
                yield batch

        fed = murmurate.feed(learner.address, batches(), batches=True, patience_s=20, report_s=0)
        assert fed.samples == 6400
        assert learner.stop() == 0, learner.output()
        x = set(recorded(learner)[0].tolist())
        missing = sorted(set(range(6400)) - x)
        assert len(missing) <= fed.dropped + fed.lost, (missing, fed)
        assert not missing or missing[-1] < 50 * 64 + 512, missing  # what was under way as it died


def test_the_end_of_the_generator_ends_the_run() -> None:
    with Learner(SUPERVISED) as learner:
        run = learner.folder / "runs" / "run"
        os.environ["XDG_RUNTIME_DIR"] = str(learner.folder)
        fed = murmurate.feed(learner.address, numbered(640), batches=True, end=run, report_s=0)
        assert fed.samples == 640
        assert learner.process.wait(20) == 0
        assert "stopped: the learner was told to stop" in learner.output()


MISTAKES: list[tuple[Any, dict[str, Any], str]] = [
    (3, {}, "the generator gave a int where a pair"),
    ((np.zeros(2), 1), {}, "y holds whole numbers: give classes="),
    ((np.zeros(2), "word"), {}, "where floats or whole numbers were expected"),
    ((np.zeros((3, 2)), np.zeros(2)), {"batches": True}, "a batch has parts of the shapes (3, 2), (2,)"),
    ((np.zeros(2), 7), {"classes": 3}, "sample 0: "),
    ((np.array([np.nan, 0]), 0.5), {}, "sample 0: holds a number that is not finite"),
    ((np.zeros(2), 0.5), {"end": "/nowhere"}, "no learner runs there"),
]


def test_mistakes_are_one_sentence() -> None:
    with Learner(SUPERVISED) as learner:
        for i, (item, options, said) in enumerate(MISTAKES):
            with pytest.raises(murmurate.InvalidArgument) as error:
                murmurate.feed(learner.address, iter([item]), model=f"m{i}", report_s=0, **options)
            assert said in str(error.value) and "\n" not in str(error.value)


def test_the_example_learns_its_curve() -> None:
    examples = Path(__file__).resolve().parents[2] / "examples" / "data"
    with Learner(example=str(examples / "feed.toml")) as learner:
        environment = {**os.environ, "LEARNER": learner.address}
        command = [sys.executable, str(examples / "feed_curve.py")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
        assert done.returncode == 0 and " samples in " in done.stdout, done.stdout + done.stderr
        assert learner.process.wait(20) == 0
        assert learner.column("eval/loss")[-1] < 1e-3, learner.output()
