"""A search over the learning rate, the width and the optimizer of a convolutional network of LeNet's size, by
successive halving: many models learn for one pass over the pictures, and the better half of them goes on from
its weights, for twice as long, until the best of the last two is known.

    python search.py                  (16 models; --models, --pictures and --jobs change the size)
"""

from __future__ import annotations

import argparse
import math
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import murmurate
import numpy as np
import pictures

CONFIG = Path(__file__).with_name("lenet.toml")
RATES = {"adam": (1e-4, 3e-2), "momentum": (1e-4, 0.3), "sgd": (1e-3, 1.0)}


def ask(chance: random.Random) -> dict[str, Any]:
    """What one model is trained with."""
    optimizer = chance.choice(list(RATES))
    low, high = (math.log(rate) for rate in RATES[optimizer])
    width = chance.choice([0.5, 1, 2])
    first, second = round(6 * width), round(16 * width)
    layers = [f"conv {first} 5 1 2", "max_pool 2 2 0", f"conv {second} 5 1 0", "max_pool 2 2 0", "flatten"]
    return {
        "optimizer.name": optimizer, "optimizer.learning_rate": math.exp(chance.uniform(low, high)),
        "model.inputs": [f"observation: {layer}" for layer in layers],
        "model.layers": [round(120 * width), round(84 * width)],
    }  # fmt: skip


def accuracy(job: murmurate.Job) -> float:
    return job.metrics["eval/accuracy"]  # of the pictures that are held out


def halve(pool: murmurate.Pool, config: str, models: int) -> murmurate.Job:
    """The best of so many models."""
    chance, passes = random.Random(1), 1
    going: list[tuple[dict[str, Any], bytes | None]] = [(ask(chance), None) for _ in range(models)]
    while True:
        for settings, state in going:
            pool.submit(config, {**settings, "data.passes": passes}, initial=state, tag=settings)
        ended = list(pool.as_completed())
        best = sorted((job for job in ended if job.ok), key=accuracy, reverse=True)
        if not best:
            raise SystemExit(f"no model was trained: {ended[0].error}")
        ranks = f"best {accuracy(best[0]):.3f}, worst {accuracy(best[-1]):.3f}"
        print(f"{len(ended):3} models, {passes:2} passes each: {ranks}", flush=True)
        if len(going) <= 2:
            return best[0]
        going = [(job.tag, job.state) for job in best[: len(going) // 2]]
        passes *= 2


def main() -> None:
    line = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    line.add_argument("--models", type=int, default=16)
    line.add_argument("--pictures", type=int, default=6000, help="that are learned from; a sixth as many are held out")
    line.add_argument("--jobs", type=int, help="at a time; usual: one for each processor")
    line.add_argument("--executable", default="murmurate")
    given = line.parse_args()
    with tempfile.TemporaryDirectory() as folder, murmurate.Pool(given.jobs, executable=given.executable) as pool:
        pictures.write(Path(folder), given.pictures, given.pictures // 6)
        config = Path(folder, CONFIG.name)
        config.write_text(CONFIG.read_text())
        began = time.monotonic()
        best = halve(pool, str(config), given.models)
        took = time.monotonic() - began
        image, label = (np.load(Path(folder, "held_out", name))[0] for name in ("x.npy", "y.npy"))
    print(f"{given.models} models in {took:.1f} s; the best has {accuracy(best):.3f} of the held-out pictures right:")
    print(", ".join(f"{key} = {value}" for key, value in best.tag.items()))
    Path("best.policy").write_bytes(best.state)
    print(f"best.policy says class {murmurate.Policy(best.state).act(image)} of a picture of class {label}")


if __name__ == "__main__":
    main()
