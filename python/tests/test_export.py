"""Exported models in onnxruntime, safetensors and PyTorch give what the client and the learner compute."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exported_models import play, session_of

TOLERANCE = 1e-5
LOWEST = np.finfo(np.float32).min
WRITER = os.environ.get("MURMURATE_EXPORT_CASES", "")

needs_cases = pytest.mark.skipif(not WRITER, reason="MURMURATE_EXPORT_CASES does not name write_export_cases")


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cases")
    subprocess.run([WRITER, str(folder)], check=True, timeout=60)
    assert len(models_in(folder)) > 30
    return folder


def models_in(cases: Path) -> list[Path]:
    """The ONNX files with our own tensors."""
    return sorted(path for path in cases.glob("*.onnx") if not path.name.endswith(".unity.onnx"))


def reference_of(model: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Inputs and outputs of a case, [steps][batch][...]."""
    from safetensors.numpy import load_file

    tensors = load_file(model.with_suffix(".reference.safetensors"))
    sides: dict[str, dict[str, Any]] = {"in": {}, "out": {}}
    for name, tensor in tensors.items():
        side, _, rest = name.partition(".")
        sides[side][rest] = tensor
    return sides["in"], sides["out"]


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
    for model in models_in(cases):
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
    for path in cases.glob("*.unity.onnx"):
        onnx.checker.check_model(onnx.load(path), full_check=True)
    for path in models_in(cases):
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)
        assert (model.ir_version, [(o.domain, o.version) for o in model.opset_import]) == (7, [("", 13)])
        metadata = {entry.key: entry.value for entry in model.metadata_props}
        assert metadata["murmurate.spec"].startswith("murmurate-model 2\nobservation")
        assert metadata["murmurate.spaces"].startswith("observation")
        assert (metadata["murmurate.version"], metadata["murmurate.steps"]) == ("7", "4096")
        values = [*model.graph.input, *model.graph.output]
        assert {value.type.tensor_type.shape.dim[0].dim_param for value in values} == {"batch"}


