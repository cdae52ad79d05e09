"""The loops that play an environment with agents: one for each kind of environment.

Nothing is learned from that did not happen: the step in which a vectorized environment only resets
is played by nobody, a time limit hands over the observation that life would have gone on from, and
agents that vanish without an end are forgotten, not ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from ._client import Agent, Client, Group
from ._errors import InvalidArgument
from ._spaces import spaces_of

Options = dict[str, Any]
ROUNDS_BETWEEN_QUESTIONS = 256
BeforeEpisode = Callable[[], "Options | None"]


@dataclass
class Played:
    """What `run` and `evaluate` come to: the steps of all agents together, and the raw return and
    length of each episode that ended."""

    steps: int = 0
    returns: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)

    @property
    def episodes(self) -> int:
        return len(self.returns)

    @property
    def mean_return(self) -> float:
        """Of the episodes; NaN when none ended."""
        return float(np.mean(self.returns)) if self.returns else float("nan")

    def __str__(self) -> str:
        mean = f", mean return {self.mean_return:.6g}" if self.returns else ""
        return f"{self.steps:,} steps, {self.episodes:,} episodes{mean}"


@dataclass
class Rules:
    """How a loop goes on: limits, and what is asked for between steps."""

    steps: int | None
    episodes: int | None
    seed: int | None
    reports: tuple[str, ...]
    before_episode: BeforeEpisode | None
    ask: Callable[[], bool]  # every so often and at an episode's end: False ends the loop
    afresh: bool = False  # begin with a reset, though the last run stopped inside an episode
    played: Played = field(default_factory=Played)

    def more(self) -> bool:
        return (self.steps is None or self.played.steps < self.steps) and (
            self.episodes is None or self.played.episodes < self.episodes
        )

    def budget(self) -> int:
        """Steps until something is to be asked."""
        left = ROUNDS_BETWEEN_QUESTIONS if self.steps is None else self.steps - self.played.steps
        return min(left, ROUNDS_BETWEEN_QUESTIONS)

    def finish(self, total: float, length: int) -> None:
        self.played.returns.append(float(total))
        self.played.lengths.append(int(length))

    def options(self) -> dict[str, Any]:
        """What reset is called with."""
        given: dict[str, Any] = {}
        if self.seed is not None:
            given["seed"], self.seed = self.seed, None
        options = self.before_episode() if self.before_episode is not None else None
        if options is not None:
            given["options"] = options
        return given


def success_of(info: Any) -> bool | None:
    """What Gymnasium's environments call it."""
    for name in ("is_success", "success"):
        if name in info:
            return bool(info[name])
    return None


def end(agent: Agent, terminated: bool, final_observation: Any, info: Any, reports: tuple[str, ...]) -> None:
    for name in reports:
        if name in info:
            agent.report(name, float(info[name]))
    agent.end(terminated, None if terminated else final_observation, success=success_of(info))


def _mask_asker(env: Any) -> Callable[[], Any] | None:
    """env.action_masks(), through wrappers, as Stable-Baselines3-contrib has it."""
    found = getattr(env, "action_masks", None)
    if found is None and hasattr(env, "get_wrapper_attr"):
        try:
            found = env.get_wrapper_attr("action_masks")
        except AttributeError:
            return None
    return found if callable(found) else None


class _Table:
    _open: Any = None  # where the last run stopped inside an episode

    def leave(self) -> None:
        """The next run begins afresh."""
        self._open = None


class Single(_Table):
    """One agent in a gymnasium.Env."""

    def __init__(self, client: Client, env: Any, model: str) -> None:
        self.env = env
        self.agent = client.agent(env.observation_space, env.action_space, model=model)
        self._masks = None if self.agent._observations.spaces.masked else _mask_asker(env)

    @property
    def agents(self) -> list[Agent]:
        return [self.agent]

    def play(self, rules: Rules) -> Played:
        env, agent, played, masks = self.env, self.agent, rules.played, self._masks
        step, act, reward = env.step, agent.act, agent.reward
        observation, info, total, length = self._begin(rules)
        while rules.more():
            over = False
            for taken in range(1, rules.budget() + 1):
                mask = masks() if masks is not None else info.get("action_mask") if info else None
                observation, gained, terminated, truncated, info = step(act(observation, mask))
                reward(gained)
                total += gained
                if terminated or truncated:
                    over = True
                    break
            played.steps += taken
            length += taken
            if over:
                end(agent, bool(terminated), observation, info, rules.reports)
                rules.finish(total, length)
                total, length = 0.0, 0
                if not rules.ask() or not rules.more():
                    return played
                observation, info = env.reset(**rules.options())
            elif not rules.ask():
                break
        self._open = (observation, info, total, length)
        return played

    def _begin(self, rules: Rules) -> Any:
        going_on, self._open = self._open, None
        if going_on is not None and not rules.afresh:
            return going_on
        self.agent.discard()
        return (*self.env.reset(**rules.options()), 0.0, 0)


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


