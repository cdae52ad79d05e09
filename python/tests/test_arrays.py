"""Tables and arrays become .npy files with the numbers that were in them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from murmurate import arrays

X = np.random.default_rng(3).normal(size=(25, 2))
KINDS = np.array(["red", "blue", "green"])[np.arange(25) % 3]


def joined(folder: Path, name: str) -> Any:
    return np.concatenate([np.load(path) for path in sorted(folder.glob(f"{name}-*.npy"))])


def written(folder: Path, source: str, *arguments: str) -> Path:
    to = folder / "to"
    assert arrays.main([str(folder / source), "--to", str(to), "--rows", "10", *arguments]) == 0
    return to


def write_csv(path: Path) -> None:
    rows = [f"{a!r},{b!r},{i},{kind}" for i, ((a, b), kind) in enumerate(zip(X.tolist(), KINDS))]
    path.write_text("\n".join(["a,b,count,kind", *rows]) + "\n")


def test_a_table_becomes_shards_and_names_become_classes(tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv")
    to = written(tmp_path, "t.csv", "--inputs", "a,b", "--labels", "kind")
    assert len(list(to.glob("x-*.npy"))) == 3
    assert np.array_equal(joined(to, "x"), X.astype(np.float32))
    assert joined(to, "y").tolist() == [{"blue": 0, "green": 1, "red": 2}[kind] for kind in KINDS]
    assert (to / "classes.txt").read_text() == "0 blue\n1 green\n2 red\n"


def test_whole_numbers_are_classes_or_on_demand_floats(tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv")
    assert joined(written(tmp_path, "t.csv", "--inputs", "a", "--labels", "count"), "y").dtype == np.int64
    floats = tmp_path / "floats"
    assert arrays.main([str(tmp_path / "t.csv"), "--inputs", "a", "--labels", "count", "--float", "--to", str(floats)]) == 0
    assert joined(floats, "y").dtype == np.float32


def test_arrays_of_hdf5_and_npz(tmp_path: Path) -> None:
    pictures = np.arange(25 * 12, dtype=np.uint8).reshape(25, 3, 4)
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file.create_dataset("g/p", data=pictures, compression="lzf")  # which libhdf5 alone cannot read
        file["y"] = X
    np.savez(tmp_path / "d.npz", p=pictures, y=X)
    for source, name in (("d.h5", "g/p"), ("d.npz", "p")):
        to = written(tmp_path / ".", source, "--inputs", name, "--labels", "y")
        assert np.array_equal(joined(to, "x"), pictures) and joined(to, "x").dtype == np.uint8
        assert np.array_equal(joined(to, "y"), X.astype(np.float32))
        for path in to.glob("*.npy"):
            path.unlink()


def test_parquet_where_pyarrow_is_and_a_sentence_where_not(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "none.parquet").write_bytes(b"")
    program = (
        "import sys; sys.modules['pyarrow'] = None; sys.modules['pyarrow.parquet'] = None\n"
        "from murmurate import arrays; sys.exit(arrays.main(sys.argv[1:]))"
    )  # fmt: skip
    command = [sys.executable, "-c", program, str(tmp_path / "none.parquet"), "--to", str(tmp_path / "o")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "pip install pyarrow\n" in done.stderr and done.stderr.count("\n") == 1
    parquet = pytest.importorskip("pyarrow.parquet", reason="a .parquet file needs pyarrow, which is not installed")
    table = sys.modules["pyarrow"].table({"a": X[:, 0], "b": X[:, 1], "kind": KINDS})
    parquet.write_table(table, tmp_path / "t.parquet")
    to = written(tmp_path, "t.parquet", "--inputs", "a,b", "--labels", "kind")
    assert np.array_equal(joined(to, "x"), X.astype(np.float32))
    assert joined(to, "y").max() == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--labels", "q"], "t.csv has no 'q'; it has a, b, count, kind"),
        (["--inputs", "a,kind"], "a, kind hold "),
        (["--rows", "0"], "--rows: expected 1 or more"),
    ],
)
def test_mistakes_are_said_in_one_line(tmp_path: Path, capsys: Any, arguments: list[str], said: str) -> None:
    write_csv(tmp_path / "t.csv")
    assert arrays.main([str(tmp_path / "t.csv"), "--to", str(tmp_path / "o"), *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_files_of_before_are_not_mixed_with_new_ones(tmp_path: Path, capsys: Any) -> None:
    write_csv(tmp_path / "t.csv")
    written(tmp_path, "t.csv", "--inputs", "a")
    assert arrays.main([str(tmp_path / "t.csv"), "--inputs", "a", "--to", str(tmp_path / "to")]) == 2
    assert "holds x-*.npy or y-*.npy already" in capsys.readouterr().err
