"""Games whose numbers say where they come from, so that a wrong transition shows."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

FIRST_ACTION = 5


def length_of(identity: int, episode: int) -> int:
    return 3 + (7 * episode + 3 * identity) % 9


def terminates(episode: int) -> bool:
    """The others are truncated."""
    return episode % 3 == 0


def reward_of(episode: int, step: int) -> float:
    return 100.0 * episode + step + 1


def seen(identity: int, episode: int, step: int, action: int) -> np.ndarray:
    return np.array([identity, episode, step, action], np.float32)


class Counting(gym.Env[np.ndarray, int]):
    """Shows who it is, the episode, the step in it, and the last action."""

    def __init__(self, identity: int = 0) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float32)
        self.action_space = spaces.Discrete(3, start=FIRST_ACTION)
        self._identity, self._episode, self._step = identity, -1, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self._episode, self._step = self._episode + 1, 0
        return seen(self._identity, self._episode, 0, 0), {}

    def step(self, action: int) -> Any:
        assert self.action_space.contains(np.int64(action)), action
        self._step += 1
        over = self._step == length_of(self._identity, self._episode)
        ends = over and terminates(self._episode)
        observation = seen(self._identity, self._episode, self._step, int(action))
        info = {"is_success": ends, "depth": 2.0 * self._episode} if over else {}
        return observation, reward_of(self._episode, self._step - 1), ends, over and not ends, info


class Passing(ParallelEnv[str, np.ndarray, int]):
    """Agents come and go: npc-0, npc-1, ... are born every other step and live as long as their
    number says; player_0 lives as long as the whole thing. Numbers as in Counting."""

    metadata = {"name": "passing_v0"}
    possible_agents = ["player_0"] + [f"npc-{i}" for i in range(6)]

    def __init__(self) -> None:
        self._life = dict.fromkeys(self.possible_agents, -1)
        self._step: dict[str, int] = {}
        self.agents: list[str] = []

    @lru_cache(maxsize=None)
    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Box(-np.inf, np.inf, (4,), np.float32)

    @lru_cache(maxsize=None)
    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(3 if agent.startswith("npc") else 2)

    def _identity(self, agent: str) -> int:
        return Passing.possible_agents.index(agent)

    def _length(self, agent: str) -> int:
        return 20 if agent == "player_0" else length_of(self._identity(agent), self._life[agent])

    def _born(self, agent: str) -> np.ndarray:
        self._life[agent] += 1
        self._step[agent] = 0
        self.agents.append(agent)
        return seen(self._identity(agent), self._life[agent], 0, 0)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.agents, self._round = [], 0
        observations = {name: self._born(name) for name in ("player_0", "npc-0")}
        return observations, {name: {} for name in self.agents}

    def step(self, actions: dict[str, int]) -> Any:
        self._round += 1
        observations, rewards, terminated, truncated = {}, {}, {}, {}
        for name in list(self.agents):
            assert self.action_space(name).contains(np.int64(actions[name]))
            rewards[name] = reward_of(self._life[name], self._step[name])
            self._step[name] += 1
            over = self._step[name] == self._length(name)
            terminated[name] = over and terminates(self._life[name])
            truncated[name] = over and not terminated[name]
            observations[name] = seen(self._identity(name), self._life[name], self._step[name], actions[name])
        self.agents = [name for name in self.agents if not (terminated[name] or truncated[name])]
        newborn = f"npc-{self._round // 2}"
        if self._round % 2 == 0 and newborn in Passing.possible_agents and "player_0" in self.agents:
            observations[newborn] = self._born(newborn)
            rewards[newborn], terminated[newborn], truncated[newborn] = 0.0, False, False
        return observations, rewards, terminated, truncated, {name: {} for name in observations}


class Alike(Passing):
    """All see the same and have the same choices: a greedy policy has one action for all of them.
    `taken`: those of each agent."""

    def __init__(self) -> None:
        self.possible_agents = list(Passing.possible_agents)
        super().__init__()
        self.taken: dict[str, set[int]] = {}

    @lru_cache(maxsize=None)
    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(3)

    def _born(self, agent: str) -> np.ndarray:
        return np.zeros_like(super()._born(agent))

    def step(self, actions: dict[str, int]) -> Any:
        for name, action in actions.items():
            self.taken.setdefault(name, set()).add(action)
        observations, *rest = super().step(actions)
        return {name: np.zeros(4, np.float32) for name in observations}, *rest


class Masked(gym.Env[Any, Any]):
    """Only one of four actions is allowed at each step, another each time; says so in one of three
    ways. A forbidden action fails the test."""

    def __init__(self, way: str, length: int = 5) -> None:
        self.way, self._length, self._allowed, self._step = way, length, 0, 0
        box, mask = spaces.Box(-1, 1, (2,), np.float32), spaces.MultiBinary(4)
        self.observation_space = spaces.Dict({"observation": box, "action_mask": mask}) if way == "observation" else box
        self.action_space = spaces.Discrete(4)
        if way == "method":
            self.action_masks = self._mask

    def _mask(self) -> np.ndarray:
        return np.arange(4) == self._allowed

    def _now(self) -> Any:
        numbers = np.zeros(2, np.float32)
        info = {"action_mask": self._mask().astype(np.int8)} if self.way == "info" else {}
        if self.way == "observation":
            return {"observation": numbers, "action_mask": self._mask().astype(np.int8)}, info
        return numbers, info

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self._step = 0
        return self._now()

    def step(self, action: Any) -> Any:
        assert action == self._allowed, (self.way, action, self._allowed)
        self._step += 1
        self._allowed = (self._allowed + 1 + self._step) % 4
        observation, info = self._now()
        return observation, 1.0, self._step == self._length, False, info


class Anything(gym.Env[Any, Any]):
    """Samples of any observation space; asks that actions are in the action space."""

    def __init__(self, observation_space: spaces.Space[Any], action_space: spaces.Space[Any]) -> None:
        self.observation_space, self.action_space = observation_space, action_space
        self.actions: list[Any] = []
        self.observations: list[Any] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.observations.append(self.observation_space.sample())
        return self.observations[-1], {}

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action), (self.action_space, action)
        self.actions.append(action)
        self.observations.append(self.observation_space.sample())
        return self.observations[-1], 1.0, len(self.actions) % 6 == 0, False, {}
