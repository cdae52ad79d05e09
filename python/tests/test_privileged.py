"""A privileged observation reaches the learner with the observation that it belongs to, and no policy."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import murmurate
from games import Counting, Passing
from learner import Learner, read_recordings

SPACE = spaces.Box(-np.inf, np.inf, (2,), np.float32)


def told(observation: np.ndarray) -> np.ndarray:
    """What only the learner is told of an observation: its episode and step, doubled."""
    return 2 * observation[1:3]


class Telling(Counting):
    def reset(self, **given: Any) -> Any:
        observation, info = super().reset(**given)
        return observation, {**info, "privileged": told(observation)}

    def step(self, action: int) -> Any:
        observation, *rest, info = super().step(action)
        return (observation, *rest, {**info, "privileged": told(observation)})


class TellingPassing(Passing):
    def _telling(self, observations: Any, infos: Any) -> Any:
        return {name: {**infos.get(name, {}), "privileged": told(seen)} for name, seen in observations.items()}

    def reset(self, *args: Any, **given: Any) -> Any:
        observations, infos = super().reset(*args, **given)
        return observations, self._telling(observations, infos)

    def step(self, actions: Any) -> Any:
        observations, *rest, infos = super().step(actions)
        return (observations, *rest, self._telling(observations, infos))


def check_told(learner: Learner, least: int, model: str = "default") -> None:
    """Every row that the learner has, those behind a trajectory and of episodes that were cut too."""
    learner.stop()
    rows = [
        np.ascontiguousarray(part).view(np.float32).reshape(-1, 6)
        for each in read_recordings(learner.recordings, model, row_bytes=24)
        for part in (each.observation, each.finals, each.next_observation)
    ]
    seen = np.concatenate(rows)
    seen = seen[seen.any(axis=1)]  # behind an end no row follows
    assert len(seen) >= least
    assert np.array_equal(seen[:, 4:6], 2 * seen[:, 1:3])


def test_a_single_environment_tells_the_learner() -> None:
    with Learner() as learner:
        with murmurate.Actor(learner.address, env=Telling(), privileged_space=SPACE) as actor:
            actor.run(steps=250)
            actor.run(steps=150)
        check_told(learner, 390)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_vectorized_environment_tells_the_learner_in_any_autoreset_mode(mode: AutoresetMode) -> None:
    env = SyncVectorEnv([partial(Telling, i) for i in range(3)], autoreset_mode=mode)
    with Learner() as learner:
        with murmurate.Actor(learner.address, env=env, privileged_space=SPACE) as actor:
            actor.run(steps=600)
            actor.run(steps=300)
        check_told(learner, 600)


def test_pettingzoo_agents_tell_the_learner() -> None:
    with Learner() as learner:
        rules = {"npc-*": "npc"}
        with murmurate.Actor(learner.address, env=TellingPassing(), policies=rules, privileged_space=SPACE) as actor:
            actor.run(steps=600)
        check_told(learner, 200, "npc")


def test_a_saved_policy_plays_without_it(tmp_path: Path) -> None:
    file, env = tmp_path / "npc.policy", Telling()
    with Learner() as learner:
        with murmurate.Actor(learner.address, env=env, privileged_space=SPACE) as actor:
            actor.run(steps=200)
            actor.save(file)
    assert b"privileged" not in file.read_bytes()
    for space in (None, SPACE):
        with murmurate.Actor(policy=file, env=env, privileged_space=space) as player:
            assert player.run(steps=20).steps == 20


def test_what_is_missing_or_wrong_is_said_in_words() -> None:
    nobody = {"address": "ipc:///nowhere/at-all", "pace": "never", "without_policy": "random"}
    with murmurate.Actor(env=Counting(), privileged_space=SPACE, **nobody) as actor:
        with pytest.raises(murmurate.InvalidArgument, match=r'gave no info\["privileged"\]'):
            actor.run(steps=5)
        with pytest.raises(murmurate.InvalidArgument, match="the privileged observation has the shape"):
            actor.privileged(np.zeros(3))
        actor.privileged(np.zeros(2))
    with murmurate.Actor(env=Counting(), **nobody) as actor:
        with pytest.raises(murmurate.InvalidArgument, match="give privileged_space="):
            actor.privileged(np.zeros(2))
