"""Tables and arrays as .npy files that `[data]` reads.

    python3 -m murmurate.arrays table.parquet --inputs a,b --labels y --to folder

writes folder/x-00000.npy, folder/y-00000.npy and so on, for `observations = "folder/x-*.npy"` and `labels =
"folder/y-*.npy"`. The source: .parquet (needs pyarrow), .csv, .h5 (needs h5py) or .npz. It is read and written in pieces of
`--rows` samples, so it may be larger than memory.

--inputs  columns of a table (usual: all but the labels), or one array of a .h5 or .npz file
--labels  columns or an array, likewise; none: only x is written
--float   labels that are whole numbers are quantities (regression), not classes

Several columns become the numbers of a sample, as float32. Labels that are whole numbers stay whole (classes); names (of a
table's label columns) are numbered in the order of the alphabet, and folder/classes.txt says how.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .weights import Failed, _imported

Columns = dict[str, Any]  # arrays of one piece


def _csv_pieces(path: Path, names: list[str], rows: int) -> Iterator[Columns]:
    with open(path, newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        while piece := list(itertools.islice(reader, rows)):
            yield {name: _column([row[name] for row in piece], path, name) for name in names}


def _column(texts: list[Any], path: Path, name: str) -> Any:
    """Whole numbers, floats or names."""
    if any(text is None or text == "" for text in texts):
        raise Failed(f"{path}: column {name} has a row with nothing in it: fill it, or take the row out")
    try:
        return np.array([int(text) for text in texts], np.int64)
    except ValueError:
        pass
    try:
        return np.array([float(text) for text in texts])
    except ValueError:
        return np.array(texts)


def _parquet_pieces(path: Path, names: list[str], rows: int) -> Iterator[Columns]:
    parquet = _imported("pyarrow.parquet", "a .parquet file")
    for piece in parquet.ParquetFile(path).iter_batches(rows, columns=names):
        found = {}
        for name in names:
            column = piece.column(piece.schema.get_field_index(name))
            if column.null_count:
                raise Failed(f"{path}: column {name} has a row with nothing in it: fill it, or take the row out")
            found[name] = np.asarray(column.to_numpy(zero_copy_only=False))
        yield found


def _array_pieces(arrays: Any, names: list[str], rows: int) -> Iterator[Columns]:
    count = arrays[names[0]].shape[0]
    for first in range(0, count, rows):
        yield {name: arrays[name][first : first + rows] for name in names}


def _columns_of(path: Path) -> list[str]:
    if path.suffix == ".parquet":
        names: list[str] = _imported("pyarrow.parquet", "a .parquet file").ParquetFile(path).schema_arrow.names
        return names
    if path.suffix == ".csv":
        with open(path, newline="", encoding="utf-8-sig") as file:
            return next(csv.reader(file), [])
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return list(arrays.files)
    if path.suffix in (".h5", ".hdf5"):
        found: list[str] = []
        with _imported("h5py", "an HDF5 file").File(path, "r") as file:
            file.visititems(lambda name, item: found.append(name) if hasattr(item, "dtype") else None)
        return found
    raise Failed(f"{path} is of no kind that is known: give a .parquet, .csv, .h5 or .npz file")


def _pieces(path: Path, names: list[str], rows: int) -> Iterator[Columns]:
    if path.suffix == ".parquet":
        yield from _parquet_pieces(path, names, rows)
    elif path.suffix == ".csv":
        yield from _csv_pieces(path, names, rows)
    elif path.suffix == ".npz":
        with np.load(path) as arrays:
            held = {name: arrays[name] for name in names}
        yield from _array_pieces(held, names, rows)
    else:
        with _imported("h5py", "an HDF5 file").File(path, "r") as file:
            yield from _array_pieces(file, names, rows)


def _joined(piece: Columns, names: list[str]) -> Any:
    """Several columns side by side; one stays as it is."""
    parts = [np.asarray(piece[name]) for name in names]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


def _observations(path: Path, piece: Columns, names: list[str]) -> Any:
    joined = _joined(piece, names)
    if joined.dtype.kind not in "fiub":
        raise Failed(f"{path}: {', '.join(names)} hold {joined.dtype} where numbers were expected: choose by --inputs")
    return joined if joined.dtype == np.uint8 else np.asarray(joined, np.float32)


def _classes(path: Path, labels: list[str], rows: int) -> dict[str, list[str]]:
    """The names in each label column of names, sorted."""
    found: dict[str, set[str]] = {}
    whole: dict[str, bool] = {}
    numbers: set[str] = set()
    for piece in _pieces(path, labels, rows):
        for name in labels:
            values = np.asarray(piece[name])
            whole[name] = whole.get(name, True) and values.dtype.kind in "iub"
            if values.dtype.kind in "OUS":
                found.setdefault(name, set()).update(str(value) for value in values)
            else:
                numbers.add(name)
    for name, names in found.items():
        if name in numbers:
            raise Failed(f"{path}: column {name} holds names in some rows and numbers in others: write one kind")
        if len(names) > 4096:
            raise Failed(f"{path}: column {name} has {len(names)} names, and at most 4096 are classes: choose another")
    return {name: sorted(names) for name, names in found.items()} | {"": [name for name in labels if whole[name]]}


def _labels(piece: Columns, names: list[str], classes: dict[str, list[str]], as_float: bool) -> Any:
    parts = {}
    for name in names:
        values = np.asarray(piece[name])
        if name in classes:
            values = np.searchsorted(np.array(classes[name]), np.array([str(value) for value in values]))
        parts[name] = values
    whole = all(name in classes or name in classes[""] for name in names) and not as_float
    joined = _joined(parts, names)
    return np.asarray(joined, np.int64 if whole else np.float32)


def write(path: Path, inputs: list[str], labels: list[str], to: Path, rows: int, as_float: bool) -> int:
    """How many samples were written."""
    known = _columns_of(path)
    if not inputs:
        inputs = [name for name in known if name not in labels]
    for name in (*inputs, *labels):
        if name not in known:
            raise Failed(f"{path} has no {name!r}; it has {', '.join(known[:12])}")
    to.mkdir(parents=True, exist_ok=True)
    if any(to.glob("[xy]-*.npy")):
        raise Failed(f"{to} holds x-*.npy or y-*.npy already, and what is left of them would be read, too: name another")
    classes = _classes(path, labels, rows) if labels else {"": []}
    for name in labels:
        if name in classes:
            text = "".join(f"{i} {word}\n" for i, word in enumerate(classes[name]))
            (to / ("classes.txt" if len(labels) == 1 else f"classes-{name}.txt")).write_text(text)
    samples = 0
    for number, piece in enumerate(_pieces(path, list(dict.fromkeys([*inputs, *labels])), rows)):
        x = _observations(path, piece, inputs)
        np.save(to / f"x-{number:05}.npy", np.ascontiguousarray(x))
        if labels:
            np.save(to / f"y-{number:05}.npy", np.ascontiguousarray(_labels(piece, labels, classes, as_float)))
        samples += len(x)
        print(f"\r{samples:,} samples", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return samples


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m murmurate.arrays", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("source", type=Path, help="a .parquet, .csv, .h5 or .npz file")
    parser.add_argument("--inputs", type=_names, default=[], help="columns, or an array: a,b; usual: all but the labels")
    parser.add_argument("--labels", type=_names, default=[], help="columns, or an array")
    parser.add_argument("--to", type=Path, required=True, help="a folder, which is made")
    parser.add_argument("--rows", type=int, default=100_000, help="samples of a file; usual: 100000")
    parser.add_argument("--float", action="store_true", help="labels that are whole numbers are quantities")
    given = parser.parse_args(None if arguments is None else list(arguments))
    try:
        if not given.source.exists():
            raise Failed(f"{given.source}: there is no such file")
        if given.rows < 1:
            raise Failed("--rows: expected 1 or more")
        samples = write(given.source, given.inputs, given.labels, given.to, given.rows, given.float)
    except (Failed, OSError, ValueError) as error:
        print(f"murmurate.arrays: {error}", file=sys.stderr)
        return 2
    print(f'[data]\nobservations = "{given.to}/x-*.npy"')
    if given.labels:
        print(f'labels = "{given.to}/y-*.npy"')
    print(f"# {samples:,} samples")
    return 0


if __name__ == "__main__":
    sys.exit(main())