@needs_cases
def test_safetensors_have_the_names_and_shapes_of_torch_modules(cases: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    state = numpy.load_file(cases / "dense.safetensors")
    assert {name: tensor.shape for name, tensor in state.items() if name.startswith("policy.")} == {
        "policy.0.weight": (16, 5),
        "policy.0.bias": (16,),
        "policy.1.weight": (8, 16),
        "policy.1.bias": (8,),
        "policy.head.weight": (4, 8),
        "policy.head.bias": (4,),
    }
    inputs, expected = reference_of(cases / "dense.onnx")
    x = inputs["observation"][0] - state["statistics.observation.mean"]
    x = np.clip(x / np.sqrt(state["statistics.observation.variance"] + 1e-8), -10, 10)
    for network, output in ("policy", "logits"), ("value", "value"):
        y = np.tanh(x @ state[f"{network}.0.weight"].T + state[f"{network}.0.bias"])
        y = np.maximum(y @ state[f"{network}.1.weight"].T + state[f"{network}.1.bias"], 0)
        y = y @ state[f"{network}.head.weight"].T + state[f"{network}.head.bias"]
        np.testing.assert_allclose(y, expected[output][0], rtol=TOLERANCE, atol=TOLERANCE)


def play_in_unity(model: Path, inputs: dict[str, Any]) -> list[dict[str, Any]]:
    """The outputs of each step, with the memory carried as ML-Agents does."""
    session = session_of(model)
    spec = session.get_modelmeta().custom_metadata_map["murmurate.spec"].replace("uint8", "bytes")
    observed = [line.split()[0] for line in spec.splitlines() if line.startswith("observation")]
    given = {}
    for name, column in inputs.items():
        if name == "action_mask":
            given["action_masks"] = column
            continue
        scaled = column / 255 if f"{name} bytes" in spec else column
        given[f"obs_{observed.index(name)}"] = scaled.transpose(0, 1, 4, 2, 3) if column.ndim == 5 else scaled
    names = [value.name for value in session.get_outputs()]
    memory = {v.name: np.zeros((column.shape[1], *v.shape[1:]), np.float32)
              for v in session.get_inputs() if v.name == "recurrent_in"}  # fmt: skip
    steps = []
    for step in range(column.shape[0]):
        feed = {name: values[step].astype(np.float32) for name, values in given.items()} | memory
        steps.append(dict(zip(names, session.run(None, feed))))
        memory = {name: steps[-1]["recurrent_out"] for name in memory}
    return steps


def discrete(model: Path, output: str) -> bool:
    """Whether the action is of choices, by the model of our own names."""
    session = session_of(model.with_name(model.name.replace(".unity", "")))
    return any(value.name == output and value.type == "tensor(int64)" for value in session.get_outputs())


def actions_of(model: Path) -> list[str]:
    """The parts of the action, in the order of the space."""
    spaces = session_of(model).get_modelmeta().custom_metadata_map["murmurate.spaces"]
    return [line.split()[0] for line in spaces.splitlines() if line.startswith("action")]


@needs_cases
def test_the_tensors_of_ml_agents_give_the_same_actions(cases: Path) -> None:
    played = 0
    for model in sorted(cases.glob("*.unity.onnx")):
        inputs, expected = reference_of(model.with_name(model.name.replace(".unity", "")))
        ours = {name: c for name, c in inputs.items() if not name.startswith(("privileged", "encoded"))}
        got = play_in_unity(model, ours)
        actions = {name: column.astype(np.float32) for name, column in expected.items() if name.startswith("action")}
        for kind in "discrete_actions", "continuous_actions":
            if kind not in got[0]:
                continue
            ints = kind == "discrete_actions"
            parts = [actions[name] for name in actions_of(model) if discrete(model, name) == ints]
            wanted = np.concatenate([part.reshape(*part.shape[:2], -1) for part in parts], -1)
            for name in kind, "deterministic_" + kind:
                np.testing.assert_allclose(np.stack([step[name] for step in got]), wanted, rtol=1e-5, atol=1e-5)
        assert got[0]["version_number"] == [3]
        played += 1
    assert played >= 25


def module_of(torch: Any, words: list[str], shape: tuple[int, ...]) -> Any:
    """A layer of a model's text as a PyTorch user writes it, without its activation."""
    nn = torch.nn
    sizes = [int(word) for word in words[1:] if word.isdigit()]
    made = {
        "dense": lambda: nn.Linear(shape[0], sizes[0]),
        "conv": lambda: nn.Conv2d(shape[0], sizes[0], sizes[1], sizes[2], sizes[3]),
        "max_pool": lambda: nn.MaxPool2d(*sizes),
        "flatten": lambda: nn.Flatten(),
        "lstm": lambda: nn.LSTM(shape[0], sizes[0]),
        "gru": lambda: nn.GRU(shape[0], sizes[0]),
        "layer_norm": lambda: nn.LayerNorm(shape[0]),
    }.get(words[0])
    return made() if made else nn.Identity()


def chain(torch: Any, state: dict[str, Any], prefix: str, lines: list[str], x: Any) -> Any:
    """`lines` of a model's text on [steps, batch, ...] of the first line's modules, pictures as channels first."""
    activations = {"tanh": torch.tanh, "relu": torch.relu, "elu": torch.nn.functional.elu, "sigmoid": torch.sigmoid}
    kept = x
    for i, line in enumerate(lines):
        words = line.split()
        if words[0] == "residual":
            kept = x
        elif words[0] == "add":
            x = x + kept
        else:
            module = module_of(torch, words, tuple(x.shape[2:]))
            own = f"{prefix}.{i}."
            module.load_state_dict({n.removeprefix(own): t for n, t in state.items() if n.startswith(own)})
            if words[0] in ("lstm", "gru"):
                x = module(x)[0]
            elif words[0] == "layer_norm" and x.ndim == 5:
                x = module(x.permute(0, 1, 3, 4, 2)).permute(0, 1, 4, 2, 3)
            else:
                x = module(x.flatten(0, 1)).unflatten(0, x.shape[:2])
        x = activations.get(words[-1], lambda y: y)(x)
    return x


def torch_inputs(torch: Any, lines: list[str], state: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """What the first layers see of the game's inputs: [steps, batch, ...], pictures as channels first."""
    seen, first = {}, 0
    stacks = {line.split()[1]: int(line.split()[3]) for line in lines if line.startswith("input ")}
    for line in lines:
        words = line.split()
        if not words[0].startswith("observation"):
            continue
        name = words[0].partition(".")[2] or "-"
        x = torch.from_numpy(inputs[words[0]])
        if words[1] in ("categories", "binary"):
            sizes = [int(word) for word in words[2:]] if words[1] == "categories" else [2] * int(words[2])
            hot = [torch.nn.functional.one_hot(x[..., i].long(), size) for i, size in enumerate(sizes)]
            seen[name] = torch.cat(hot, -1).float()
            continue
        if words[1] == "uint8":
            x = x / 255
        elif "normalize_observation 1" in lines:
            frame = [int(word) for word in words[2:]]
            count = int(np.prod(frame))
            mean, variance = (state[f"statistics.observation.{part}"][first : first + count].reshape(frame)
                              for part in ("mean", "variance"))  # fmt: skip
            first += count
            if len(frame) == x.ndim - 3:
                mean, variance = mean[..., None], variance[..., None]
            repeated = [1] * (mean.ndim - 1) + [stacks.get(name, 1)]
            x = (x - mean.repeat(repeated)) / torch.sqrt(variance.repeat(repeated) + 1e-8)
            x = x.clamp(-10, 10)
        if x.ndim == 4:
            x = x[..., None]
        seen[name] = x.permute(0, 1, 4, 2, 3) if x.ndim == 5 else x.flatten(2)
    return seen


def torch_head(torch: Any, path: Path, inputs: dict[str, Any]) -> Any:
    """The policy's head by modules of PyTorch, [steps, batch, outputs]."""
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        metadata, state = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}
    assert metadata["murmurate.layout"] == "pytorch"
    lines = metadata["murmurate.model"].splitlines()
    seen = torch_inputs(torch, lines, state, inputs)
    layers = lines[lines.index("network policy published trained") + 1 : lines.index("head action")]
    parts: dict[str, list[str]] = {name: [] for name in seen}
    part = trunk = []
    for line in layers:
        if line.startswith("input "):
            part = parts[line.split()[1]]
        elif line == "trunk":
            part = trunk
        else:
            part.append(line)
    joined = [
        chain(torch, state, f"policy.{'observation' if name == '-' else name}", parts[name], x).flatten(2)
        for name, x in seen.items()
    ]
    features = chain(torch, state, "policy", trunk, torch.cat(joined, -1))
    return features @ state["policy.head.weight"].T + state["policy.head.bias"]


@needs_cases
def test_modules_of_torch_compute_what_the_client_computes(cases: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("safetensors.torch", reason="safetensors is not installed")
    played = 0
    with torch.no_grad():
        for path in models_in(cases):
            inputs, expected = reference_of(path)
            if any(not name.startswith(("observation", "action_mask")) for name in inputs) or "logits" not in expected:
                continue
            got = torch_head(torch, path.with_suffix(".safetensors"), inputs)
            compare(path.stem, got.numpy(), expected["logits"])
            played += 1
    assert played >= 20
