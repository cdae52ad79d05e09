"""Episodes of a Minari dataset as the arrays that `[data] path` and `[replay] demonstrations` read.

    python3 -m murmurate.episodes D4RL/pointmaze/open-v2 --to folder

writes folder/observations.npy, actions.npy, rewards.npy, terminations.npy, truncations.npy and next_observations.npy
(`pip install minari`; a dataset that is not on this machine is downloaded). All episodes are held in memory once.

An observation of several parts becomes one row of numbers: the parts of a Dict in the order of their names, or those that
`--observation a,b` names.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .weights import Failed, _imported

NAMES = "observations", "actions", "rewards", "terminations", "truncations", "next_observations"


def _rows(values: Any, parts: list[str]) -> Any:
    """An array, or a dict of arrays side by side."""
    if isinstance(values, dict):
        names = parts or sorted(values)
        missing = [name for name in names if name not in values]
        if missing:
            raise Failed(f"an observation has no {missing[0]!r}; it has {', '.join(sorted(values))}")
        columns = [_rows(values[name], []) for name in names]
        return np.concatenate([column.reshape(len(column), -1) for column in columns], axis=1)
    rows = np.asarray(values)
    return rows if rows.dtype == np.uint8 else rows.astype(np.float32)


def write(episodes: Iterable[Any], to: Path, parts: list[str] | None = None) -> int:
    """How many steps were written. An episode has one observation more than actions, as Minari's do."""
    columns: dict[str, list[Any]] = {name: [] for name in NAMES}
    for episode in episodes:
        seen = _rows(episode.observations, parts or [])
        columns["observations"].append(seen[:-1])
        columns["next_observations"].append(seen[1:])
        actions = np.asarray(episode.actions)
        columns["actions"].append(actions.astype(np.float32) if actions.dtype.kind == "f" else actions.astype(np.int64))
        columns["rewards"].append(np.asarray(episode.rewards, dtype=np.float32))
        columns["terminations"].append(np.asarray(episode.terminations, dtype=bool))
        ends = np.asarray(episode.truncations, dtype=bool).copy()
        ends[-1] |= not columns["terminations"][-1][-1]  # what is recorded of it ends here
        columns["truncations"].append(ends)
    if not columns["rewards"]:
        raise Failed("the dataset has no episodes")
    to.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        np.save(to / f"{name}.npy", np.ascontiguousarray(np.concatenate(columns[name])))
    return sum(len(rewards) for rewards in columns["rewards"])


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m murmurate.episodes", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("dataset", help="its Minari id, such as D4RL/pointmaze/open-v2")
    parser.add_argument("--to", type=Path, required=True, help="a folder, which is made")
    parser.add_argument("--observation", type=_names, default=[], help="parts of a Dict observation: a,b; usual: all")
    given = parser.parse_args(None if arguments is None else list(arguments))
    try:
        minari = _imported("minari", "a Minari dataset")
        steps = write(minari.load_dataset(given.dataset, download=True).iterate_episodes(), given.to, given.observation)
    except (Failed, OSError, ValueError) as error:
        print(f"murmurate.episodes: {error}", file=sys.stderr)
        return 2
    print(f'[data]\npath = "{given.to}"\n# {steps:,} steps')
    return 0


if __name__ == "__main__":
    sys.exit(main())
