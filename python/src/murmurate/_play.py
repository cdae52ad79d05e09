"""What the loops that play environments share: _single, _vector and _parallel.

Nothing is learned from that did not happen: the step in which a vectorized environment only resets
is played by nobody, a time limit hands over the observation that life would have gone on from, and
agents that vanish without an end are forgotten, not ended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._agent import Agent, Mode
from ._buffers import number_of
from ._errors import InvalidArgument

Options = dict[str, Any]
QUESTION_S = 0.02
_ENDLESS = 1 << 60
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
    ask: Callable[[], bool]  # every QUESTION_S, or step that takes longer, and at ends: False ends the loop
    afresh: bool = False  # begin with a reset, though the last run stopped inside an episode
    played: Played = field(default_factory=Played)

    def more(self) -> bool:
        return (self.steps is None or self.played.steps < self.steps) and (
            self.episodes is None or self.played.episodes < self.episodes
        )

    def budget(self) -> int:
        """Steps that are left."""
        return _ENDLESS if self.steps is None else self.steps - self.played.steps

    def finish(self, total: float, length: int) -> None:
        self.played.returns.append(number_of(total, "the return"))
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


def stepped(env: Any, outcome: Any) -> Any:
    """What env.step gave, if it is what Gymnasium says."""
    if isinstance(outcome, tuple) and len(outcome) == 5:
        return outcome
    got = f"{len(outcome)} values" if isinstance(outcome, tuple) else f"a {type(outcome).__name__}"
    old = (
        "; environments of the old gym give (observation, reward, done, info): return terminated and truncated apart"
        if isinstance(outcome, tuple) and len(outcome) == 4
        else ""
    )
    raise InvalidArgument(
        f"step() of {env} gave {got} where a tuple of 5 was expected (observation, reward, terminated, truncated,"
        f" info){old}"
    )


def begun(env: Any, outcome: Any) -> Any:
    """What env.reset gave, likewise."""
    if isinstance(outcome, tuple) and len(outcome) == 2 and isinstance(outcome[1], dict):
        return outcome
    raise InvalidArgument(
        f"reset() of {env} gave a {type(outcome).__name__} where a tuple of 2 was expected (observation, info);"
        " environments of the old gym give the observation alone"
    )


def privileged_of(env: Any, info: Any) -> Any:
    """What an environment whose agents have a privileged_space says beside each observation."""
    try:
        return info["privileged"]
    except (KeyError, TypeError):
        raise InvalidArgument(
            f'{env} gave no info["privileged"] with an observation, which privileged_space= promises: let reset() and'
            " step() give it"
        ) from None


def success_of(info: Any) -> bool | None:
    """What Gymnasium's environments call it."""
    for name in ("is_success", "success"):
        if name in info:
            return bool(info[name])
    return None


def end(agent: Agent, terminated: bool, final_observation: Any, info: Any, reports: tuple[str, ...]) -> None:
    for name in reports:
        if name in info:
            agent.report(name, info[name])
    agent.end(terminated, None if terminated else final_observation, success=success_of(info))


def mask_asker(env: Any) -> Callable[[], Any] | None:
    """env.action_masks(), through wrappers, as Stable-Baselines3-contrib has it."""
    found = getattr(env, "action_masks", None)
    if found is None and hasattr(env, "get_wrapper_attr"):
        try:
            found = env.get_wrapper_attr("action_masks")
        except AttributeError:
            return None
    return found if callable(found) else None


class Table:
    """Who plays an environment."""

    _open: Any = None  # where the last run stopped inside an episode
    _mode: Mode = "train"  # of all agents, those to come too

    @property
    def agents(self) -> list[Agent]:
        raise NotImplementedError

    def mode(self, mode: Mode) -> None:
        """From the next episode on."""
        for agent in self.agents:
            agent.mode(mode)
        self._mode = mode

    def leave(self) -> None:
        """The next run begins afresh."""
        self._open = None
