"""Weights of a Keras or PyTorch network as a file that `[model] initialize_from` reads.

    python3 -m murmurate.weights model.h5 --model runs/mine -o initial.safetensors

The source: a Keras file (.h5, .weights.h5, .keras; needs h5py), a PyTorch state_dict (.pt, .pth; needs torch), a
.safetensors file or a .npz file. `--model` is a run, checkpoint or weights.safetensors of the network that is to begin
with them: it says the names and the shapes that are wanted.

Layouts: Keras keeps a dense kernel as (in, out) and a convolution as (height, width, in, out), as murmurate does; PyTorch
keeps (out, in) and (out, in, height, width), which are turned, and the rows of a dense layer behind a convolution are put
in the order of (height, width, channels). Of an LSTM, PyTorch's two biases are added. A GRU is not converted.

Which tensor becomes which is guessed from their order and shapes, printed, and refused where it is ambiguous; `--map` is
that print in a file, corrected. Only the policy's network is written: values and statistics begin as they always do.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import struct
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

Tensors = dict[str, Any]
_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}
_LEFT_OUT = ("num_batches_tracked", "seed_generator")


class Failed(Exception):
    """One sentence, for the user."""


def _imported(name: str, why: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        raise Failed(f"{why} needs {name.split('.')[0]}, which is not installed: pip install {name.split('.')[0]}") from None


def read_safetensors(path: Path) -> Tensors:
    content = path.read_bytes()
    try:
        size = struct.unpack_from("<Q", content)[0]
        header = json.loads(content[8 : 8 + size])
        found: Tensors = {}
        for name, about in header.items():
            if name == "__metadata__":
                continue
            first, last = about["data_offsets"]
            raw = content[8 + size + first : 8 + size + last]
            if about["dtype"] == "BF16":
                numbers = (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32)
            elif about["dtype"] in _DTYPES:
                numbers = np.frombuffer(raw, _DTYPES[about["dtype"]])
            else:
                continue
            found[name] = numbers.reshape(about["shape"])
        return found
    except (struct.error, ValueError, KeyError, TypeError) as error:
        raise Failed(f"{path} is no safetensors file that can be read ({error}): write it again") from None


def write_safetensors(path: Path, tensors: Tensors) -> None:
    header: dict[str, Any] = {}
    at = 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + 4 * tensor.size]}
        at += 4 * tensor.size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(np.ascontiguousarray(tensor, "<f4").tobytes())


def _natural(name: str) -> list[Any]:
    return [(0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", name)]


def _read_keras(opened: Any) -> Tensors:
    """In the order of the layers, where the file says it; else by name, with numbers as numbers."""
    h5py = _imported("h5py", "a Keras file")
    with h5py.File(opened, "r") as file:
        root = file.get("model_weights", file)
        found: Tensors = {}
        for layer in root.attrs.get("layer_names", []):
            layer = layer.decode() if isinstance(layer, bytes) else layer
            for name in root[layer].attrs.get("weight_names", []):
                name = name.decode() if isinstance(name, bytes) else name
                found[name] = np.asarray(root[layer][name])
        if found:
            return found
        names: list[str] = []
        root.visititems(lambda name, item: names.append(name) if hasattr(item, "dtype") else None)
        kept = sorted((name for name in names if "optimizer" not in name), key=_natural)
        return {name: np.asarray(root[name]) for name in kept}


def read_source(path: Path) -> tuple[Tensors, str]:
    """The tensors, in order, and the layout that such a file has."""
    if not path.exists():
        raise Failed(f"{path}: there is no such file: give the path of a .h5, .keras, .pt, .safetensors or .npz file")
    ending = path.suffix.lower()
    if ending in (".h5", ".hdf5"):
        return _read_keras(path), "keras"
    if ending == ".keras":
        with zipfile.ZipFile(path) as parts:
            return _read_keras(io.BytesIO(parts.read("model.weights.h5"))), "keras"
    if ending in (".pt", ".pth", ".bin"):
        torch = _imported("torch", "a PyTorch file")
        state = torch.load(path, map_location="cpu", weights_only=True)
        state = state.get("state_dict", state)
        return {name: value.float().numpy() for name, value in state.items() if hasattr(value, "numpy")}, "torch"
    if ending == ".safetensors":
        found = read_safetensors(path)
    elif ending == ".npz":
        with np.load(path) as arrays:
            found = {name: arrays[name] for name in arrays.files}
    else:
        raise Failed(f"{path} is of no kind that is known: give a .h5, .keras, .pt, .safetensors or .npz file")
    return found, "keras" if any("kernel" in name for name in found) else "torch"


def wanted_of(model: Path) -> dict[str, tuple[int, ...]]:
    """The policy's tensors of a run, a checkpoint or a weights file."""
    for path in (model / "checkpoints/latest/weights.safetensors", model / "weights.safetensors", model):
        if path.is_file():
            tensors = read_safetensors(path)
            break
    else:
        raise Failed(
            f"--model {model}: no run with a checkpoint, no checkpoint and no .safetensors file: train the config for a"
            " moment (--set run.stop_at_steps=1), or name another run"
        )
    if any(name.startswith("statistics.") for name in tensors):
        print(
            "# the model normalizes its observations, so that its outputs differ from the source's: set"
            " model.normalize_observation = false where the source saw raw ones",
            file=sys.stderr,
        )
    policy = {name: tensor.shape for name, tensor in tensors.items() if name.startswith("policy.")}
    return {name: shape for name, shape in policy.items() if name != "policy.log_deviation"}


