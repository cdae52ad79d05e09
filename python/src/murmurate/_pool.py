"""Pool: trainings side by side, for a search over models."""

from __future__ import annotations

import itertools
import os
import shutil
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Union

from ._config import Config, config_input, settings_of
from ._errors import InvalidArgument, ResourceError
from ._job import Job, Order
from ._memory_folder import MemoryFolder
from ._runner import Runner

Initial = Union[bytes, bytearray, memoryview, str, "os.PathLike[str]", None]
_ACTORS, _ENVIRONMENT = "run.actors", "run.environment"
_OURS = ("run.dir", "run.name")
_MOST_JOBS = 1024


class Pool:
    """Trains up to `jobs` models at a time, each by a `murmurate train` of its own; by default one for
    each processor that this process may use.

        with murmurate.Pool() as pool:
            for rate in (1e-3, 3e-3, 1e-2):
                pool.submit("digits.toml", {"optimizer.learning_rate": rate}, tag=rate)
            for job in pool.as_completed():  # as they end; the loop may submit more
                print(job.tag, job.metrics["eval/accuracy"] if job.ok else job.error)

    Runs lie in a temporary folder in memory (`folder`: elsewhere) only while they train; what they come
    to is held by their Jobs. When the with block ends, also by an exception or Ctrl+C, all that still
    train are ended and the folder is removed; when this process is killed they end, too, and the next
    Pool removes the folder. Any thread may call.

    A job trains by one thread, and plays with processors / jobs - 1 actor processes, at least one,
    unless its config says otherwise (model.threads, run.actors).
    """

    def __init__(
        self, jobs: int | None = None, *, executable: str | os.PathLike[str] = "murmurate",
        folder: str | os.PathLike[str] | None = None,
    ) -> None:  # fmt: skip
        processors = len(os.sched_getaffinity(0))
        most = processors if jobs is None else jobs
        if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= _MOST_JOBS:
            raise InvalidArgument(f"jobs is {most!r}, expected how many train at a time, 1 to {_MOST_JOBS}")
        found = shutil.which(executable)
        if found is None:
            raise ResourceError(
                f"no program {os.fspath(executable)} is found: build it (`./run --no-train` in a clone of murmurate) and"
                " add build/release/server to PATH, or name it by Pool(executable=...)"
            )
        memory = MemoryFolder(folder)
        self._actors = max(1, processors // most - 1)
        self._runner = Runner(most, os.path.abspath(found), memory)
        self._folder = memory.path
        self._numbers = itertools.count()
        self._end = weakref.finalize(self, self._runner.close)

    @property
    def folder(self) -> Path:
        """Where the runs lie while they train."""
        return self._folder

    @property
    def jobs(self) -> list[Job]:
        """Those that next() has not given, in the order in which they were submitted."""
        return self._runner.jobs()

    def submit(
        self, config: Config, overrides: Mapping[str, Any] | None = None, *, initial: Initial = None, tag: Any = None
    ) -> Job:
        """Trains a model when there is room for it.

        `config`: the path of a TOML file, TOML text, a dict of sections, or the name of an example.
        `overrides`: values by "section.key". `initial`: the state of another job, or a file of weights,
        from which this one begins: tensors of the same name and shape are taken. `tag` is the caller's.

        What cannot be a config raises InvalidArgument; what the learner refuses is the job's `error`.
        """
        self._runner.check_open()
        given, settings = config_input(config), settings_of(overrides)
        for key in _OURS:
            if key in settings:
                raise InvalidArgument(f"overrides: {key} is set by the Pool; leave it out and use tag=...")
        plays = _ENVIRONMENT in settings or given.sets("environment")
        if plays and _ACTORS not in settings and not given.sets("actors"):
            settings[_ACTORS] = str(self._actors)
        order = Order(given, settings, _initial(initial), os.getcwd())
        job = Job(next(self._numbers), order, tag, self._runner.withdraw)
        self._runner.add(job)
        return job

    def next(self, timeout: float | None = None) -> Job:
        """The job that ended first of those not given yet; waits for it. Each job is given once, also one
        that failed or was stopped. TimeoutError after `timeout` seconds, InvalidArgument when none is left."""
        job = self._runner.take(timeout)
        if job is None:
            raise InvalidArgument("Pool.next: no job is left; submit one before")
        return job

    def as_completed(self) -> Iterator[Job]:
        """next() until no job is left, those submitted meanwhile included."""
        while (job := self._runner.take(None)) is not None:
            yield job

    def close(self) -> None:
        """Ends what still trains, and removes the folder. Jobs keep what they have come to."""
        self._runner.close()
        self._end.detach()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        states = [job.status for job in self.jobs]
        return ", ".join(f"{states.count(state)} {state}" for state in ("running", "waiting", "ended"))


def _initial(given: Initial) -> bytes | str | None:
    if given is None:
        return None
    if isinstance(given, (bytes, bytearray, memoryview)):
        return bytes(given)
    if isinstance(given, (str, os.PathLike)):
        return os.path.abspath(given)
    raise InvalidArgument(
        f"initial is a {type(given).__name__}; give the state of a job (job.state), or the path of a weights file"
    )
