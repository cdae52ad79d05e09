"""Exported models as onnxruntime plays them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest


def session_of(model: Path) -> Any:
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


TYPES = {"tensor(float)": np.float32, "tensor(uint8)": np.uint8, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}


def states_of(session: Any) -> dict[str, str]:
    """The output that becomes each state's input in the next step."""
    outputs = {value.name for value in session.get_outputs()}
    pairs = {}
    for value in session.get_inputs():
        after = value.name.replace("0", "n", 1)
        if value.name[:2] in ("h0", "c0") and after in outputs:
            pairs[value.name] = after
    return pairs


def play(session: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """All steps, with the states carried: [steps][batch][...] of each output."""
    states = states_of(session)
    wanted = {value.name: TYPES[value.type] for value in session.get_inputs()}
    sizes = {value.name: value.shape[1] for value in session.get_inputs() if value.name in states}
    assert set(wanted) == set(inputs) | set(states)
    steps, batch = next(iter(inputs.values())).shape[:2]
    carried = {name: np.zeros((batch, size), np.float32) for name, size in sizes.items()}
    names = [value.name for value in session.get_outputs()]
    made: dict[str, list[Any]] = {name: [] for name in names}
    for step in range(steps):
        feed = {name: inputs[name][step].astype(wanted[name]) for name in inputs}
        got = dict(zip(names, session.run(None, feed | carried)))
        carried = {name: got[after] for name, after in states.items()}
        for name in names:
            made[name].append(got[name])
    return {name: np.stack(values) for name, values in made.items() if name not in states.values()}
