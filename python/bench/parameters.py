"""What Python adds to an exchange with a shard: Parameters.push beside the two calls of C that it makes, in turns.

    MURMURATE_EXECUTABLE=.../murmurate python python/bench/parameters.py [exchanges]

Prints microseconds of an exchange, medians of 21 rounds, for four arrays of NumPy: float32, which lie in place, and
float64, which are copied.
"""

import os
import subprocess
import sys
import tempfile
import time

import numpy as np

import murmurate
from murmurate import _parameters_library as c

EXCHANGES = int(sys.argv[1]) if len(sys.argv) > 1 else 500


def seconds(call):
    begin = time.perf_counter()
    for _ in range(EXCHANGES):
        call()
    return (time.perf_counter() - begin) / EXCHANGES


def measure(address, kind, worker):
    arrays = {name: np.zeros(shape, kind) for name, shape in (("w1", (10, 16)), ("b1", 16), ("w2", (16, 4)), ("b2", 4))}
    gradients = {name: np.ones_like(array) for name, array in arrays.items()}
    with murmurate.Parameters(address, arrays, worker=worker, model=kind) as parameters:
        library, handle = c.library(), parameters._handle
        parameters.push(gradients, 0.01)

        def bare():
            library.mmr_parameters_push(handle, parameters._pointers, 4, 0.01)
            library.mmr_parameters_wait(handle, -1)

        def pushed():
            parameters.push(gradients, 0.01)

        rounds = [(seconds(bare), seconds(pushed)) for _ in range(21)]
    added = np.median([own - least for least, own in rounds])
    least, own = np.median(rounds, axis=0)
    print(f"{kind}: {least * 1e6:.1f} us in C, {own * 1e6:.1f} us in Python, {added * 1e6:.1f} us more")


with tempfile.TemporaryDirectory() as folder:
    address = f"ipc://{folder}/s"
    shard = subprocess.Popen(
        [os.environ.get("MURMURATE_EXECUTABLE", "murmurate"), "params", "own-program", "--shard", "0", "--stay",
         "--quiet", "--set", f'parameters.shards=["{address}"]', "--set", "parameters.rule=asgd"],
        cwd=folder,
    )  # fmt: skip
    try:
        measure(address, "float32", 0)
        measure(address, "float64", 1)
    finally:
        shard.terminate()
        shard.wait()
