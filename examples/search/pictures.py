"""Pictures of 28 x 28 bytes of ten classes, drawn here: each class has four strokes of its own, and each
picture moves them, fades them and covers them with noise. Of the size of MNIST's, none of MNIST."""

from __future__ import annotations

from pathlib import Path

import numpy as np

CLASSES, SIDE, STROKES, MOST_SHIFT = 10, 28, 4, 4


def draw_class(rng: np.random.Generator) -> np.ndarray:
    """[28][28] of 0 and 1: strokes between random points, two pixels wide."""
    picture = np.zeros((SIDE, SIDE), np.float32)
    for _ in range(STROKES):
        (x0, y0), (x1, y1) = rng.uniform(5, 22, (2, 2))
        along = np.linspace(0, 1, 41)
        x, y = (x0 + along * (x1 - x0)).astype(int), (y0 + along * (y1 - y0)).astype(int)
        for down, right in ((0, 0), (0, 1), (1, 0)):
            picture[y + down, x + right] = 1
    return picture


def draw(count: int, classes: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """[count][28][28][1] bytes, and [count] classes."""
    labels = rng.integers(0, CLASSES, count)
    shifts = rng.integers(-MOST_SHIFT, MOST_SHIFT + 1, (count, 2))
    ink = np.stack([np.roll(classes[label], shift, (0, 1)) for label, shift in zip(labels, shifts)])
    noisy = ink * rng.uniform(0.1, 0.6, (count, 1, 1)) + rng.uniform(0, 0.6, ink.shape)
    return (255 * np.minimum(noisy, 1)).astype(np.uint8)[..., None], labels


def write(folder: Path, learned: int, held_out: int) -> None:
    """x.npy and y.npy to learn from, and held_out/x.npy and y.npy to be scored by."""
    rng = np.random.default_rng(2)
    classes = np.stack([draw_class(rng) for _ in range(CLASSES)])
    for place, count in ((folder, learned), (folder / "held_out", held_out)):
        place.mkdir(parents=True, exist_ok=True)
        for name, array in zip(("x", "y"), draw(count, classes, rng)):
            np.save(place / f"{name}.npy", array)
