"""murmurate.Parameters at real shards (`murmurate params own-program`): what arrays become, what may be passed, what is
said, Ctrl+C, and the example that five processes share."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import murmurate
from learner import EXECUTABLE, eventually

EXAMPLE = Path(__file__).parents[2] / "examples" / "own-program" / "parabola.py"


class Shard:
    def __init__(self, *settings: str) -> None:
        self.folder = tempfile.mkdtemp(prefix="mmr-py-")
        self.address = f"ipc://{self.folder}/s"
        self.settings = settings
        self.start()

    def start(self) -> None:
        given = [word for text in self.settings for word in ("--set", text)]
        self.process = subprocess.Popen(
            [EXECUTABLE, "params", "own-program", "--shard", "0", "--stay", "--quiet", "--set",
             f'parameters.shards=["{self.address}"]', *given],
            cwd=self.folder, env={**os.environ, "XDG_RUNTIME_DIR": self.folder},
        )  # fmt: skip

    def suspend(self) -> None:
        """Returns when it has stopped."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        assert self.process.wait(20) == 0


@pytest.fixture
def shard(request: pytest.FixtureRequest) -> Iterator[Shard]:
    shard = Shard(*getattr(request, "param", ("parameters.rule=asgd",)))
    yield shard
    shard.stop()


def test_float32_arrays_are_used_where_they_lie_and_others_written_back(shard: Shard) -> None:
    w, b, frozen = np.ones((2, 3), np.float32), np.ones(3), np.ones(2, np.float32)
    frozen.flags.writeable = False
    with murmurate.Parameters(shard.address, {"w": w, "b": b, "frozen": frozen}, timeout=20) as parameters:
        assert np.shares_memory(parameters.arrays["w"], w)
        for _ in range(4):
            assert parameters.push({"w": np.ones((2, 3)), "b": [1, 1, 1], "frozen": np.ones(2, np.float16)}, 0.25)
        report = parameters.report
    assert (w == 0).all() and (b == 0).all() and b.dtype == np.float64
    assert (frozen == 1).all() and (parameters.arrays["frozen"] == 0).all(), "what cannot be written is read there"
    assert (report.rule, report.window, report.pushes, report.version, report.late) == ("asgd", 1, 4, 4, 0)
    assert report.wait_s > 0 and report.waits == ""


