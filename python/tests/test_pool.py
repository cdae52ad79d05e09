"""Trainings side by side: what comes of them, and that nothing is left of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import murmurate
from learner import EXECUTABLE, eventually
from murmurate import Pool
from murmurate._job import error_of

CARTPOLE = {"run": {"environment": "cartpole", "log_interval_s": 0.05}, "evaluation": {"every": 0}}
SHORT = {"run.steps": 2048}


def processes_in(folder: Path) -> list[int]:
    """Whose command line names the folder: learners and their actors."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.fsencode(folder) in (process / "cmdline").read_bytes():
                found.append(int(process.name))
        except OSError:
            pass
    return found


@pytest.fixture
def curve(tmp_path: Path) -> Path:
    """The config of 400 samples of y = x squared, which lie beside it."""
    x = np.linspace(-1, 1, 400, dtype=np.float32).reshape(-1, 1)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", x * x)
    config = tmp_path / "curve.toml"
    config.write_text(
        '[run]\nlog_interval_s = 0.02\n[model]\nlayers = [16]\n[algorithm]\nname = "supervised"\nbatch_steps = 256\n'
        'trajectory_length = 32\nminibatch = 32\n[data]\nobservations = "x.npy"\nlabels = "y.npy"\npasses = 20\n'
    )
    return config


def test_jobs_come_as_they_end_with_their_numbers_and_their_weights(curve: Path) -> None:
    with Pool(2, executable=EXECUTABLE) as pool:
        for passes in (1_000_000, 5):
            pool.submit(curve, {"data.passes": passes}, tag=passes)
        short = pool.next()
        (long,) = pool.jobs
        assert eventually(lambda: long.steps > 100_000)
        long.stop()
        assert list(pool.as_completed()) == [long]
    assert (short.tag, short.steps, short.stopped, long.stopped) == (5, 2000, False, True)
    assert all(job.ok and job.returncode == 0 and job.status == "ended" for job in (short, long))
    assert long.metrics["train/loss"] == long.loss < short.loss
    steps, losses = long.curves["train/loss"].T
    assert steps[-1] == long.steps and losses[-1] == long.loss and len(steps) > 2 and np.all(np.diff(steps) >= 0)
    policy = murmurate.Policy(long.state)
    assert abs(policy.act(np.array([0.5], np.float32)).item() - 0.25) < 0.1
    assert not pool.folder.exists()


def test_a_later_job_begins_with_the_state_of_an_earlier_one(curve: Path) -> None:
    with Pool(1, executable=EXECUTABLE) as pool:
        pool.submit(curve, {"data.passes": 200})
        trained = pool.next()
        rest = {"data.passes": 1, "optimizer.learning_rate": 1e-9}
        for initial in (trained.state, None):
            pool.submit(curve, rest, initial=initial, tag=initial is not None)
        losses = {job.tag: job.loss for job in pool.as_completed()}
    assert losses[True] < 1.5 * trained.loss < losses[False]


def test_no_more_than_asked_for_run_at_a_time_and_their_progress_is_read(tmp_path: Path) -> None:
    with Pool(2, executable=EXECUTABLE, folder=tmp_path) as pool:
        jobs = [pool.submit(CARTPOLE) for _ in range(3)]
        assert eventually(lambda: all(job.steps > 0 for job in jobs[:2]))
        assert [job.status for job in pool.jobs] == ["running", "running", "waiting"]
        assert "return" in repr(jobs[0]) and jobs[0].seconds > 0 and np.isnan(jobs[0].loss)
        with pytest.raises(murmurate.Unavailable, match="has no state yet"):
            jobs[0].state
        with pytest.raises(TimeoutError):
            pool.next(timeout=0.01)
        jobs[2].stop()
        assert pool.next() is jobs[2] and jobs[2].stopped and jobs[2].returncode is None
        with pytest.raises(murmurate.Error, match="left no state"):
            jobs[2].state
        jobs[0].stop()
        assert pool.next() is jobs[0] and jobs[0].ok and jobs[0].steps > 0
        assert murmurate.Policy(jobs[0].state).act(np.zeros(4, np.float32)) in (0, 1)
    assert jobs[1].stopped and jobs[1].status == "ended" and not list(tmp_path.iterdir())


