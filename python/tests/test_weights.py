"""Networks of others begin a run with the outputs that they had: the source's are computed here, in NumPy."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import murmurate
from learner import EXECUTABLE
from murmurate import weights

RANDOM = np.random.default_rng(7)
CONFIG = """
[run]
name = "{name}"
stop_at_steps = 8
[model]
layers = {layers}
activation = "tanh"
normalize_observation = false
{more}
[algorithm]
name = "supervised"
batch_steps = 8
minibatch = 8
trajectory_length = 8
[optimizer]
learning_rate = 1e-9
[data]
observations = "x.npy"
labels = "y.npy"
passes = 1
"""


def numbers(*shape: int) -> Any:
    return (RANDOM.normal(size=shape) * 0.3).astype(np.float32)


def train(folder: Path, name: str, layers: str, x: Any, y: Any, more: str = "") -> None:
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", y)
    (folder / f"{name}.toml").write_text(CONFIG.format(name=name, layers=layers, more=more))
    done = subprocess.run([EXECUTABLE, "train", f"{name}.toml"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def outputs(folder: Path, name: str, x: Any) -> Any:
    file = folder / f"{name}.policy"
    command = [EXECUTABLE, "export", f"runs/{name}", "--format", "policy", "-o", str(file)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    policy = murmurate.Policy(str(file))
    return np.stack([policy.act(row) for row in x])


def converted(folder: Path, source: str, *arguments: str) -> None:
    assert weights.main([str(folder / source), "--model", str(folder / "runs/first"), "-o",
                         str(folder / "initial.safetensors"), *arguments]) == 0  # fmt: skip


def write_safetensors(path: Path, tensors: dict[str, Any]) -> None:
    """From the format's description, not by what is tested."""
    header, data = {}, b""
    for name, tensor in tensors.items():
        raw = np.ascontiguousarray(tensor).tobytes()
        kind = {"float32": "F32", "float16": "F16"}[str(tensor.dtype)]
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def mlp(x: Any, kernels: list[Any], biases: list[Any]) -> Any:
    for kernel, bias in zip(kernels[:-1], biases[:-1]):
        x = np.tanh(x @ kernel + bias)
    return x @ kernels[-1] + biases[-1]


SIZES = [(3, 16), (16, 16), (16, 2)]
INITIAL = 'initialize_from = "initial.safetensors"'


def write_keras(path: Path, kernels: list[Any], biases: list[Any]) -> None:
    """As Keras 2 saves a model: layers and weights in the order that attributes say."""
    with h5py.File(path, "w") as file:
        root = file.create_group("model_weights")
        layers = ["zeta", "beta", "alpha"]
        root.attrs["layer_names"] = [name.encode() for name in layers]
        for name, kernel, bias in zip(layers, kernels, biases):
            group = root.create_group(name)
            group.attrs["weight_names"] = [f"{name}/kernel:0".encode(), f"{name}/bias:0".encode()]
            group[f"{name}/kernel:0"], group[f"{name}/bias:0"] = kernel, bias


@pytest.mark.parametrize("kind", ["h5", "safetensors", "pt"])
def test_a_dense_network_begins_with_the_outputs_it_had(tmp_path: Path, kind: str) -> None:
    kernels, biases = [numbers(*size) for size in SIZES], [numbers(size[1]) for size in SIZES]
    x = numbers(8, 3)
    expected = mlp(x, kernels, biases)
    train(tmp_path, "first", "[16, 16]", x, expected)
    source = f"model.{kind}"
    state = {}
    for i, (kernel, bias) in enumerate(zip(kernels, biases)):
        state[f"net.{2 * i}.weight"], state[f"net.{2 * i}.bias"] = np.ascontiguousarray(kernel.T), bias
    if kind == "h5":
        write_keras(tmp_path / source, kernels, biases)
    elif kind == "safetensors":
        write_safetensors(tmp_path / source, state)
    else:
        torch = pytest.importorskip("torch", reason="a .pt file needs PyTorch, which is not installed")
        torch.save({name: torch.from_numpy(tensor) for name, tensor in state.items()}, tmp_path / source)
    converted(tmp_path, source)
    train(tmp_path, "second", "[16, 16]", x, expected, INITIAL)
    assert np.max(np.abs(outputs(tmp_path, "second", x) - expected)) < 1e-5
    assert np.max(np.abs(outputs(tmp_path, "first", x) - expected)) > 1e-2


def conv(picture: Any, kernel: Any, bias: Any, stride: int) -> Any:
    """[h, w, in] with [k, k, in, out]"""
    size, side = kernel.shape[0], (picture.shape[0] - kernel.shape[0]) // stride + 1
    made = np.zeros((side, side, kernel.shape[3]))
    for i in range(side):
        for j in range(side):
            part = picture[i * stride : i * stride + size, j * stride : j * stride + size]
            made[i, j] = np.tensordot(part, kernel, 3)
    return made + bias


