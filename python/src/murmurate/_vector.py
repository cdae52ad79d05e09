"""Vectorized environments: one agent for each of their environments, as one group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ._agent import Agent, Group
from ._buffers import array_of, shown
from ._client import Client
from ._errors import InvalidArgument
from ._play import Played, Rules, Table, begun, end, mask_asker, stepped
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


def masks_asker(env: Any) -> Callable[[], Any] | None:
    """action_masks() of the vectorized environment, or of each of its environments."""
    found, call = mask_asker(env), getattr(getattr(env, "unwrapped", env), "call", None)
    if found is not None or call is None:
        return found
    having = call("has_wrapper_attr", "action_masks")
    if not any(having):
        return None
    if not all(having):
        raise InvalidArgument(f"only some of the environments of {env} have action_masks(): give it to all of them")
    return lambda: np.stack(call("action_masks"))


class Vector(Table):
    """A gymnasium.vector.VectorEnv: one agent for each of its environments, as one group."""

    def __init__(self, client: Client, env: Any, model: str) -> None:
        self.env, self._autoreset = env, autoreset_of(env)
        spaces = (env.single_observation_space, env.single_action_space)
        self.group: Group = client.group(*spaces, env.num_envs, model=model)
        self._tree = spaces_of(spaces[0], action=False).tree
        self._masks = None if self.group._observations.spaces.masked else masks_asker(env)

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

    def _reset(self, over: Any, options: dict[str, Any], infos: Any) -> Any:
        """Of the environments that are over only; the others' masks are still those of `infos`."""
        options["options"] = {**options.get("options", {}), "reset_mask": over}
        observations, given = self.env.reset(**options)
        before, after = self._info_masks(infos), self._info_masks(given)
        if before is not None or after is not None:
            masks = (np.ones(1) if each is None else each for each in (after, before))
            given = {"action_mask": np.where(over[:, None], *masks)}
        return observations, given

    def _end(self, i: int, terminated: bool, observations: Any, infos: Any, reports: tuple[str, ...]) -> None:
        info, final = _info_row(infos, i), None
        if self._autoreset == "SameStep":
            ended = infos.get("final_info", {})
            info = _info_row(ended, i) if isinstance(ended, dict) else dict(ended[i] or {})
            finals = infos.get("final_obs", infos.get("final_observation"))
            final = None if finals is None else finals[i]
        elif not terminated:
            final = _row(observations, i, self._tree)
        end(self.group[i], terminated, final, info, reports)

    def play(self, rules: Rules) -> Played:
        env, group, played = self.env, self.group, rules.played
        if rules.before_episode is not None and self._autoreset != "Disabled":
            raise InvalidArgument(
                f"before_episode= is called before each reset, and {env} resets its environments by itself: make it with"
                " autoreset_mode=gymnasium.vector.AutoresetMode.DISABLED"
            )
        observations, infos, playing, totals, lengths = self._begin(rules)
        while rules.more():
            actions = self._act(observations, infos, playing)
            observations, gained, terminated, truncated, infos = stepped(env, env.step(actions))
            gained = self._rewards(gained)
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
            if self._autoreset == "NextStep":
                playing = ~over
            elif self._autoreset == "Disabled" and over.any():
                observations, infos = self._reset(over, rules.options(), infos)
            if not rules.ask():
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
        return (*begun(self.env, self.env.reset(**rules.options())), np.ones(size, bool), np.zeros(size), np.zeros(size, int))

    def _rewards(self, gained: Any) -> Any:
        """One number for each environment, also as a column of them."""
        size = len(self.group)
        rewards = array_of(gained, "the reward")
        if rewards.size == size and rewards.dtype.kind in "fiub":
            return rewards.reshape(size)
        raise InvalidArgument(f"the reward is {shown(gained)} where a number for each of {size} environments was expected")

    def _those(self, playing: Any, gained: Any) -> Iterator[tuple[Agent, float]]:
        for i in np.flatnonzero(playing).tolist():
            yield self.group[i], float(gained[i])
