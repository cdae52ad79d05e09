"""Vectorized environments: one agent for each of their environments, as one group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._agent import Agent, Group
from ._client import Client
from ._errors import InvalidArgument
from ._play import Played, Rules, Table, begun, end, mask_asker, privileged_of, stepped
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


def _chosen(over: Any, after: Any, before: Any, tree: Any) -> Any:
    """Batched values: `after` of the environments that are over, `before` of the others."""
    if isinstance(tree, int):
        return np.where(np.reshape(over, (-1,) + (1,) * (np.ndim(after) - 1)), after, before)
    if isinstance(tree, dict):
        return {key: _chosen(over, after[key], before[key], inner) for key, inner in tree.items()}
    return tuple(_chosen(over, after[place], before[place], inner) for place, inner in enumerate(tree))


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

    def __init__(self, client: Client, env: Any, model: str, privileged_space: Any) -> None:
        self.env, self._autoreset = env, autoreset_of(env)
        spaces = (env.single_observation_space, env.single_action_space)
        self.group: Group = client.group(*spaces, env.num_envs, model=model, privileged_space=privileged_space)
        self._shown = None if privileged_space is None else spaces_of(privileged_space, action=False).tree
        self._tree = spaces_of(spaces[0], action=False).tree
        self._masks = None if self.group._observations.spaces.masked else masks_asker(env)

    @property
    def agents(self) -> list[Agent]:
        return list(self.group)

    def _act(self, observations: Any, infos: Any, playing: Any) -> Any:
        masks = self._masks() if self._masks is not None else self._info_masks(infos)
        if self._shown is not None:
            self.group.privileged(privileged_of(self.env, infos), playing)
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
        kept = {}
        if before is not None or after is not None:
            masks = (np.ones(1) if each is None else each for each in (after, before))
            kept["action_mask"] = np.where(over[:, None], *masks)
        if self._shown is not None:
            now, then = privileged_of(self.env, given), privileged_of(self.env, infos)
            kept["privileged"] = _chosen(over, now, then, self._shown)
        return observations, kept or given

    def _end(self, i: int, terminated: bool, observations: Any, infos: Any, reports: tuple[str, ...]) -> None:
        info, final = _info_row(infos, i), None
        if self._autoreset == "SameStep":
            ended = infos.get("final_info", {})
            info = _info_row(ended, i) if isinstance(ended, dict) else dict(ended[i] or {})
            finals = infos.get("final_obs", infos.get("final_observation"))
            final = None if finals is None else finals[i]
        elif not terminated:
            final = _row(observations, i, self._tree)
        if self._shown is not None and not terminated:
            at_end = self._autoreset == "SameStep"
            shown = info if at_end else {"privileged": _row(privileged_of(self.env, infos), i, self._shown)}
            self.group[i].privileged(privileged_of(self.env, shown))
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
            observations, gained, terminated, truncated, infos = stepped(
                env, env.step(self._act(observations, infos, playing))
            )
            group.reward(gained, playing)
            self._add(gained, playing, totals, lengths)
            over = terminated | truncated
            if playing is None:
                played.steps += len(group)
            else:
                played.steps += int(np.count_nonzero(playing))
                over &= playing
            ended = np.flatnonzero(over).tolist()
            for i in ended:
                self._end(i, bool(terminated[i]), observations, infos, rules.reports)
                rules.finish(totals[i], lengths[i])
                totals[i], lengths[i] = 0.0, 0
            if self._autoreset == "NextStep":
                playing = ~over if ended else None
            elif self._autoreset == "Disabled" and ended:
                observations, infos = self._reset(over, rules.options(), infos)
            if not rules.ask():
                break
        self._open = (observations, infos, playing, totals, lengths)
        return played

    @staticmethod
    def _add(gained: Any, playing: Any, totals: Any, lengths: Any) -> None:
        """To the returns and lengths of those who play (None: all)."""
        rewards = gained.reshape(-1) if isinstance(gained, np.ndarray) else np.ravel(gained)
        if playing is None:
            totals += rewards
            lengths += 1
        else:
            np.add(totals, rewards, out=totals, where=playing)
            lengths += playing

    def _begin(self, rules: Rules) -> Any:
        going_on, self._open = self._open, None
        if going_on is not None and not rules.afresh:
            return going_on
        for agent in self.group:
            agent.discard()
        size = len(self.group)
        return (*begun(self.env, self.env.reset(**rules.options())), None, np.zeros(size), np.zeros(size, int))