@pytest.mark.parametrize("layout", ["keras", "torch"])
def test_a_convolution_is_turned_and_the_rows_behind_it_are_put_in_order(tmp_path: Path, layout: str) -> None:
    kernel, bias = numbers(3, 3, 2, 5), numbers(5)
    dense, dense_bias, head, head_bias = numbers(3 * 3 * 5, 7), numbers(7), numbers(7, 1), numbers(1)
    x = RANDOM.integers(0, 256, (8, 7, 7, 2)).astype(np.uint8)
    expected = []
    for picture in x:
        seen = np.maximum(conv(picture / 255.0, kernel, bias, 2), 0)  # [h, w, channels]
        expected.append(np.tanh(seen.reshape(-1) @ dense + dense_bias) @ head + head_bias)
    inputs = 'inputs = ["observation: conv 5 3 2 0 relu", "observation: flatten"]'
    train(tmp_path, "first", "[7]", x, np.array(expected, np.float32), inputs)
    if layout == "keras":
        state = {"conv/kernel": kernel, "conv/bias": bias, "d/kernel": dense, "d/bias": dense_bias,
                 "out/kernel": head, "out/bias": head_bias}  # fmt: skip
    else:
        rows = dense.reshape(3, 3, 5, 7).transpose(2, 0, 1, 3).reshape(45, 7)  # channels first
        state = {"c.weight": kernel.transpose(3, 2, 0, 1), "c.bias": bias, "d.weight": rows.T, "d.bias": dense_bias,
                 "o.weight": head.T, "o.bias": head_bias}  # fmt: skip
    np.savez(tmp_path / "model.npz", **{name.replace("/", "|"): tensor for name, tensor in state.items()})
    converted(tmp_path, "model.npz", "--layout", layout)
    train(tmp_path, "second", "[7]", x, np.array(expected, np.float32), inputs + "\n" + INITIAL)
    assert np.max(np.abs(outputs(tmp_path, "second", x) - np.array(expected))) < 1e-5


def test_what_is_ambiguous_is_refused_and_a_map_decides(tmp_path: Path, capsys: Any) -> None:
    kernels, biases = [numbers(*size) for size in SIZES], [numbers(size[1]) for size in SIZES]
    x = numbers(8, 3)
    train(tmp_path, "first", "[16, 16]", x, mlp(x, kernels, biases))
    state = {}
    for name, kernel, bias in zip(["z", "b", "a"], kernels, biases):
        state[f"{name}.weight"], state[f"{name}.bias"] = np.ascontiguousarray(kernel.T), bias.astype(np.float16)
    state["other.weight"] = numbers(4, 4)
    write_safetensors(tmp_path / "model.safetensors", state)
    arguments = [str(tmp_path / "model.safetensors"), "--model", str(tmp_path / "runs/first"), "-o", str(tmp_path / "o")]
    assert weights.main(arguments) == 2
    assert "policy.0.bias [16] may be any of z.bias, b.bias: say by --map which it is" in capsys.readouterr().err
    names = ["policy.0", "policy.1", "policy.head"]
    lines = [f'"{ours}.{part}" = "{its}.{part}"' for ours, its in zip(names, "zba") for part in ("weight", "bias")]
    (tmp_path / "map.toml").write_text("# ours = theirs\n" + "\n".join(lines))
    assert weights.main([*arguments, "--map", str(tmp_path / "map.toml")]) == 0
    found = weights.read_safetensors(tmp_path / "o")
    assert np.array_equal(found["policy.1.weight"], kernels[1])
    (tmp_path / "map.toml").write_text(lines[0].replace("z.weight", "a.weight"))
    assert weights.main([*arguments, "--map", str(tmp_path / "map.toml")]) == 2
    assert "a.weight has the shape [16, 2] where policy.0.weight has [3, 16]" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["none.h5", "text.txt", "bad.safetensors"])
def test_what_cannot_be_read_is_said_in_one_line(tmp_path: Path, capsys: Any, name: str) -> None:
    (tmp_path / "text.txt").write_text("x")
    (tmp_path / "bad.safetensors").write_bytes(b"\xff" * 9)
    assert weights.main([str(tmp_path / name), "--model", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"murmurate.weights: {tmp_path / name}") and said.count("\n") == 1


def test_a_missing_module_is_named_with_its_command(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['h5py'] = None\n"
        "from murmurate import weights; sys.exit(weights.main(sys.argv[1:]))"
    )  # fmt: skip
    (tmp_path / "m.h5").write_bytes(b"x")
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "m.h5"), "--model", "x"],
                          capture_output=True, text=True, timeout=60)  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "murmurate.weights: a Keras file needs h5py, which is not installed: pip install h5py\n"
