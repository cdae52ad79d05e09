"""Actor: a process that plays an environment for a learner."""

from __future__ import annotations

import functools
import os
import time
from typing import Any

from ._agent import Agent, Group, Mode
from ._client import Client, Pace, State, Stats, WithoutPolicy
from ._errors import InvalidArgument, LearnerGone, Refused
from ._parallel import Parallel
from ._play import BeforeEpisode, Played, Rules
from ._policy import spaces_in
from ._single import Single
from ._tables import table_for
from ._vector import Vector

_LOOK_S = 0.02


class Actor:
    """Plays `env` for the learner at `address`, with its newest weights.

        with murmurate.Actor("tcp://127.0.0.1:7420", env=env) as actor:
            actor.run(steps=200_000)

    or the loop yourself:

        action = actor.act(observation)
        observation, reward, terminated, truncated, info = env.step(action)
        actor.reward(reward)
        if terminated or truncated:
            actor.end(terminated, observation)

    `env`: a gymnasium.Env, a gymnasium.vector.VectorEnv or a pettingzoo.ParallelEnv (then `policies`
    says which model plays whom: {"npc-*": "npc"}, the first pattern that matches; else `model`).
    Without an env: `observation_space` and `action_space`, or those of the policy file.

    `privileged_space`: what only the learner's value network sees (Agent.privileged), as the state of
    a simulator; an env gives it as info["privileged"] with each observation.

    `pace`: what `act` may wait for. "credit" (the default) waits, at a trajectory's first step and
    while the learner lives, until it can take one more; "never" drops what the learner cannot take;
    "lockstep" also waits for each new version. `without_policy`: before there are weights, "wait"
    (the default), play at "random", or the "default" action. A learner that started afresh is
    followed (`accept_reset`). `policy`: a policy file, played until weights arrive; without an
    address it is all that is played, with no learner and no socket.

    With no learner there, one line on stderr says so after three seconds, and `act` waits. What else
    the client has to say goes to the logger "murmurate", each warning once; `quiet` makes it info.
    One thread uses an actor at a time.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        env: Any = None,
        observation_space: Any = None,
        action_space: Any = None,
        model: str = "default",
        policies: dict[str, str] | None = None,
        privileged_space: Any = None,
        policy: str | os.PathLike[str] | bytes | None = None,
        name: str | None = None,
        pace: Pace = "credit",
        without_policy: WithoutPolicy = "wait",
        accept_reset: bool = True,
        quiet: bool = False,
    ) -> None:
        if env is None:
            if policy is not None and observation_space is None and action_space is None:
                observation_space, action_space = spaces_in(policy)
            if observation_space is None or action_space is None:
                raise InvalidArgument("an Actor needs env=, or observation_space= and action_space=")
        self.client = Client(
            address, policy=policy, name=name, pace=pace, without_policy=without_policy, accept_reset=accept_reset,
            quiet=quiet, _of_actor=True,
        )  # fmt: skip
        self.env = env
        self._table: Single | Vector | Parallel
        try:
            played = _Spaces(observation_space, action_space) if env is None else env
            self._table = table_for(self.client, played, model, policies, privileged_space)
        except BaseException:
            self.client.close()
            raise
        self._must_wait = without_policy == "wait" and policy is None
        self._ask_at = 0.0
        self._watch = self.client._watch

    # ---- the loop ----------------------------------------------------------------------------

    def run(
        self,
        steps: int | None = None,
        *,
        episodes: int | None = None,
        seed: int | None = None,
        reports: tuple[str, ...] = (),
        before_episode: BeforeEpisode | None = None,
        patience_s: float = 60.0,
    ) -> Played:
        """Plays until so many steps (of all agents together) or episodes, or until the learner says
        goodbye for good; neither: only that, or Ctrl+C.

        A run goes on inside the episode that the last one stopped in, unless `seed` is given: that of
        the first reset. `reports`: names in an episode's last info whose numbers the
        learner shows; "is_success" there is its success. `before_episode()` is called before each
        reset (read `actor.setting(...)` there) and may return the reset's options. A learner that
        answered once and then not for `patience_s` (0: for ever) raises LearnerGone.
        """
        if self.env is None:
            raise InvalidArgument("run() plays an environment: give Actor(env=...), or loop over act yourself")
        self._await_weights()
        ask = functools.partial(self._go_on, patience_s)
        rules = Rules(steps, episodes, seed, tuple(reports), before_episode, ask, afresh=seed is not None)
        return self._table.play(rules)

    def evaluate(self, episodes: int = 100, *, seed: int | None = None) -> Played:
        """Plays greedily with the newest weights; the learner shows the returns as eval/..., and
        learns nothing from them. An episode stays with the version it began under."""
        if self.env is None:
            raise InvalidArgument(
                "evaluate() plays an environment: give Actor(env=...), or loop over act yourself, with mode('evaluate')"
            )
        self._await_weights()
        self.mode("evaluate")
        try:
            ask = functools.partial(self._go_on, 0.0)
            return self._table.play(Rules(None, episodes, seed, (), None, ask, afresh=True))
        finally:
            self._table.leave()
            self.mode("train")

    def _await_weights(self) -> None:
        """Here rather than in C: a learner that refuses is an error. An environment whose agents nobody
        knows yet waits in C: what a learner has no agent of, it sends no weights of."""
        while self._must_wait and self.agents:
            state = self.client.state()
            if state.state == "refused":
                raise Refused(f"{self.client.address}: {state.reason}")
            if state.state in ("live", "degraded") or state.should_stop:
                self._must_wait = False
            else:
                time.sleep(_LOOK_S)

    def _go_on(self, patience_s: float) -> bool:
        now = time.monotonic()
        if self._watch is None or now < self._ask_at:
            return True
        self._ask_at = now + _LOOK_S
        state = self.client.state()
        if state.state == "refused":
            raise Refused(f"{self.client.address}: {state.reason}")
        if 0 < patience_s < self._watch.absent_s(state):
            raise LearnerGone(
                f"the learner at {self.client.address} has been gone for {patience_s:g} s, so this actor ends; start"
                " both again, or let it wait longer with patience_s= (0: for ever)"
            )
        return not state.should_stop

    # ---- step by step ------------------------------------------------------------------------

    @property
    def agent(self) -> Agent:
        """The only agent; see `agents`, `group` and `agent_of` for more."""
        if isinstance(self._table, Single):
            return self._table.agent
        raise InvalidArgument("this actor has several agents: use actor.group (vectorized) or actor.agent_of(name)")

    @property
    def group(self) -> Group:
        """A vectorized environment's agents: group.act(observations), group[i].reward(r), ..."""
        if isinstance(self._table, Vector):
            return self._table.group
        raise InvalidArgument("only a vectorized environment's agents are a group: use actor.agents")

    def agent_of(self, name: Any) -> Agent:
        """Who plays for a PettingZoo agent; the first one waits for weights, as `act` does."""
        self._await_weights()
        if isinstance(self._table, Parallel):
            return self._table.agent(name)
        raise InvalidArgument("only PettingZoo's agents have names: use actor.agent or actor.group")

    @property
    def agents(self) -> list[Agent]:
        return self._table.agents

    def act(self, observation: Any, mask: Any = None) -> Any:
        """As Agent.act; of a vectorized environment as Group.act. The first one waits for weights,
        if without_policy is "wait"."""
        self._await_weights()
        play: Any = self.group.act if isinstance(self._table, Vector) else self.agent.act
        if not isinstance(self._table, Parallel):
            self.act = play  # type: ignore[method-assign]  # from now on with nothing between
        return play(observation, mask)

    def reward(self, reward: Any) -> None:
        """Adds to the reward of the last action (of a vectorized environment: one for each)."""
        if isinstance(self._table, Vector):
            give: Any = self._table.group.reward
        else:
            give = self.agent.reward
        self.reward = give  # type: ignore[method-assign]
        give(reward)

    def privileged(self, value: Any) -> None:
        """What only the learner sees: see Agent.privileged; of a vectorized environment Group.privileged."""
        shown: Any = self.group if isinstance(self._table, Vector) else self.agent
        shown.privileged(value)

    def end(self, terminated: bool, final_observation: Any = None, *, success: bool | None = None) -> None:
        """The episode is over: see Agent.end. For several agents: theirs."""
        self.agent.end(terminated, final_observation, success=success)

    def took(self, action: Any, log_prob: float | None = None) -> None:
        """The game overrode the last action: what really happened, and with which log-probability
        it was chosen, if that is known (see Agent.took)."""
        self.agent.took(action, log_prob)

    def discard(self) -> None:
        """Forgets the unfinished episodes."""
        for agent in self.agents:
            agent.discard()

    def report(self, name: str, value: float) -> None:
        """A named number of this episode; several add up."""
        self.agent.report(name, value)

    def mode(self, mode: Mode) -> None:
        """From the next episode on, for all agents: "train", "evaluate" or "silent"."""
        self._table.mode(mode)

    # ---- the client --------------------------------------------------------------------------

    def setting(self, name: str, fallback: float = 0.0) -> float:
        """A number that the learner sets for its games; read it as an episode begins."""
        return self.client.setting(name, fallback)

    def save(self, path: str | os.PathLike[str], model: str = "default") -> None:
        """Writes the policy as now held to a file."""
        self.client.save(path, model)

    def state(self) -> State:
        return self.client.state()

    def stats(self) -> Stats:
        return self.client.stats()

    def close(self) -> None:
        """Hands over what the agents hold and says goodbye: at most 2 s. Not the env's close."""
        self.client.close()

    def __enter__(self) -> Actor:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Spaces:
    """What stands for an environment where there is none."""

    def __init__(self, observation_space: Any, action_space: Any) -> None:
        self.observation_space, self.action_space = observation_space, action_space

    def step(self, action: Any) -> Any:
        raise InvalidArgument("this Actor has no environment: loop over act yourself")