class Vector(_Table):
    """A gymnasium.vector.VectorEnv: one agent for each of its environments, as one group."""

    def __init__(self, client: Client, env: Any, model: str) -> None:
        self.env, self.mode = env, autoreset_of(env)
        spaces = (env.single_observation_space, env.single_action_space)
        self.group: Group = client.group(*spaces, env.num_envs, model=model)
        self._tree = spaces_of(spaces[0], action=False).tree
        self._masks = None if self.group._observations.spaces.masked else _mask_asker(env)

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


class Parallel(_Table):
    """A pettingzoo.ParallelEnv: agents that come and go, each playing the model that the first
    matching pattern of `policies` names."""

    def __init__(self, client: Client, env: Any, model: str, policies: dict[str, str] | None) -> None:
        self.env, self._client = env, client
        self._default, self._policies = model, dict(policies or {})
        self._playing: dict[Any, Agent] = {}
        self._idle: dict[str, list[Agent]] = {}
        for name in getattr(env, "possible_agents", None) or ():
            self.agent(name)
        self._rest()

    @property
    def agents(self) -> list[Agent]:
        return [agent for idle in self._idle.values() for agent in idle] + list(self._playing.values())

    def model_of(self, name: Any) -> str:
        for pattern, model in self._policies.items():
            if fnmatchcase(str(name), pattern):
                return model
        return self._default

    def agent(self, name: Any) -> Agent:
        """Who plays for `name`: as long as it lives, the same."""
        found = self._playing.get(name)
        if found is None:
            model = self.model_of(name)
            idle = self._idle.setdefault(model, [])
            spaces = (self.env.observation_space(name), self.env.action_space(name))
            found = idle.pop() if idle else self._client.agent(*spaces, model=model)
            self._playing[name] = found
        return found

    def _leave(self, name: Any) -> None:
        gone = self._playing.pop(name)
        self._idle.setdefault(gone.model, []).append(gone)

    def _rest(self) -> None:
        for name in list(self._playing):
            self._leave(name)

    def play(self, rules: Rules) -> Played:
        env, played = self.env, rules.played
        observations, infos, totals, lengths = self._begin(rules)
        rounds = 0
        while rules.more():
            rounds += 1
            actions = {
                name: self.agent(name).act(observations[name], (infos.get(name) or {}).get("action_mask"))
                for name in env.agents
            }
            observations, gained, terminated, truncated, infos = env.step(actions)
            over = False
            for name in actions:
                played.steps += 1
                agent = self.agent(name)
                agent.reward(float(gained.get(name, 0.0)))
                totals[name] = totals.get(name, 0.0) + float(gained.get(name, 0.0))
                lengths[name] = lengths.get(name, 0) + 1
                if terminated.get(name) or truncated.get(name):
                    over = True
                    ended, info = bool(terminated.get(name)), infos.get(name) or {}
                    end(agent, ended, observations.get(name), info, rules.reports)
                    rules.finish(totals.pop(name), lengths.pop(name))
                    self._leave(name)
                elif name not in env.agents:
                    agent.discard()
                    totals.pop(name), lengths.pop(name)
                    self._leave(name)
            if (over or rounds % ROUNDS_BETWEEN_QUESTIONS == 0) and not rules.ask():
                break
            if not env.agents and rules.more():
                self._rest()
                observations, infos = env.reset(**rules.options())
                if not env.agents:
                    raise InvalidArgument(f"{env} has no agents after reset: there is nobody to play")
        if env.agents:
            self._open = (observations, infos, totals, lengths)
        return played

    def _begin(self, rules: Rules) -> Any:
        going_on, self._open = self._open, None
        if going_on is not None and not rules.afresh:
            return going_on
        for agent in self._playing.values():
            agent.discard()
        self._rest()
        totals: dict[Any, float] = {}
        lengths: dict[Any, int] = {}
        return (*self.env.reset(**rules.options()), totals, lengths)


def table_for(client: Client, env: Any, model: str, policies: dict[str, str] | None) -> Single | Vector | Parallel:
    """Who plays `env`, whatever kind it is."""
    if hasattr(env, "agent_iter"):
        raise InvalidArgument(
            f"{env} takes turns (PettingZoo AEC): give pettingzoo.utils.conversions.aec_to_parallel(env)"
        )
    many = callable(getattr(env, "observation_space", None))
    if client.pace == "lockstep" and (many or hasattr(env, "single_observation_space")):
        # One thread plays them all: the first to have spent its share would wait for the others.
        raise InvalidArgument('pace="lockstep" is for an environment with one agent: use pace="credit"')
    if many:
        return Parallel(client, env, model, policies)
    if policies:
        raise InvalidArgument("policies= is for PettingZoo environments: use model= for a single policy")
    if hasattr(env, "single_observation_space"):
        return Vector(client, env, model)
    if not hasattr(env, "observation_space") or not hasattr(env, "step"):
        raise InvalidArgument(
            f"{env!r} is no environment: give a gymnasium.Env, a gymnasium.vector.VectorEnv or a pettingzoo.ParallelEnv"
        )
    return Single(client, env, model)
