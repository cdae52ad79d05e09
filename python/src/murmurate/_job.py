"""Job: one training of a Pool, as its user sees it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Union

import numpy as np
from numpy.typing import NDArray

from ._config import ConfigInput
from ._errors import Error, Unavailable
from ._progress import STEPS, Progress, read_progress

Status = Literal["waiting", "running", "ended"]
_NOT_WRITTEN = "error: checkpoint not written"
_UNREACHED = 1
"""Exit code: the steps are spent without reaching stop_at_return. That is a result, too."""


@dataclass(frozen=True)
class Order:
    """What a job is to do."""

    config: ConfigInput
    settings: Mapping[str, str]  # by "section.key", in TOML
    initial: Union[bytes, str, None]  # weights, or the path of a file of them
    working_folder: str


@dataclass
class Ended:
    """What is left of a process."""

    returncode: int | None  # None: it never began
    progress: Progress
    weights: bytes | None
    log: str
    error: str | None
    seconds: float


class Job:
    """One `murmurate train`, made by Pool.submit. `tag` is what submit was given, such as the trial of
    a search. All of it may be read at any time, from any thread.

        job.status       "waiting", "running" or "ended"
        job.steps        that it has learned from; job.loss: its newest train/loss, NaN before there is one
        job.metrics      the newest value of each column of its progress.csv; curves: all values
        job.state        the trained weights (safetensors): `initial` of another job, or murmurate.Policy(job.state)
        job.error        why it failed, in one line; None when it did not
    """

    def __init__(self, number: int, order: Order, tag: Any, withdraw: Callable[[Job], None]) -> None:
        self.number, self.order, self.tag = number, order, tag
        self.stopped = False
        """Whether stop() was called before it ended."""
        self._withdraw = withdraw
        self._process: subprocess.Popen[bytes] | None = None  # while it runs
        self._run: Path | None = None
        self._began = time.monotonic()
        self._ended: Ended | None = None

    @property
    def status(self) -> Status:
        if self._ended is not None:
            return "ended"
        return "waiting" if self._run is None else "running"

    @property
    def metrics(self) -> dict[str, float]:
        """The newest value of each column of progress.csv; {} before its first row."""
        return self._progress().metrics()

    @property
    def curves(self) -> dict[str, NDArray[np.float64]]:
        """Of each column of progress.csv, [rows that have a value][2]: the steps and the value."""
        return self._progress().curves()

    @property
    def steps(self) -> int:
        metrics = self.metrics
        return int(metrics.get("time/learned_steps", metrics.get(STEPS, 0)))

    @property
    def loss(self) -> float:
        """NaN where the algorithm has no train/loss: those that learn from play."""
        return self.metrics.get("train/loss", float("nan"))

    @property
    def ok(self) -> bool:
        """It has ended, and not by an error."""
        return self._ended is not None and self._ended.error is None

    @property
    def error(self) -> str | None:
        return None if self._ended is None else self._ended.error

    @property
    def returncode(self) -> int | None:
        """The exit code of the process; of one that a signal ended, the number of the signal below 0."""
        return None if self._ended is None else self._ended.returncode

    @property
    def seconds(self) -> float:
        """From its start to its end, or so far."""
        if self._ended is not None:
            return self._ended.seconds
        return 0.0 if self._run is None else time.monotonic() - self._began

    @property
    def log(self) -> str:
        """What the learner said; complete when the job has ended."""
        return "" if self._ended is None else self._ended.log

    @property
    def state(self) -> bytes:
        """The trained weights, a safetensors file. Unavailable while it trains, an Error where there are none."""
        if self._ended is None:
            raise Unavailable(f"{self} has no state yet; take it when Pool.next gives the job")
        if self._ended.weights is None:
            raise Error(f"{self} left no state")
        return self._ended.weights

    def stop(self) -> None:
        """Ends it early; its state is kept, and Pool.next gives it as any other. One that waits never
        begins, and has no state. Returns at once."""
        self._withdraw(self)

    def __repr__(self) -> str:
        parts = [f"job {self.number}: {self.status}"]
        if self.error is not None:
            return f"{parts[0]}, {self.error}"
        metrics = self.metrics
        if metrics:
            parts.append(f"{self.steps:,} steps")
        for name, words in (("train/loss", "loss"), ("eval/accuracy", "accuracy"), ("rollout/ep_rew_mean", "return")):
            if name in metrics:
                parts.append(f"{words} {metrics[name]:.4g}")
        return ", ".join(parts)

    def _progress(self) -> Progress:
        ended, run = self._ended, self._run
        if ended is not None:
            return ended.progress
        found = Progress() if run is None else read_progress(run)
        # The folder goes just after the job has ended.
        return found if self._ended is None else self._ended.progress

    # What follows is for the Pool, under its lock.

    def begin(self, process: subprocess.Popen[bytes], run: Path) -> None:
        self._process, self._run, self._began = process, run, time.monotonic()

    def signal(self, number: int) -> None:
        """To the process, while it has not been waited for: its number cannot be another's yet."""
        if self._process is not None and self._process.returncode is None:
            os.kill(self._process.pid, number)

    def end(self, ended: Ended) -> None:
        self._ended, self._process = ended, None
        self.order = replace(self.order, initial=None)  # held as long as it is needed


def error_of(returncode: int, said: str, lacks_weights: bool) -> str | None:
    """Why a process failed, from its exit code and what it wrote to stderr."""
    if returncode < 0:
        return f"ended by {signal.Signals(-returncode).name}"
    lines = [line for line in said.splitlines() if line.strip()]
    if returncode not in (0, _UNREACHED):
        return lines[-1] if lines else f"ended with exit code {returncode} and said nothing"
    if lines and lines[-1].startswith(_NOT_WRITTEN):  # what is there is of an earlier step
        return lines[-1]
    return "left no weights" if lacks_weights else None


def never_began(error: str | None) -> Ended:
    return Ended(None, Progress(), None, "", error, 0.0)