def turned(tensor: Any, layout: str) -> Any:
    """As murmurate lays out what the source has."""
    if layout == "torch" and tensor.ndim == 2:
        return tensor.T
    if layout == "torch" and tensor.ndim == 4:
        return tensor.transpose(2, 3, 1, 0)
    return tensor


def _in_picture_order(kernel: Any, channels: int) -> Any:
    """Rows of (channels, height, width) as (height, width, channels)."""
    return kernel.reshape(channels, -1, kernel.shape[1]).transpose(1, 0, 2).reshape(kernel.shape)


def read_map(path: Path) -> dict[str, list[str]]:
    """Lines `"ours" = "theirs"`, or `= ["one", "other"]`, which are added."""
    found: dict[str, list[str]] = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line or line.startswith("["):
            continue
        words = re.findall(r'"([^"]*)"', line)
        if "=" not in line or len(words) < 2:
            raise Failed(f'{path}: line {number} is {line!r}, expected "policy.0.weight" = "dense/kernel"')
        found[words[0]] = words[1:]
    return found


def guess(wanted: dict[str, tuple[int, ...]], source: Tensors, layout: str) -> dict[str, list[str]]:
    shapes = {name: turned(tensor, layout).shape for name, tensor in source.items() if not name.endswith(_LEFT_OUT)}
    in_order = list(zip(wanted.items(), shapes.items()))
    if len(wanted) == len(shapes) and all(ours[1] == theirs[1] for ours, theirs in in_order):
        return {ours[0]: [theirs[0]] for ours, theirs in in_order}
    found: dict[str, list[str]] = {}
    for name, shape in wanted.items():
        fitting = [other for other, its in shapes.items() if its == shape]
        if not fitting:
            kinds = ", ".join(f"{other} {list(its)}" for other, its in list(shapes.items())[:8])
            raise Failed(
                f"{name} {list(shape)}: no tensor of the source has this shape (it has, turned, {kinds}): give [model]"
                " layers the same sizes, or say by --map which it is"
            )
        if len(fitting) > 1:
            raise Failed(f"{name} {list(shape)} may be any of {', '.join(fitting)}: say by --map which it is")
        found[name] = fitting
    taken = [name for names in found.values() for name in names]
    again = next((name for name in taken if taken.count(name) > 1), None)
    if again is not None:
        raise Failed(f"{again} fits several tensors: say by --map which it is")
    return found


def convert(
    wanted: dict[str, tuple[int, ...]], source: Tensors, layout: str, names: dict[str, list[str]]
) -> Tensors:
    made: Tensors = {}
    channels = 0  # of a convolution before
    for name, shape in wanted.items():
        if name not in names:
            continue
        missing = [other for other in names[name] if other not in source]
        if missing:
            raise Failed(f"--map: the source has no tensor {missing[0]}; it has {', '.join(list(source)[:12])}")
        tensor = sum(turned(source[other], layout).astype(np.float32) for other in names[name])
        if tensor.shape != shape:
            raise Failed(f"{' + '.join(names[name])} has the shape {list(tensor.shape)} where {name} has {list(shape)}")
        if len(shape) == 4:
            channels = shape[3]
        elif len(shape) == 2 and channels:
            if layout == "torch":
                tensor = _in_picture_order(tensor, channels)
            channels = 0
        made[name] = tensor
    unknown = [name for name in names if name not in wanted]
    if unknown:
        raise Failed(f"--map: the model has no tensor {unknown[0]}; it has {', '.join(list(wanted)[:12])}")
    return made


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m murmurate.weights", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("source", type=Path, help="a .h5, .keras, .pt, .safetensors or .npz file")
    parser.add_argument("--model", type=Path, required=True, help="a run, checkpoint or weights.safetensors")
    parser.add_argument("--map", type=Path, help="which tensor becomes which, where the guess is wrong")
    parser.add_argument("--layout", choices=("keras", "torch", "murmurate"), help="of the source; usual: its kind's")
    parser.add_argument("-o", "--output", type=Path, default=Path("initial.safetensors"))
    given = parser.parse_args(arguments)
    try:
        source, layout = read_source(given.source)
        layout = given.layout or layout
        wanted = wanted_of(given.model)
        if any(name.endswith("hidden_bias") for name in wanted):
            raise Failed(f"--model {given.model} has a GRU, whose gates others keep in other orders: use an LSTM")
        names = read_map(given.map) if given.map else guess(wanted, source, layout)
        made = convert(wanted, source, layout, names)
        write_safetensors(given.output, made)
    except (Failed, OSError) as error:
        print(f"murmurate.weights: {error}", file=sys.stderr)
        return 2
    print(f"# {given.source} ({layout}) to {given.output}: {len(made)} of {len(wanted)} tensors of the policy")
    for name in made:
        theirs = ", ".join(f'"{other}"' for other in names[name])
        print(f'"{name}" = {theirs if len(names[name]) == 1 else f"[{theirs}]"}')
    return 0


if __name__ == "__main__":
    sys.exit(main())
