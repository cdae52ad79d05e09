"""Writes the series that packages of this Python ship: packaged_series.py FOLDER.

Reads the packages' files and imports nothing of theirs, so what they depend on need not be there.
"""

from __future__ import annotations

import csv
import gzip
import importlib.util
import sys
from pathlib import Path


def table(package: str, path: str) -> list[dict[str, str]]:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        sys.exit(f"the package {package} is not installed")
    file = Path(spec.submodule_search_locations[0]) / "datasets" / path
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8-sig") as text:
        return list(csv.DictReader(text))


def column(package: str, path: str, name: str) -> list[float]:
    """What is missing is left out."""
    return [float(row[name]) for row in table(package, path) if row[name]]


def series() -> dict[str, list[float]]:
    macro = "macrodata/macrodata.csv"
    months = table("statsmodels", "elnino/elnino.csv")
    return {
        "sunspots": column("statsmodels", "sunspots/sunspots.csv", "SUNACTIVITY"),
        "co2": column("statsmodels", "co2/co2.csv", "co2"),
        "elnino": [float(value) for year in months for key, value in year.items() if key != "YEAR"],
        "inflation": column("statsmodels", macro, "infl"),
        "unemployment": column("statsmodels", macro, "unemp"),
        "bill_rate": column("statsmodels", macro, "tbilrate"),
        "water_flow": column("river", "water-flow.csv", "Water flow [l/s]"),
        "trump_approval": column("river", "trump_approval.csv.gz", "five_thirty_eight"),
        "sp500_aapl": column("river", "sp500.csv.gz", "AAPL"),
    }


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir()
    for name, values in series().items():
        (folder / name).write_text("".join(f"{value!r}\n" for value in values))


if __name__ == "__main__":
    main()
