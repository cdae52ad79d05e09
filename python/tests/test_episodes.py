"""Episodes as Minari has them become the arrays that a learner reads."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from murmurate import episodes
from murmurate.weights import Failed


def episode(first: int, steps: int, terminated: bool, **more: Any) -> SimpleNamespace:
    seen = np.arange(first, first + steps + 1, dtype=np.float64)
    values = {
        "observations": np.stack([seen, -seen], axis=1),
        "actions": np.full((steps, 1), 0.5),
        "rewards": np.ones(steps),
        "terminations": np.arange(steps) == (steps - 1 if terminated else -1),
        "truncations": np.zeros(steps, dtype=bool),
    }
    return SimpleNamespace(**{**values, **more})


def test_every_step_has_what_was_seen_after_it(tmp_path: Path) -> None:
    assert episodes.write([episode(0, 3, True), episode(10, 2, False)], tmp_path) == 5
    read = {name: np.load(tmp_path / f"{name}.npy") for name in episodes.NAMES}
    assert read["observations"][:, 0].tolist() == [0, 1, 2, 10, 11]
    assert read["next_observations"][:, 0].tolist() == [1, 2, 3, 11, 12]
    assert read["observations"].dtype == np.float32
    assert read["terminations"].tolist() == [False, False, True, False, False]
    assert read["truncations"].tolist() == [False, False, False, False, True], "its recording ends there"


def test_parts_are_put_side_by_side_and_choices_stay_whole(tmp_path: Path) -> None:
    parts = {"b": np.zeros((3, 2, 2)), "a": np.ones((3,))}
    episodes.write([episode(0, 2, True, observations=parts, actions=np.array([1, 0]))], tmp_path)
    assert np.load(tmp_path / "observations.npy").tolist() == [[1, 0, 0, 0, 0]] * 2
    assert np.load(tmp_path / "actions.npy").tolist() == [1, 0]
    with pytest.raises(Failed, match="has no 'c'; it has a, b"):
        episodes.write([episode(0, 2, True, observations=parts)], tmp_path, ["c"])
