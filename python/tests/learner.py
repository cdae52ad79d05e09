"""A real learner (`murmurate serve`) of a test's own, and what it recorded."""

from __future__ import annotations

import os
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

EXECUTABLE = os.environ.get("MURMURATE_EXECUTABLE", "murmurate")
SMALL = """
[model]
layers = [16]
normalize_observation = false
[algorithm]
trajectory_length = 8
batch_steps = 64
minibatch = 64
epochs = 1
"""


def eventually(condition: Callable[[], object], seconds: float = 20) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


class Learner:
    """Listens on an ipc address in a folder of its own; ended, by its pid, with the test."""

    def __init__(self, config: str = SMALL, *arguments: str, example: str | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mmr-py-"))
        self.address = f"ipc://{self.folder}/l"
        self.recordings = self.folder / "recordings"
        file = example or str(self.folder / "run.toml")
        (self.folder / "run.toml").write_text(config)
        self._output = open(self.folder / "output", "w")
        self._environment = {**os.environ, "XDG_RUNTIME_DIR": str(self.folder)}
        self.process = subprocess.Popen(
            [EXECUTABLE, "serve", file, "--set", f'server.listen=["{self.address}"]', "--set", "run.name=run",
             "--set", f"record.path={self.recordings}", "--end-with", str(os.getpid()), *arguments],
            cwd=self.folder, stdout=self._output, stderr=subprocess.STDOUT, env=self._environment,
        )  # fmt: skip
        assert eventually(lambda: "murmurate serves" in self.output() or self.process.poll() is not None)
        assert self.process.poll() is None, self.output()

    def output(self) -> str:
        return (self.folder / "output").read_text()

    def column(self, name: str) -> list[float]:
        """Of progress.csv, what is there of it."""
        return [number for _, number in self.course(name)]

    def course(self, name: str) -> list[tuple[float, float]]:
        """(steps, number) wherever progress.csv has one."""
        lines = (self.folder / "runs" / "run" / "progress.csv").read_text().splitlines()
        columns = lines[0].split(",")
        rows = [dict(zip(columns, line.split(","))) for line in lines[1:]]
        return [(float(row["time/total_timesteps"]), float(row[name])) for row in rows if row.get(name)]

    def steps(self) -> float:
        return max(self.column("time/total_timesteps"), default=0.0)

    def stop(self) -> int:
        """Its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(20)
        finally:
            self._output.close()

    def __enter__(self) -> Learner:
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
        self._output.close()
        shutil.rmtree(self.folder)


@dataclass
class Trajectory:
    agent: int
    first_step: int
    version: int
    observation: np.ndarray  # [steps] rows of bytes
    action: np.ndarray  # [steps] words (int32)
    log_prob: np.ndarray
    reward: np.ndarray
    flags: np.ndarray
    finals: np.ndarray  # rows
    next_observation: np.ndarray  # a row
    episodes: list[tuple[float, int, int, int]]  # return, length, mode, success
    mask: np.ndarray  # [steps] of the bytes of a mask, or empty


def read_recordings(folder: Path, model: str = "default", row_bytes: int = 4) -> list[Trajectory]:
    """Every trajectory that a learner accepted of a model (server/data/record_format.h)."""
    found = []
    for path in sorted(folder.glob(f"{model}-*.traj")):
        content = path.read_bytes()
        assert content[:8] == b"MMRTRAJ\0"
        at = struct.unpack_from("<I", content, 12)[0]
        while at + 128 <= len(content) and content[at : at + 4] == b"TREC":
            size = struct.unpack_from("<I", content, at + 4)[0]
            found.append(_trajectory(content[at : at + size], row_bytes))
            at += size
    return sorted(found, key=lambda each: (each.agent, each.first_step))


def _trajectory(record: bytes, row_bytes: int) -> Trajectory:
    agent, steps, first_step, version = struct.unpack_from("<IIQQ", record, 16)
    sizes = struct.unpack_from("<11I", record, 40)
    columns, at = [], 128
    for size in sizes:
        columns.append(record[at : at + size])
        at += (size + 63) // 64 * 64
    rows = [np.frombuffer(columns[i], np.uint8).reshape(-1, row_bytes) for i in (0, 5, 6)]
    return Trajectory(
        agent, first_step, version, rows[0], np.frombuffer(columns[1], np.int32).reshape(steps, -1),
        np.frombuffer(columns[2], np.float32), np.frombuffer(columns[3], np.float32), np.frombuffer(columns[4], np.uint8), rows[1], rows[2],
        [struct.unpack_from("<dIBB", columns[7], 16 * i) for i in range(len(columns[7]) // 16)],
        np.frombuffer(columns[8], np.uint8).reshape(steps, -1) if columns[8] else np.zeros((0, 0), np.uint8),
    )  # fmt: skip
