"""Every space that Gymnasium's environments have reaches the learner as what it is, and actions come
back as the environment's space has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import SyncVectorEnv

import murmurate
from games import Anything
from learner import Learner, read_recordings

SEEN: dict[str, spaces.Space[Any]] = {
    "numbers": spaces.Box(-1, 1, (3,), np.float32),
    "double numbers": spaces.Box(-1, 1, (2, 3), np.float64),
    "one number": spaces.Box(-1, 1, (), np.float32),
    "whole numbers": spaces.Box(0, 9, (4,), np.int64),
    "small bytes": spaces.Box(0, 7, (4,), np.uint8),
    "category": spaces.Discrete(6, start=-2),
    "categories": spaces.MultiDiscrete([3, 4], start=[1, -1]),
    "a table of categories": spaces.MultiDiscrete([[3, 4], [2, 2]]),
    "flags": spaces.MultiBinary(5),
    "a table of flags": spaces.MultiBinary([2, 3]),
    "dict": spaces.Dict({"speed": spaces.Box(-1, 1, (2,), np.float32), "gear": spaces.Discrete(4)}),
    "tuple": spaces.Tuple((spaces.Discrete(3), spaces.Box(-1, 1, (2,), np.float32))),
    "nested": spaces.Dict(
        {
            "own": spaces.Dict({"Hit Points": spaces.Box(0, 1, (1,), np.float32), "armed": spaces.MultiBinary(2)}),
            "others": spaces.Tuple((spaces.Box(0, 1, (2,), np.float32), spaces.Box(0, 1, (2,), np.float32))),
            "own_armed": spaces.Discrete(3),
        }
    ),
    "image": spaces.Box(0, 255, (12, 10, 3), np.uint8),
}
DONE: dict[str, spaces.Space[Any]] = {
    "choice": spaces.Discrete(3),
    "choice from": spaces.Discrete(3, start=7),
    "choices": spaces.MultiDiscrete([3, 2, 4]),
    "one choice of many": spaces.MultiDiscrete([5]),
    "a table of choices": spaces.MultiDiscrete([[3, 2], [2, 4]]),
    "switches": spaces.MultiBinary(4),
    "numbers": spaces.Box(-2, 2, (2,), np.float32),
    "double numbers": spaces.Box(-0.1, 0.1, (2, 2), np.float64),
    "whole numbers": spaces.Box(-3, 3, (2,), np.int32),
    "numbers each with bounds": spaces.Box(np.array([-1, 0], np.float32), np.array([0, 5], np.float32)),
    "unbounded": spaces.Box(-np.inf, np.inf, (2,), np.float32),
    "half bounded": spaces.Box(0, np.inf, (2,), np.float32),
    "dict": spaces.Dict({"gear": spaces.Discrete(5, start=1), "steer": spaces.Box(-1, 1, (1,), np.float32)}),
    "tuple": spaces.Tuple((spaces.Discrete(2), spaces.MultiDiscrete([2, 3]), spaces.Box(0, 1, (2,), np.float32))),
}
NUMBERS, CHOICE = spaces.Box(-1, 1, (3,), np.float32), spaces.Discrete(3)
NOBODY = {"address": "ipc:///nowhere/at-all", "pace": "never", "without_policy": "random"}


@pytest.mark.parametrize("name", SEEN)
def test_any_observation_is_taken(name: str) -> None:
    with murmurate.Actor(env=Anything(SEEN[name], CHOICE), **NOBODY) as actor:
        assert actor.run(steps=40).steps == 40
        assert not [line for line in (actor.state().reason,) if "not finite" in line]


@pytest.mark.parametrize("name", DONE)
def test_any_action_is_in_its_space(name: str) -> None:
    env = Anything(NUMBERS, DONE[name])
    with murmurate.Actor(env=env, **NOBODY) as actor:
        actor.run(steps=60)
        assert len({repr(action) for action in env.actions}) > 1


def test_a_bound_that_float32_does_not_have_is_kept() -> None:
    """0.1 as float32 is 0.100000001: beyond it, and -0.1 likewise."""
    space = spaces.Box(-0.1, 0.1, (2,), np.float64)
    with murmurate.Client(NOBODY["address"], without_policy="default") as client:
        agent = client.agent(NUMBERS, space, default_action=[0.1, -0.1])
        assert agent.act(np.zeros(3)).tolist() == [0.1, -0.1]
    large = spaces.Box(-1e300, 1e300, (1,), np.float64)
    with murmurate.Client(NOBODY["address"], without_policy="random") as client:
        assert large.contains(client.agent(NUMBERS, large).act(np.zeros(3)))


@pytest.mark.parametrize("seen", ["double numbers", "category", "a table of flags", "nested", "image"])
@pytest.mark.parametrize("done", ["choice from", "a table of choices", "double numbers", "dict", "tuple"])
def test_vectorized_environments_have_the_same(seen: str, done: str) -> None:
    env = SyncVectorEnv([lambda: Anything(SEEN[seen], DONE[done]) for _ in range(2)])
    with murmurate.Actor(env=env, **NOBODY) as actor:
        actor.run(steps=60)


def test_a_learner_gets_the_numbers_of_every_input_and_part() -> None:
    env = Anything(SEEN["nested"], DONE["tuple"])
    with Learner() as learner:
        with murmurate.Actor(learner.address, env=env) as actor:
            actor.run(steps=120)
        learner.stop()
        # hit_points 4 | armed 8 | others_0 8 | others_1 8 | own_armed 4 bytes, in the Dict's order
        trajectories = read_recordings(learner.recordings, row_bytes=32)
        steps = [(each.observation[t], each.action[t]) for each in trajectories for t in range(len(each.reward))]
        assert len(steps) >= 110
        names = sorted(env.observation_space.spaces)
        assert names == ["others", "own", "own_armed"] == list(env.observation_space.spaces)
        shown = [seen for i, seen in enumerate(env.observations) if not (i % 7 == 6)]  # 6: the end of an episode
        for (row, action), seen, given in zip(steps, shown, env.actions):
            floats, ints = row.view(np.float32), row.view(np.int32)
            others, own = seen["others"], seen["own"]
            assert floats[:2].tolist() == others[0].tolist() and floats[2:4].tolist() == others[1].tolist()
            assert floats[4] == own["Hit Points"][0] and ints[5:7].tolist() == own["armed"].tolist()
            assert ints[7] == seen["own_armed"]
            assert action[0] == given[0] and action[1:3].tolist() == given[1].tolist()
            # A sample is in units of half the box, 0 to 1, around its middle.
            assert np.clip(0.5 + 0.5 * action[3:5].view(np.float32), 0, 1) == pytest.approx(given[2], abs=1e-6)


@pytest.mark.parametrize("shape", [(6, 5, 1), (6, 5), (2, 6, 5), (2, 6, 5, 3)])
def test_images_arrive_with_the_channels_of_a_pixel_together(shape: tuple[int, ...]) -> None:
    env = Anything(spaces.Box(0, 255, shape, np.uint8), CHOICE)
    with Learner() as learner:
        with murmurate.Actor(learner.address, env=env) as actor:
            actor.run(steps=16)
        learner.stop()
        size = int(np.prod(shape))
        first = read_recordings(learner.recordings, row_bytes=(size + 3) // 4 * 4)[0].observation[0][:size]
        image = env.observations[0]
        if len(shape) == 3 and shape[0] == 2:
            image = image.transpose(1, 2, 0)
        elif len(shape) == 4:  # frames, then pictures
            image = image.transpose(1, 2, 0, 3)
        assert first.tolist() == image.ravel().tolist()


def test_what_cannot_be_is_said_in_one_sentence() -> None:
    def refused(seen: Any, done: Any) -> str:
        with pytest.raises(murmurate.InvalidArgument) as error:
            murmurate.Actor(observation_space=seen, action_space=done, **NOBODY)
        return str(error.value)

    assert "use Box, Discrete" in refused(spaces.Text(5), CHOICE)
    assert "2 to 4096 choices" in refused(NUMBERS, spaces.Discrete(5000))
    assert "2 to 4096 choices" in refused(NUMBERS, spaces.Discrete(1))
    assert "nothing in it" in refused(spaces.Dict({}), CHOICE)
    with murmurate.Actor(observation_space=NUMBERS, action_space=CHOICE, **NOBODY) as actor:
        for wrong in (np.zeros(4, np.float32), [1.0], 0.0):
            with pytest.raises(murmurate.InvalidArgument, match=r"shape .* where its space has \(3,\)"):
                actor.act(wrong)
        with pytest.raises(murmurate.InvalidArgument, match="action mask has the shape"):
            actor.act(np.zeros(3, np.float32), mask=[1, 1])
        assert actor.act([0.0, 1.0, 2.0]) in (0, 1, 2)
        assert actor.act(np.zeros(3), mask=[0, 256, 0]) == 1
        with pytest.raises(murmurate.InvalidArgument, match="final observation"):
            actor.end(terminated=False)


def test_masks_come_in_parts_too() -> None:
    done = spaces.Dict({"turn": spaces.MultiDiscrete([2, 3]), "fire": spaces.Discrete(2)})  # fire comes first
    with murmurate.Actor(observation_space=NUMBERS, action_space=done, **NOBODY) as actor:
        see = np.zeros(3, np.float32)
        wanted = {"fire": 1, "turn": [0, 2]}
        parts = {"fire": np.array([0, 1]), "turn": (np.array([1, 0]), np.array([0, 0, 1]))}
        for mask in (parts, (parts["fire"], *parts["turn"]), np.array([0, 1, 1, 0, 0, 0, 1], np.int8)):
            for _ in range(20):
                action = actor.act(see, mask)
                assert action["fire"] == wanted["fire"] and action["turn"].tolist() == wanted["turn"]
