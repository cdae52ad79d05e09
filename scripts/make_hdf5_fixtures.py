"""Writes tests/fixtures/*.h5 with h5py: 12 samples whose numbers count up from 0, laid out in the ways
that Hdf5Array reads.

    pip install h5py && python3 scripts/make_hdf5_fixtures.py
"""

from pathlib import Path

import h5py
import numpy as np

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "fixtures"
x = np.arange(36, dtype=np.float32).reshape(12, 3) / 8
with h5py.File(FOLDER / "layouts.h5", "w") as file:
    file["plain"] = x
    file["group/double"] = x.astype(np.float64)
    file["bytes"] = np.arange(36, dtype=np.uint8).reshape(12, 3)
    file["labels"] = np.arange(12, dtype=np.int64) % 4
    file["labels32"] = (np.arange(12) % 4).astype(np.int32)
    file.create_dataset("chunks", data=x, chunks=(5, 2))
    file.create_dataset("gzip", data=x, chunks=(5, 2), compression="gzip", shuffle=True, fletcher32=True)
    file.create_dataset("big_endian", data=x, dtype=">f4")
    file.create_dataset("lzf", data=x, compression="lzf")
    file["half"] = x.astype(np.float16)
    file["words"] = np.array([b"a", b"b"])
    file.create_dataset("empty", shape=(0, 3), dtype="f4")
    file["number"] = np.float32(1)
with h5py.File(FOLDER / "user_block.h5", "w", userblock_size=512) as file:
    file["x"] = x
