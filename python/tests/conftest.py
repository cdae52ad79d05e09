from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import gymnasium as gym
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import murmurate
from learner import SMALL, Learner


@pytest.fixture(scope="session")
def policy_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A CartPole policy of 64-64, hardly trained."""
    path = tmp_path_factory.mktemp("policy") / "cartpole.policy"
    env = gym.make("CartPole-v1")
    with Learner(SMALL.replace("[16]", "[64, 64]")) as learner:
        with murmurate.Actor(learner.address, env=env) as actor:
            actor.run(steps=200)
            actor.save(path)
    yield path


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder of a short name, in which the sockets of learners may lie."""
    path = Path(tempfile.mkdtemp(prefix="mmr-py-"))
    yield path
    shutil.rmtree(path)
