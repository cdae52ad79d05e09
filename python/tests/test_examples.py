"""What docs/python.md and examples/ show, typed as it stands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pytest

import murmurate
from learner import EXECUTABLE

CLONE = Path(__file__).parents[2]
PAGE, EXAMPLES = CLONE / "docs" / "python.md", CLONE / "examples"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="needs a clone")


def block(language: str, heading: str) -> str:
    section = PAGE.read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    return section.split(f"```{language}\n")[1].split("```")[0]


def run(command: list[str], folder: Path) -> str:
    """In which python and murmurate are those of the tests."""
    paths = [str(Path(sys.executable).parent), str(Path(shutil.which(EXECUTABLE) or "").parent), os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(paths), "XDG_RUNTIME_DIR": str(folder)}
    ran = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100
    )
    assert ran.returncode == 0, ran.stdout
    return ran.stdout


def test_the_searches_of_the_page_find_a_model_that_plays(place: Path) -> None:
    program = block("python", "A search over models")
    assert len(program.splitlines()) <= 30
    run([sys.executable, "-c", "import random; random.seed(1)\n" + program], place)
    played = murmurate.evaluate(place / "best.policy", gym.make("CartPole-v1"), episodes=10, seed=1)
    assert played.mean_return > 100  # at random: 22


def test_a_short_search_over_convolutional_networks_halves_them_to_a_good_one(place: Path) -> None:
    search = [sys.executable, str(EXAMPLES / "search" / "search.py"), "--models", "6", "--pictures", "1200"]
    said = run(search, place)
    ranks = re.findall(r"^ *(\d+) models, +(\d+) passes each: best ([\d.]+)", said, re.MULTILINE)
    assert [(models, passes) for models, passes, _ in ranks] == [("6", "1"), ("3", "2"), ("1", "4")], said
    first, _, last = (float(best) for _, _, best in ranks)
    assert last > max(0.5, first), said  # by guessing: 0.1
    assert (place / "best.policy").is_file()


OWN_NETWORK = CLONE / "scripts" / "own-network.sh"
BESIDE = """
wait $(jobs -p | tail -n 3)
murmurate status
murmurate stop
wait
"""


def test_three_games_of_the_page_learn_together(place: Path) -> None:
    if subprocess.run([str(OWN_NETWORK), "true"], capture_output=True).returncode != 0:
        pytest.skip("no network of its own can be made here")
    shutil.copy(EXAMPLES / "three-games" / "game.py", place)
    program = block("sh", "Three games, one learner")
    said = run([str(OWN_NETWORK), "bash", "-c", program + BESIDE], place)
    for name in ("red", "green", "blue"):
        shares = re.findall(rf"{name}: (\d+)% of 1000 balls caught; at random (\d+)%", said)  # lines may mix
        assert len(shares) == 4, said
        assert int(shares[-1][0]) > 2 * int(shares[-1][1]), said
        heard = re.search(rf"actor {name}: .*? ([\d,]+) steps", said)
        assert heard is not None and int(heard[1].replace(",", "")) > 20_000, said