class Tensor:
    """What other libraries give by DLPack alone."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **keywords: object) -> object:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def test_arrays_of_other_libraries_come_by_dlpack(shard: Shard) -> None:
    w = np.zeros(4, np.float32)
    with murmurate.Parameters(shard.address, {"w": w}, timeout=20) as parameters:
        parameters.push([Tensor(np.full(4, -1, np.float32))], 1)
        assert (w == 1).all()


@pytest.mark.parametrize("shard", [("parameters.rule=sync", "parameters.workers=2")], indirect=True)
def test_two_workers_begin_alike_and_average(shard: Shard) -> None:
    arrays = [np.full(3, 1, np.float32), np.full(3, 9, np.float32)]

    def work(number: int) -> None:
        with murmurate.Parameters(shard.address, {"x": arrays[number]}, worker=number) as parameters:
            for _ in range(3):
                parameters.push([np.full(3, 1 + 2 * number)], 0.5)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert all((array == 1 - 3 * 0.5 * 2).all() for array in arrays)


@pytest.mark.parametrize("shard", [("parameters.rule=downpour", "parameters.form=delta")], indirect=True)
def test_arrays_that_the_program_stepped_are_exchanged(shard: Shard) -> None:
    mine, other = np.zeros(2), np.zeros(2, np.float32)
    with (
        murmurate.Parameters(shard.address, {"x": mine}, timeout=20) as first,
        murmurate.Parameters(shard.address, {"x": other}, worker=1, timeout=20) as second,
    ):
        mine += 3
        assert first.exchange(steps=2)
        other += 4
        assert second.exchange()
        assert (other == 7).all(), "its own four and the other's three"
        first.pull()
        assert (mine == 7).all()
        assert second.report.staleness == 1


def test_a_call_need_not_wait(shard: Shard) -> None:
    x = np.zeros(1000, np.float32)
    with murmurate.Parameters(shard.address, {"x": x}, timeout=20) as parameters:
        shard.suspend()
        assert not parameters.push([np.ones(1000)], 1, wait=False)
        assert not parameters.wait(0.05) and (x == 0).all()
        with pytest.raises(murmurate.Unavailable, match="call wait"):
            parameters.push([np.ones(1000)], 1)
        shard.process.send_signal(signal.SIGCONT)
        assert parameters.wait(20) and (x == -1).all()


def test_a_shard_that_is_started_again_goes_on(shard: Shard) -> None:
    x = np.zeros(5, np.float32)
    with murmurate.Parameters(shard.address, {"x": x}, timeout=20) as parameters:
        for _ in range(10):
            parameters.push([np.full(5, -1)], 1)
        shard.process.kill()
        shard.process.wait()
        shard.start()
        for _ in range(10):
            parameters.push([np.full(5, -1)], 1)
    assert (x == 20).all()


def test_what_is_passed_wrongly_is_said(shard: Shard) -> None:
    x = np.zeros(3, np.float32)
    with murmurate.Parameters(shard.address, {"x": x}, timeout=20) as parameters:
        with pytest.raises(murmurate.InvalidArgument, match=r"'x' has the shape \(2,\), expected \(3,\)"):
            parameters.push([np.zeros(2)], 1)
        with pytest.raises(murmurate.InvalidArgument, match=r"those of \['y'\], expected \['x'\]"):
            parameters.push({"y": x}, 1)
        with pytest.raises(murmurate.InvalidArgument, match="not finite"):
            parameters.push([np.full(3, np.nan)], 1)
        with pytest.raises(murmurate.InvalidArgument, match="pushes gradients"):
            parameters.exchange()
        with pytest.raises(murmurate.InvalidArgument, match='has the shape .4. instead of .3.'):
            murmurate.Parameters(shard.address, {"x": np.zeros(4)}, worker=1)
        with pytest.raises(murmurate.InvalidArgument, match="there is a worker 0 already"):
            murmurate.Parameters(shard.address, {"x": np.zeros(3)})
    with pytest.raises(murmurate.Closed):
        parameters.pull()
    with pytest.raises(murmurate.InvalidArgument, match="expected numbers"):
        murmurate.Parameters(shard.address, {"x": np.array(["a"])})
    with pytest.raises(murmurate.InvalidArgument, match="at least one array"):
        murmurate.Parameters(shard.address, {})
    with pytest.raises(TimeoutError, match="has never answered; start it with"):
        murmurate.Parameters("ipc:///tmp/mmr-py-nowhere", {"x": x}, timeout=1.3, log=lambda level, said: None)


def test_ctrl_c_ends_a_wait() -> None:
    code = """
import numpy as np, murmurate
try:
    murmurate.Parameters("ipc:///tmp/mmr-py-nowhere", {"x": np.zeros(1)})
except KeyboardInterrupt:
    print("interrupted")
"""
    waits = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert waits.stderr is not None and "has never answered" in waits.stderr.readline()
    begin = time.monotonic()
    waits.send_signal(signal.SIGINT)
    assert waits.communicate(timeout=20)[0] == "interrupted\n"
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize("shard", [("parameters.workers=5",)], indirect=True)
def test_five_processes_come_to_the_weights_of_one(shard: Shard, tmp_path: Path) -> None:
    def start(name: str, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(EXAMPLE), "--save", str(tmp_path / name), *arguments], stdout=subprocess.PIPE, text=True
        )

    together = [start(f"{i}.npz", "--worker", str(i), "--of", "5", "--server", shard.address) for i in range(5)]
    running = [*together, start("alone.npz")]
    said = [process.communicate(timeout=60)[0] for process in running]
    assert all(process.returncode == 0 for process in running)
    assert all(0.012 < float(line.split()[-1]) < 0.040 for line in said), said
    alone = np.load(tmp_path / "alone.npz")
    for i in range(5):
        worker = np.load(tmp_path / f"{i}.npz")
        assert max(np.abs(worker[name] - alone[name]).max() for name in alone) < 1e-6
    assert eventually(lambda: shard.process.poll() is None)
