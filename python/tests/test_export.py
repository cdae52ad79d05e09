"""Exported models in onnxruntime, safetensors and PyTorch give what the client and the learner compute."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TOLERANCE = 1e-5
LOWEST = np.finfo(np.float32).min
WRITER = os.environ.get("MURMURATE_EXPORT_CASES", "")

needs_cases = pytest.mark.skipif(not WRITER, reason="MURMURATE_EXPORT_CASES does not name write_export_cases")


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cases")
    subprocess.run([WRITER, str(folder)], check=True, timeout=60)
    assert len(list(folder.glob("*.onnx"))) > 30
    return folder


def reference_of(model: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Inputs and outputs of a case, [steps][batch][...]."""
    from safetensors.numpy import load_file

    tensors = load_file(model.with_suffix(".reference.safetensors"))
    sides: dict[str, dict[str, Any]] = {"in": {}, "out": {}}
    for name, tensor in tensors.items():
        side, _, rest = name.partition(".")
        sides[side][rest] = tensor
    return sides["in"], sides["out"]


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


def compare(name: str, got: Any, expected: Any) -> None:
    assert got.shape == expected.shape, name
    if got.dtype == np.int64:
        np.testing.assert_array_equal(got, expected, err_msg=name)
        return
    allowed = got > LOWEST if name.startswith("logits") else np.ones(got.shape, bool)
    difference = np.abs(got - expected) / np.maximum(1, np.abs(expected))
    assert np.max(difference[allowed], initial=0) < TOLERANCE, name


def check_masks(got: dict[str, Any], inputs: dict[str, Any]) -> None:
    """A forbidden choice is never taken, nor likely."""
    if "action_mask" not in inputs or "logits" not in got or got["action"].shape[2] > 1:
        return
    mask = inputs["action_mask"].astype(bool)
    some = mask.any(axis=2)
    np.testing.assert_array_equal((got["logits"] > LOWEST)[some], mask[some])
    assert np.take_along_axis(mask, got["action"], 2)[..., 0][some].all()


@needs_cases
def test_onnxruntime_computes_what_the_client_and_the_learner_compute(cases: Path) -> None:
    steps = set()
    for model in sorted(cases.glob("*.onnx")):
        inputs, expected = reference_of(model)
        got = play(session_of(model), inputs)
        assert set(got) == set(expected), model.name
        for name in expected:
            compare(name, got[name], expected[name])
        check_masks(got, inputs)
        steps.add(next(iter(inputs.values())).shape[0])
    assert steps == {1, 50}


@needs_cases
def test_onnx_itself_finds_no_fault(cases: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    for path in sorted(cases.glob("*.onnx")):
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)
        assert (model.ir_version, [(o.domain, o.version) for o in model.opset_import]) == (7, [("", 13)])
        metadata = {entry.key: entry.value for entry in model.metadata_props}
        assert metadata["murmurate.spec"].startswith("murmurate-model 2\nobservation")
        assert metadata["murmurate.spaces"].startswith("observation")
        assert (metadata["murmurate.version"], metadata["murmurate.steps"]) == ("7", "4096")
        assert {v.type.tensor_type.shape.dim[0].dim_param for v in [*model.graph.input, *model.graph.output]} == {"batch"}
