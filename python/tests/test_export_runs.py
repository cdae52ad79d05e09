"""What `murmurate export` writes of a run gives what the client computes."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exported_models import TYPES, play, session_of
from learner import EXECUTABLE, eventually


def train(folder: Path, example: str, *settings: str) -> str:
    """A short run of an example; its name."""
    small = ["run.steps=2000", "evaluation.episodes=1", "evaluation.every=0", "run.name=short", *settings]
    command = [EXECUTABLE, "train", example, "--quiet", *(word for setting in small for word in ("--set", setting))]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return "short"


def exported(folder: Path, run: str, format: str, *arguments: str) -> Path:
    command = [EXECUTABLE, "export", run, "--format", format, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "runs" / run / "export" / f"{run}.{format}"


def drawn(value: Any) -> Any:
    """50 steps of an input, one row each."""
    shape = (50, 1, *value.shape[1:])
    if value.type == "tensor(float)":
        return np.random.default_rng(5).normal(size=shape).astype(np.float32)
    return np.random.default_rng(5).integers(0, 2, shape).astype(TYPES[value.type])


def as_the_game(row: Any) -> Any:
    """One category is a number for the client."""
    return row[0] if row.dtype == np.int32 and row.shape == (1,) else row


@pytest.mark.parametrize("example", ["cartpole", "recall", "pendulum", "gridworld-dqn"])
def test_a_run_is_played_alike_by_the_client_and_by_onnxruntime(tmp_path: Path, example: str) -> None:
    import murmurate

    run = train(tmp_path, example)
    policy = murmurate.Policy(exported(tmp_path, run, "policy"))
    session = session_of(exported(tmp_path, run, "onnx"))
    inputs = {v.name: drawn(v) for v in session.get_inputs() if v.name.startswith("observation")}
    parts = {name.partition(".")[2]: column for name, column in inputs.items()}
    rows = [{name: as_the_game(column[step, 0]) for name, column in parts.items()} for step in range(50)]
    if any(value.name == "action_mask" for value in session.get_inputs()):
        inputs["action_mask"] = np.ones((50, 1, int(policy.action_space.n)), bool)
    got = play(session, inputs)["action"]
    for step, row in enumerate(rows):
        action = policy.act(row.get("", row))
        np.testing.assert_allclose(got[step, 0].reshape(-1), np.reshape(action, -1), rtol=1e-5, atol=1e-5)
    policy.close()


def test_a_run_begins_with_the_tensors_that_another_exported(tmp_path: Path) -> None:
    run = train(tmp_path, "cartpole")
    file = exported(tmp_path, run, "safetensors", "--networks", "all")
    command = [EXECUTABLE, "check", "cartpole", "--set", f"model.initialize_from={file}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "12 of 12 tensors" in done.stdout, done.stdout + done.stderr


def test_networks_that_a_model_lacks_are_named(tmp_path: Path) -> None:
    run = train(tmp_path, "cartpole")
    command = [EXECUTABLE, "export", run, "--format", "onnx", "--networks", "q1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "--networks q1: the model has no such network to export (it has value)" in done.stderr
    assert not (tmp_path / "runs" / run / "export").exists()


STREAM = """
[run]
name = "sensors"
[stream.temp]
listen = "ipc://{place}/s"
fields = ["temp", "hum", "vib"]
target = "temp"
model = "gru"
"""


def test_a_streams_model_is_played_alike(place: Path) -> None:
    import murmurate

    (place / "stream.toml").write_text(STREAM.format(place=place))
    with open(place / "output", "w") as output:
        daemon = subprocess.Popen([EXECUTABLE, "serve", "stream.toml"], cwd=place, stdout=output, stderr=output)
    try:
        assert eventually(lambda: (place / "s").exists()), (place / "output").read_text()
        sensors = [EXECUTABLE, "actor", "sensors", "--connect", f"ipc://{place}/s", "--seconds", "1", "--rate", "50"]
        subprocess.run(sensors, capture_output=True, check=True, timeout=30)
        daemon.send_signal(signal.SIGINT)
        daemon.wait(20)
    finally:
        daemon.kill()
    session = session_of(exported(place, "sensors", "onnx"))
    rows = drawn(session.get_inputs()[0])
    got = play(session, {"observation": rows})
    with murmurate.Policy(exported(place, "sensors", "policy")) as policy:
        for step, row in enumerate(rows[:, 0]):
            np.testing.assert_allclose(got["action"][step, 0], policy.act(row), rtol=1e-5, atol=1e-5)
    assert set(got) == {"action", "mean", "deviation"}
