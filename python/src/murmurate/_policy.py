"""A policy file played with no learner, no socket and no thread; and how good it is."""

from __future__ import annotations

import json
import os
import struct
from typing import Any

from ._agent import Agent
from ._client import Client
from ._errors import InvalidData
from ._play import Played, Rules
from ._spaces import parse_spaces
from ._tables import table_for

_SPEC = "murmurate.spec"
_MOST_HEADER_BYTES = 1 << 24


def _spec_of(content: bytes, name: str) -> list[str]:
    """The lines of the model's spec in a weights file (safetensors: u64 length, JSON, numbers)."""
    try:
        (size,) = struct.unpack_from("<Q", content)
        if size > _MOST_HEADER_BYTES:
            raise ValueError(size)
        return list(json.loads(content[8 : 8 + size])["__metadata__"][_SPEC].splitlines())
    except (struct.error, ValueError, KeyError, TypeError) as error:
        raise InvalidData(
            f"{name} is no policy file (a safetensors file with {_SPEC} in its metadata was expected): write one with"
            " `murmurate export RUN --format policy`, or Actor.save"
        ) from error


def spaces_in(file: str | os.PathLike[str] | bytes) -> tuple[Any, Any]:
    """The observation and the action space of the policy in a file, or in its bytes."""
    return parse_spaces(_spec_of(*_content(file)))


def _content(file: str | os.PathLike[str] | bytes) -> tuple[bytes, str]:
    """And what to call it."""
    if isinstance(file, bytes):
        return file, "the policy"
    with open(file, "rb") as opened:
        return opened.read(), os.fsdecode(file)


class Policy:
    """The policy in a file that `murmurate export --format policy`, `Actor.save` or a checkpoint
    wrote (or its bytes). The file knows its spaces; give `env` for actions in the form of its space
    (a Discrete's start, a dtype, nested Dicts).

        policy = murmurate.Policy("cartpole.policy")
        action = policy.act(observation)

    `deterministic`: the likeliest action rather than one drawn. For one agent and one thread; an
    episode's `end()` matters to policies that remember.
    """

    def __init__(
        self, file: str | os.PathLike[str] | bytes, *, env: Any = None, deterministic: bool = True
    ) -> None:
        content, _ = _content(file)
        if env is None:
            self.observation_space, self.action_space = spaces_in(file)
        else:
            self.observation_space = getattr(env, "single_observation_space", env.observation_space)
            self.action_space = getattr(env, "single_action_space", env.action_space)
        self._client = Client(policy=content)
        self._agent: Agent = self._client.agent(self.observation_space, self.action_space)
        self._agent.mode("silent" if deterministic else "train")
        self.act = self._agent.act
        """As Agent.act."""
        self.reward = self._agent.reward
        """As Agent.reward: for a policy of a model with previous_reward, which chooses by it."""

    def end(self) -> None:
        """The episode is over: a policy that remembers forgets."""
        self._agent.end(True)

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> Policy:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def evaluate(
    policy: str | os.PathLike[str] | bytes, env: Any, episodes: int = 100, *, seed: int | None = None
) -> Played:
    """Plays so many greedy episodes of `env` (of any kind that an Actor plays) with a policy file:
    their raw returns and lengths."""
    with Client(policy=policy) as client:
        table = table_for(client, env, "default", None)
        table.mode("silent")
        return table.play(Rules(None, episodes, seed, (), None, lambda: True))
