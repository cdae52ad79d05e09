"""Vectorized environments: one agent for each of their environments, as one group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ._agent import Agent, Group
from ._client import Client
from ._errors import InvalidArgument
from ._play import ROUNDS_BETWEEN_QUESTIONS, Played, Rules, Table, end, mask_asker
from ._spaces import spaces_of


def autoreset_of(env: Any) -> str:
    """ "NextStep", "SameStep" or "Disabled"."""
    mode = (getattr(env, "metadata", None) or {}).get("autoreset_mode", getattr(env, "autoreset_mode", None))
    if mode is None:
        import gymnasium

        return "SameStep" if gymnasium.__version__.startswith("0.") else "NextStep"
    name = str(getattr(mode, "value", mode))
    if name not in ("NextStep", "SameStep", "Disabled"):
        raise InvalidArgument(f"the autoreset mode {mode} of {env} is not known: use NextStep, SameStep or Disabled")
    return name


def _row(value: Any, i: int, tree: Any) -> Any:
    """Agent i's of a batched value (arrays in dicts and tuples)."""
    if isinstance(tree, int):
        return value[i]
    if isinstance(tree, dict):
        return {key: _row(value[key], i, inner) for key, inner in tree.items()}
    return tuple(_row(value[place], i, inner) for place, inner in enumerate(tree))


def _info_row(infos: Any, i: int) -> dict[str, Any]:
    """Environment i's of a vectorized environment's infos: what "_key" says that it has."""
    found = {}
    for key, value in infos.items():
        present = infos.get("_" + key)
        if present is not None and not isinstance(value, dict) and present[i]:
            found[key] = value[i]
    return found


class Vector(Table):
    """A gymnasium.vector.VectorEnv: one agent for each of its environments, as one group."""

    def __init__(self, client: Client, env: Any, model: str) -> None:
        self.env, self.mode = env, autoreset_of(env)
        spaces = (env.single_observation_space, env.single_action_space)
        self.group: Group = client.group(*spaces, env.num_envs, model=model)
        self._tree = spaces_of(spaces[0], action=False).tree
        self._masks = None if self.group._observations.spaces.masked else mask_asker(env)

    @property
    def agents(self) -> list[Agent]:
        return list(self.group)

    def _act(self, observations: Any, infos: Any, playing: Any) -> Any:
        masks = self._masks() if self._masks is not None else self._info_masks(infos)
        return self.group.act(observations, masks, playing)

    def _info_masks(self, infos: Any) -> Any:
        """Environments that gave none may do everything."""
        if "action_mask" not in infos:
            return None
        masks, given = infos["action_mask"], infos.get("_action_mask")
        if given is None or given.all():
            return np.stack(masks) if getattr(masks, "dtype", None) == object else masks
        width = self.group._observations.mask_bytes
        return np.stack([np.asarray(masks[i]) if given[i] else np.ones(width) for i in range(len(given))])

    def _end(self, i: int, terminated: bool, observations: Any, infos: Any, reports: tuple[str, ...]) -> None:
        info, final = _info_row(infos, i), None
        if self.mode == "SameStep":
            ended = infos.get("final_info", {})
            info = _info_row(ended, i) if isinstance(ended, dict) else dict(ended[i] or {})
            finals = infos.get("final_obs", infos.get("final_observation"))
            final = None if finals is None else finals[i]
        elif not terminated:
            final = _row(observations, i, self._tree)
        end(self.group[i], terminated, final, info, reports)

    def play(self, rules: Rules) -> Played:
        env, group, played = self.env, self.group, rules.played
        observations, infos, playing, totals, lengths = self._begin(rules)
        for rounds in self._rounds(rules):
            actions = self._act(observations, infos, playing)
            observations, gained, terminated, truncated, infos = env.step(actions)
            for agent, reward in zip(group, gained.tolist()) if playing.all() else self._those(playing, gained):
                agent.reward(reward)
            totals += np.where(playing, gained, 0.0)
            lengths += playing
            played.steps += int(playing.sum())
            over = (terminated | truncated) & playing
            for i in np.flatnonzero(over).tolist():
                self._end(i, bool(terminated[i]), observations, infos, rules.reports)
                rules.finish(totals[i], lengths[i])
                totals[i], lengths[i] = 0.0, 0
            if self.mode == "NextStep":
                playing = ~over
            elif self.mode == "Disabled" and over.any():
                given = rules.options()
                given["options"] = {**given.get("options", {}), "reset_mask": over}
                observations, infos = env.reset(**given)
            if (over.any() or rounds % ROUNDS_BETWEEN_QUESTIONS == 0) and not rules.ask():
                break
        self._open = (observations, infos, playing, totals, lengths)
        return played

    def _begin(self, rules: Rules) -> Any:
        going_on, self._open = self._open, None
        if going_on is not None and not rules.afresh:
            return going_on
        for agent in self.group:
            agent.discard()
        size = len(self.group)
        return (*self.env.reset(**rules.options()), np.ones(size, bool), np.zeros(size), np.zeros(size, int))

    def _those(self, playing: Any, gained: Any) -> Iterator[tuple[Agent, float]]:
        for i in np.flatnonzero(playing).tolist():
            yield self.group[i], float(gained[i])

    def _rounds(self, rules: Rules) -> Iterator[int]:
        rounds = 0
        while rules.more():
            rounds += 1
            yield rounds
