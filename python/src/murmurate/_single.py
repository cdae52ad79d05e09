"""One agent in a gymnasium.Env."""

from __future__ import annotations

import time
from typing import Any

from ._agent import Agent
from ._client import Client
from ._play import QUESTION_S, Played, Rules, Table, begun, end, mask_asker, privileged_of, stepped


class Single(Table):
    """One agent in a gymnasium.Env."""

    def __init__(self, client: Client, env: Any, model: str, privileged_space: Any) -> None:
        self.env = env
        spaces = (env.observation_space, env.action_space)
        self.agent = client.agent(*spaces, model=model, privileged_space=privileged_space)
        self._shows = privileged_space is not None
        self._masks = None if self.agent._observations.spaces.masked else mask_asker(env)

    @property
    def agents(self) -> list[Agent]:
        return [self.agent]

    def play(self, rules: Rules) -> Played:
        env, agent, played, masks = self.env, self.agent, rules.played, self._masks
        step, act, reward, clock, shows = env.step, agent.act, agent.reward, time.monotonic, self._shows
        observation, info, total, length = self._begin(rules)
        while rules.more():
            over, question_at = False, clock() + QUESTION_S
            for taken in range(1, rules.budget() + 1):
                mask = masks() if masks is not None else info.get("action_mask") if info else None
                observation, gained, terminated, truncated, info = stepped(env, step(act(observation, mask)))
                reward(gained)
                if shows:
                    agent.privileged(privileged_of(env, info))
                total += gained
                if terminated or truncated:
                    over = True
                    break
                if clock() > question_at:
                    break
            played.steps += taken
            length += taken
            if over:
                end(agent, bool(terminated), observation, info, rules.reports)
                rules.finish(total, length)
                total, length = 0.0, 0
                if not rules.ask() or not rules.more():
                    return played
                observation, info = self._reset(rules)
            elif not rules.ask():
                break
        self._open = (observation, info, total, length)
        return played

    def _begin(self, rules: Rules) -> Any:
        going_on, self._open = self._open, None
        if going_on is not None and not rules.afresh:
            return going_on
        self.agent.discard()
        return (*self._reset(rules), 0.0, 0)

    def _reset(self, rules: Rules) -> Any:
        observation, info = begun(self.env, self.env.reset(**rules.options()))
        if self._shows:
            self.agent.privileged(privileged_of(self.env, info))
        return observation, info
