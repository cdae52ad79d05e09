"""PettingZoo's parallel environments: agents that come and go."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from ._agent import Agent
from ._buffers import number_of
from ._client import Client
from ._errors import InvalidArgument
from ._play import Played, Rules, Table, begun, end, privileged_of, stepped


class Parallel(Table):
    """A pettingzoo.ParallelEnv: agents that come and go, each playing the model that the first
    matching pattern of `policies` names."""

    def __init__(
        self, client: Client, env: Any, model: str, policies: dict[str, str] | None, privileged_space: Any
    ) -> None:
        self.env, self._client, self._privileged_space = env, client, privileged_space
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
            found = idle.pop() if idle else self._born(spaces, model)
            self._playing[name] = found
        return found

    def _born(self, spaces: tuple[Any, Any], model: str) -> Agent:
        agent = self._client.agent(*spaces, model=model, privileged_space=self._privileged_space)
        agent.mode(self._mode)
        return agent

    def _leave(self, name: Any) -> None:
        gone = self._playing.pop(name)
        self._idle.setdefault(gone.model, []).append(gone)

    def _rest(self) -> None:
        for name in list(self._playing):
            self._leave(name)

    def play(self, rules: Rules) -> Played:
        env, played = self.env, rules.played
        observations, infos, totals, lengths = self._begin(rules)
        while rules.more():
            for name in env.agents if self._privileged_space is not None else ():
                self.agent(name).privileged(privileged_of(env, infos.get(name)))
            actions = {
                name: self.agent(name).act(observations[name], (infos.get(name) or {}).get("action_mask"))
                for name in env.agents
            }
            observations, gained, terminated, truncated, infos = stepped(env, env.step(actions))
            for name in actions:
                played.steps += 1
                agent = self.agent(name)
                its = number_of(gained.get(name, 0.0), f"the reward of {name}")
                agent.reward(its)
                totals[name] = totals.get(name, 0.0) + its
                lengths[name] = lengths.get(name, 0) + 1
                if terminated.get(name) or truncated.get(name):
                    ended, info = bool(terminated.get(name)), infos.get(name) or {}
                    if self._privileged_space is not None and not ended:
                        agent.privileged(privileged_of(env, info))
                    end(agent, ended, observations.get(name), info, rules.reports)
                    rules.finish(totals.pop(name), lengths.pop(name))
                    self._leave(name)
                elif name not in env.agents:
                    agent.discard()
                    totals.pop(name), lengths.pop(name)
                    self._leave(name)
            if not rules.ask():
                break
            if not env.agents and rules.more():
                self._rest()
                observations, infos = begun(env, env.reset(**rules.options()))
                if not env.agents:
                    raise InvalidArgument(f"{env} has no agents after reset: no agent can play")
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
        return (*begun(self.env, self.env.reset(**rules.options())), totals, lengths)
