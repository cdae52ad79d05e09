"""Which loop plays an environment."""

from __future__ import annotations

from typing import Any

from ._client import Client
from ._errors import InvalidArgument
from ._parallel import Parallel
from ._single import Single
from ._vector import Vector


def table_for(
    client: Client, env: Any, model: str, policies: dict[str, str] | None, privileged_space: Any = None
) -> Single | Vector | Parallel:
    """Who plays `env`, whatever kind it is."""
    if hasattr(env, "agent_iter"):
        raise InvalidArgument(
            f"{env} takes turns (PettingZoo AEC): give pettingzoo.utils.conversions.aec_to_parallel(env)"
        )
    many = callable(getattr(env, "observation_space", None))
    if many:
        return Parallel(client, env, model, policies, privileged_space)
    if policies:
        raise InvalidArgument("policies= is for PettingZoo environments: use model= for a single policy")
    if hasattr(env, "single_observation_space"):
        return Vector(client, env, model, privileged_space)
    if not hasattr(env, "observation_space") or not hasattr(env, "step"):
        raise InvalidArgument(
            f"{env!r} is no environment: give a gymnasium.Env, a gymnasium.vector.VectorEnv or a pettingzoo.ParallelEnv"
        )
    return Single(client, env, model, privileged_space)
