"""Runner: the threads and processes of a Pool."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
from collections import deque
from pathlib import Path

from ._config import value_of
from ._errors import Closed, Forked
from ._job import Ended, Job, error_of, never_began
from ._memory_folder import MemoryFolder
from ._progress import read_progress

_PATIENCE_S = 5.0
"""So long a process may take to end once it is asked to."""
_LONGEST_RUNTIME_FOLDER = 60
"""Bytes. Sockets lie in it, and the path of one has at most 107."""
_NAME = "job"
_INITIAL = "initial.safetensors"


class Runner:
    """At most `most` processes at a time, each started and waited for by a thread. The kernel ends a
    process with the thread that started it (`--end-with`), so also when this process is killed.

    Nothing here refers to the Pool, whose end may therefore close this."""

    def __init__(self, most: int, executable: str, folder: MemoryFolder) -> None:
        self._most, self._executable, self._folder = most, executable, folder
        self._owner = os.getpid()
        self._changed = threading.Condition()
        self._waiting: deque[Job] = deque()
        self._running: list[Job] = []
        self._ended: deque[Job] = deque()
        self._threads: list[threading.Thread] = []
        self._closing = False

    def add(self, job: Job) -> None:
        with self._changed:
            self.check_open()
            self._waiting.append(job)
            self._changed.notify()
            if len(self._threads) < min(self._most, len(self._waiting) + len(self._running)):
                thread = threading.Thread(target=self._work, name=f"murmurate-pool-{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()

    def jobs(self) -> list[Job]:
        """Those that take() has not given, in the order of their numbers."""
        with self._changed:
            return sorted([*self._waiting, *self._running, *self._ended], key=lambda job: job.number)

    def take(self, timeout: float | None) -> Job | None:
        """The one that has ended first; None when no job is left."""
        until = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while not self._ended:
                self.check_open()
                if not self._waiting and not self._running:
                    return None
                left = None if until is None else until - time.monotonic()
                if left is not None and left <= 0:
                    raise TimeoutError(f"Pool.next: no job has ended within {timeout} s")
                self._changed.wait(left)
            return self._ended.popleft()

    def withdraw(self, job: Job) -> None:
        with self._changed:
            if job in self._waiting:
                self._waiting.remove(job)
                job.stopped = True
                self._give(job, never_began(None))
            elif job in self._running:
                job.stopped = True
                job.signal(signal.SIGTERM)

    def close(self) -> None:
        """Ends all processes and removes the folder. May be called again; a second Ctrl+C inside it makes
        the processes end without what they would still write."""
        if os.getpid() != self._owner:
            return  # a forked child: the processes are its parent's
        with self._changed:
            self._closing = True
            while self._waiting:
                job = self._waiting.popleft()
                job.stopped = True
                self._give(job, never_began(None))
            for job in self._running:
                job.stopped = True
                job.signal(signal.SIGTERM)
            self._changed.notify_all()
        # One of them may be the garbage collector's thread, which calls this when the Pool is gone.
        threads = [thread for thread in self._threads if thread is not threading.current_thread()]
        until = time.monotonic() + _PATIENCE_S
        try:
            for thread in threads:
                thread.join(max(0.0, until - time.monotonic()))
        finally:
            with self._changed:
                for job in self._running:
                    job.signal(signal.SIGKILL)
            for thread in threads:
                thread.join()
            self._folder.remove()

    def check_open(self) -> None:
        if os.getpid() != self._owner:
            raise Forked("this Pool is of the process that forked this one; make another here")
        if self._closing:
            raise Closed("this Pool is closed; make another")

    def _work(self) -> None:
        while (job := self._next()) is not None:
            folder = self._folder.path / str(job.number)
            try:
                ended = self._train(job, folder)
            except OSError as error:
                ended = never_began(f"{error}; make room, or lower the jobs of the Pool")
            except Exception as error:
                ended = never_began(f"{type(error).__name__}: {error}")
            with self._changed:
                self._running.remove(job)
                self._give(job, ended)
            shutil.rmtree(folder, ignore_errors=True)

    def _next(self) -> Job | None:
        with self._changed:
            while not self._waiting and not self._closing:
                self._changed.wait()
            if self._closing:
                return None
            job = self._waiting.popleft()
            self._running.append(job)
            return job

    def _give(self, job: Job, ended: Ended) -> None:
        job.end(ended)
        self._ended.append(job)
        self._changed.notify_all()

    def _train(self, job: Job, folder: Path) -> Ended:
        folder.mkdir()
        run, began = folder / _NAME, time.monotonic()
        process = self._start(job, folder)
        with self._changed:
            job.begin(process, run)
            if job.stopped or self._closing:  # stop() was called before there was a process
                job.signal(signal.SIGTERM)
        with contextlib.suppress(ChildProcessError):  # it was waited for elsewhere
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with self._changed:
            returncode = process.wait()
            stopped = job.stopped  # so early, perhaps, that there was no model
        return _what_is_left(folder, run, returncode, stopped, time.monotonic() - began)

    def _start(self, job: Job, folder: Path) -> subprocess.Popen[bytes]:
        """The config is its standard input where it is no file; Ctrl+C of the terminal does not reach it."""
        config = folder / "config.toml"
        config.write_text(job.order.config.text or "", encoding="utf-8")
        with config.open("rb") as text, (folder / "output").open("wb") as output:
            with (folder / "errors").open("wb") as errors:
                return subprocess.Popen(
                    self._command(job, folder), cwd=job.order.working_folder, env=self._environment(), stdin=text,
                    stdout=output, stderr=errors, start_new_session=True,
                )  # fmt: skip

    def _command(self, job: Job, folder: Path) -> list[str]:
        settings = dict(job.order.settings)
        initial = job.order.initial
        if isinstance(initial, bytes):
            (folder / _INITIAL).write_bytes(initial)
            initial = str(folder / _INITIAL)
        if initial is not None:
            settings["model.initialize_from"] = value_of(initial, "initial")
        settings["run.dir"], settings["run.name"] = value_of(str(folder), "run.dir"), value_of(_NAME, "run.name")
        command = [self._executable, "train", job.order.config.word, "--quiet", "--end-with", str(self._owner)]
        for path, value in settings.items():
            command += ["--set", f"{path}={value}"]
        return command

    def _environment(self) -> dict[str, str]:
        folder = str(self._folder.path)
        short = len(os.fsencode(folder)) <= _LONGEST_RUNTIME_FOLDER
        return {**os.environ, "XDG_RUNTIME_DIR": folder} if short else dict(os.environ)


def _what_is_left(folder: Path, run: Path, returncode: int, stopped: bool, seconds: float) -> Ended:
    errors, output = ((folder / name).read_text(errors="replace") for name in ("errors", "output"))
    logged, file = run / "log.txt", run / "checkpoints" / "latest" / "weights.safetensors"
    log = (logged.read_text(errors="replace") if logged.exists() else "") + output + errors
    weights = file.read_bytes() if file.exists() else None
    error = error_of(returncode, errors, weights is None and not stopped)
    return Ended(returncode, read_progress(run), weights, log, error, seconds)
