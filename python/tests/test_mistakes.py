"""What a program or an environment does wrong is one kind of exception, whose sentence says what was
expected, what was given and where; and what the client has to say reaches the logger by itself."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import murmurate
from learner import Learner, eventually

NUMBERS = gym.spaces.Box(-1, 1, (4,), np.float32)
PAIR = gym.spaces.Dict({"eye": NUMBERS, "mode": gym.spaces.Discrete(3)})
CHOICE = gym.spaces.Discrete(2)
SEE = np.zeros(4, np.float32)
NOWHERE = "ipc:///nowhere/at-all"


def raises(call: Callable[[], Any], *words: str) -> None:
    with pytest.raises(murmurate.InvalidArgument) as raised:
        call()
    assert isinstance(raised.value, (murmurate.Error, ValueError))
    for word in words:
        assert word in str(raised.value), str(raised.value)


def test_gymnasium_s_order_of_a_box_s_arguments_is_one_sentence() -> None:
    raises(lambda: murmurate.spaces.Box(-np.inf, np.inf, (8,)), "expected a tuple of sizes", "Box(shape, low, high)")
    raises(lambda: murmurate.spaces.Box(-1, 1, (4,)), "got the shape -1", "Box(shape, low, high)")
    assert murmurate.spaces.Box(8).shape == (8,)


@pytest.fixture
def agent() -> Any:
    with murmurate.Client(NOWHERE, quiet=True) as client:
        made = client.agent(NUMBERS, CHOICE)
        made.act(SEE)
        yield made


@pytest.mark.parametrize("reward", [np.array([1.0]), np.array([[2]]), [3.0], np.float32(4), np.int64(5), True])
def test_one_number_is_a_reward_in_any_form(agent: murmurate.Agent, reward: Any) -> None:
    agent.reward(reward)


@pytest.mark.parametrize("reward", [None, "1.0", np.zeros(2), [1.0, 2.0], [[1], [1, 2]], {}, 1j])
def test_a_reward_that_is_no_number_is_one_sentence(agent: murmurate.Agent, reward: Any) -> None:
    raises(lambda: agent.reward(reward), "the reward is ", "where one number was expected")
    raises(lambda: agent.report("kills", reward), "the report 'kills' is ", "where one number was expected")


def test_a_log_probability_that_is_none_is_one_sentence(agent: murmurate.Agent) -> None:
    raises(lambda: agent.took(1, log_prob="sure"), "the log_prob is ", "where one number was expected")
    for bad in (float("nan"), float("-inf"), 1e300):
        raises(lambda: agent.took(1, log_prob=bad), "where a finite number was expected")
    raises(lambda: agent.took(1, log_prob=0.5), "where at most 0 was expected")


@pytest.mark.parametrize("seen", [np.zeros(5), [[1], [1, 2]], None, "far", {"eye": SEE}, ["a", "b", "c", "d"]])
def test_a_wrong_observation_is_one_sentence(agent: murmurate.Agent, seen: Any) -> None:
    raises(lambda: agent.act(seen), "the observation ")
    raises(lambda: agent.end(False, seen), "observation")


@pytest.mark.parametrize("seen", [SEE, None, {"eye": SEE}, {"eye": SEE, "mode": "fast"}, {"eye": 1, "mode": 1}, 3])
def test_a_wrong_observation_of_parts_is_one_sentence(seen: Any) -> None:
    with murmurate.Client(NOWHERE, quiet=True) as client:
        raises(lambda: client.agent(PAIR, CHOICE).act(seen), "the observation")


def test_a_policy_names_the_part_that_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "pair.policy"
    with Learner() as learner, murmurate.Actor(learner.address, observation_space=PAIR, action_space=CHOICE) as actor:
        actor.act({"eye": SEE, "mode": 1})
        actor.save(file)
    with murmurate.Policy(file) as policy:
        assert policy.act({"eye": SEE, "mode": 1}) in (0, 1)
        raises(lambda: policy.act(SEE), "the observation is an array of the shape (4,) where its space has a part 'eye'")
        raises(lambda: policy.act({"eye": SEE}), "the observation is the keys eye where its space has a part 'mode'")


class Old(gym.Env[np.ndarray, int]):
    """Of the gym before 0.26."""

    observation_space, action_space = NUMBERS, CHOICE

    def __init__(self, reset: Any = (SEE, {}), step: Any = (SEE, 1.0, False, {})) -> None:
        self._reset, self._step = reset, step

    def __str__(self) -> str:
        return "Old"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return self._reset

    def step(self, action: int) -> Any:
        return self._step


@pytest.mark.parametrize(
    ("env", "words"),
    [
        (Old(), "step() of Old gave 4 values where a tuple of 5 was expected (observation, reward, terminated,"),
        (Old(step=None), "step() of Old gave a NoneType where a tuple of 5"),
        (Old(reset=SEE), "reset() of Old gave a ndarray where a tuple of 2 was expected (observation, info)"),
        (Old(step=(SEE, "much", False, False, {})), "the reward is 'much' (str) where one number was expected"),
        (Old(step=(SEE[:3], 1.0, False, False, {})), "the observation has the shape (3,) where its space has (4,)"),
    ],
)  # fmt: skip
def test_an_environment_that_is_none_of_gymnasium_s_is_one_sentence(env: Old, words: str) -> None:
    with murmurate.Actor(NOWHERE, env=env, without_policy="random", quiet=True) as actor:
        raises(lambda: actor.run(steps=10), words)


def test_rewards_that_are_arrays_of_one_are_returns() -> None:
    env = Old(step=(SEE, np.array([2.0]), True, False, {}))
    with murmurate.Actor(NOWHERE, env=env, without_policy="random", pace="never", quiet=True) as actor:
        assert actor.run(episodes=3).returns == [2.0, 2.0, 2.0]


def test_a_group_takes_a_number_for_each_of_its_agents() -> None:
    with murmurate.Client(NOWHERE) as client:
        group = client.group(NUMBERS, CHOICE, 2)
        group.act([SEE, SEE])
        for rewards in ([1, 2.5], np.ones((2, 1), np.float32), np.array([True, False])):
            group.reward(rewards)
            group.reward(rewards, np.array([False, True]))
        for wrong in (1.0, [1.0], np.ones(3), ["much", "more"]):
            raises(lambda wrong=wrong: group.reward(wrong), "the reward is", "a number for each of 2")


PROGRAM = """
import sys, time, gymnasium as gym, numpy as np, murmurate
client = murmurate.Client(sys.argv[1], name="blind", pace="credit", **eval(sys.argv[2]))
agent = client.agent(gym.spaces.Box(-1, 1, (4,), np.float32), gym.spaces.Discrete(2))
good, bad = np.zeros(4, np.float32), np.full(4, np.nan, np.float32)
until = time.monotonic() + 30
for step in range(10**9):
    agent.act(bad if step % 50 == 0 else good)
    agent.reward(1.0)
    if step % 20 == 0: agent.end(True)
    if time.monotonic() > until: break
"""


@pytest.mark.parametrize(("options", "said"), [("{}", 1), ("{'quiet': True}", 0)])
def test_a_client_that_is_never_asked_says_once_what_is_wrong(options: str, said: int) -> None:
    with Learner() as learner:
        command = [sys.executable, "-c", PROGRAM, learner.address, options]
        game = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            log = learner.folder / "runs" / "run" / "log.txt"
            words = "agent 0 of model default: observation has a number that is not finite at place 0"
            assert eventually(lambda: "actor blind, " + words in log.read_text()), log.read_text()
            assert eventually(lambda: learner.steps() > 2000)
        finally:
            game.terminate()
        stderr = game.communicate()[1]
        assert stderr.count(words) == said, stderr
        assert said or "not finite" not in stderr


def test_a_warning_that_comes_again_is_info(caplog: pytest.LogCaptureFixture) -> None:
    with murmurate.Client(NOWHERE, quiet=False) as client, caplog.at_level(logging.INFO, "murmurate"):
        levels = [client._is_known(f"model default: {i} agents have waited") for i in range(3)]
    assert levels == [False, True, True]
