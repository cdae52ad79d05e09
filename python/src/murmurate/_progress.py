"""What a learner writes into progress.csv, as numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

STEPS = "time/total_timesteps"


class Progress:
    """The rows of one progress.csv, read as far as they are whole."""

    def __init__(self, text: str = "") -> None:
        lines = text[: text.rfind("\n") + 1].splitlines()
        self._columns = lines[0].split(",") if lines else []
        self._rows = [line.split(",") for line in lines[1:]]

    def metrics(self) -> dict[str, float]:
        """The newest value of each column that has one."""
        found: dict[str, float] = {}
        for row in self._rows:
            found.update({name: float(cell) for name, cell in zip(self._columns, row) if cell})
        return found

    def curves(self) -> dict[str, NDArray[np.float64]]:
        """By column [rows that have a value][2]: steps, value."""
        points: dict[str, list[tuple[float, float]]] = {}
        for row in self._rows:
            cells = dict(zip(self._columns, row))
            for name, cell in cells.items():
                if cell:
                    points.setdefault(name, []).append((float(cells[STEPS]), float(cell)))
        return {name: np.array(each) for name, each in points.items()}


def read_progress(run: Path) -> Progress:
    """Without rows while the learner has written none."""
    try:
        return Progress((run / "progress.csv").read_text())
    except FileNotFoundError:
        return Progress()