def test_configs_are_paths_texts_and_dicts(curve: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(curve.parent)
    lists = {
        "run.log_interval_s": 0.02, "model": {"layers": np.array([8, 8])}, "optimizer": {"name": "sgd"},
        "optimizer.learning_rate": {"from": np.float64(1e-2), "to": 1e-3, "steps": np.int64(1000)},
        "algorithm": {"name": "supervised", "batch_steps": 256, "trajectory_length": 32, "minibatch": 32},
        "data": {"observations": [Path("x.npy")], "labels": "y.npy", "passes": 2},
    }  # fmt: skip
    with Pool(2, executable=EXECUTABLE) as pool:
        for config in (curve, str(curve), "curve.toml", curve.read_text(), lists):
            pool.submit(config, {"data.passes": 2})
        assert [(job.error, job.steps) for job in pool.as_completed()] == [(None, 800)] * 5
        pool.submit("cartpole", SHORT)
        assert pool.next().error is None


@pytest.mark.parametrize(
    ("config", "overrides", "said"),
    [
        ("cartpol", {}, 'did you mean "cartpole"'),
        ("[run]\nepochs", {}, "standard input:2: not TOML"),
        (CARTPOLE, {"optimizer.rate": 1}, "unknown key"),
        (CARTPOLE, {"model.initialize_from": "/nowhere"}, "there is no such file"),
    ],
)
def test_a_job_that_fails_says_why_in_the_learners_sentence(
    config: object, overrides: dict[str, object], said: str
) -> None:
    with Pool(1, executable=EXECUTABLE) as pool:
        pool.submit(config, overrides)  # type: ignore[arg-type]
        job = pool.next()
    assert not job.ok and job.returncode == 2 and job.error is not None
    assert said in job.error and "\n" not in job.error and job.metrics == {} and job.curves == {}


def test_a_job_without_its_last_weights_failed() -> None:
    full = "warning: slow\nerror: checkpoint not written (2 failed so far): No space left on device\n"
    assert error_of(0, full, lacks_weights=False) == full.splitlines()[1]
    assert error_of(0, "", lacks_weights=True) == "left no weights"
    assert error_of(1, "warning: slow\n", lacks_weights=False) is None


def test_a_learner_that_is_killed_is_a_job_that_failed(place: Path) -> None:
    with Pool(1, executable=EXECUTABLE, folder=place) as pool:
        job = pool.submit(CARTPOLE)
        assert eventually(lambda: job.steps > 0)
        learner = min(processes_in(pool.folder / "0"))
        os.kill(learner, signal.SIGKILL)
        assert pool.next().error == "ended by SIGKILL" and job.steps > 0
        assert eventually(lambda: not processes_in(pool.folder))  # its actors, too


def test_wrong_arguments_are_answered_at_once(tmp_path: Path) -> None:
    with pytest.raises(murmurate.ResourceError, match="no program murmuration is found: build it"):
        Pool(executable="murmuration")
    with pytest.raises(murmurate.InvalidArgument, match="jobs is 0"):
        Pool(0, executable=EXECUTABLE)
    with pytest.raises(murmurate.ResourceError, match="no folder can be made there"):
        Pool(executable=EXECUTABLE, folder=tmp_path / "missing")
    with Pool(1, executable=EXECUTABLE) as pool:
        for config, overrides, initial, said in (
            (3, {}, None, "config is a int"),
            ("missing.toml", {}, None, "'missing.toml': cannot be read"),
            ({"steps": 3}, {}, None, "expected a section"),
            ({"run": {"steps": None}}, {}, None, "run.steps is a NoneType"),
            (CARTPOLE, {"steps": 3}, None, 'expected "section.key"'),
            (CARTPOLE, ["run.steps=3"], None, "overrides is a list"),
            (CARTPOLE, {"run.dir": "x"}, None, "run.dir is set by the Pool"),
            (CARTPOLE, {}, 3, "initial is a int"),
        ):
            with pytest.raises(murmurate.InvalidArgument, match=said):
                pool.submit(config, overrides, initial=initial)  # type: ignore[arg-type]
        with pytest.raises(murmurate.InvalidArgument, match="no job is left"):
            pool.next()
    pool.close()
    with pytest.raises(murmurate.Closed):
        pool.submit(CARTPOLE)


PROGRAM = """
import sys, time, murmurate
with murmurate.Pool(2, executable=sys.argv[1], folder=sys.argv[2]) as pool:
    jobs = [pool.submit({"run": {"environment": "cartpole", "log_interval_s": 0.05}}) for _ in range(3)]
    while not all(job.steps > 0 for job in jobs[:2]): time.sleep(0.01)
    print(pool.folder, flush=True)
    if sys.argv[3] == "exception": raise ValueError("of the loop")
    if sys.argv[3] == "exit": sys.exit(3)
    pool.next()
"""


@contextmanager
def started(folder: Path, how: str, program: str = PROGRAM) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A program with two trainings that run, and the folder of its pool."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, EXECUTABLE, str(folder), how], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        yield process, Path(process.stdout.readline().strip())
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("how", "code", "said"), [("SIGINT", -signal.SIGINT, "KeyboardInterrupt"), ("exception", 1, "of the loop")]
)
def test_nothing_is_left_of_a_loop_that_ends_early(how: str, code: int, said: str, place: Path) -> None:
    with started(place, how) as (process, folder):
        if how == "SIGINT":
            assert len(processes_in(folder)) == 4
            process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        assert process.returncode == code and said in errors
    assert not folder.exists() and not processes_in(folder)


def test_nothing_is_left_of_a_program_that_is_killed(place: Path) -> None:
    with started(place, "SIGKILL") as (process, folder):
        assert len(processes_in(folder)) == 4
    assert eventually(lambda: not processes_in(folder))
    with Pool(1, executable=EXECUTABLE, folder=place) as pool, Pool(1, executable=EXECUTABLE, folder=place) as other:
        assert sorted(place.iterdir()) == sorted([pool.folder, other.folder])


def test_a_pool_that_nobody_closes_ends_with_its_last_reference(place: Path) -> None:
    program = PROGRAM.replace("with murmurate.Pool", "if pool := murmurate.Pool").replace(" as pool:", ":")
    with started(place, "exit", program) as (process, folder):
        process.communicate(timeout=20)
    assert process.returncode == 3 and not folder.exists() and not processes_in(folder)


def test_a_forked_child_leaves_the_jobs_of_its_parent_alone(place: Path) -> None:
    with Pool(1, executable=EXECUTABLE, folder=place) as pool:
        job = pool.submit(CARTPOLE)
        assert eventually(lambda: job.steps > 0)
        child = os.fork()
        if child == 0:
            try:
                pool.submit(CARTPOLE)
            except murmurate.Forked:
                pool.close()
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        then = job.steps
        assert eventually(lambda: job.steps > then) and pool.folder.exists()
