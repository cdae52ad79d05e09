"""murmurate: attach an environment to a live learner.

    import gymnasium as gym, murmurate

    env = gym.make("CartPole-v1")
    with murmurate.Actor("tcp://127.0.0.1:7420", env=env) as actor:
        actor.run(steps=200_000)

Actor   plays a Gymnasium or PettingZoo environment for a learner
Client  one connection, with Agents and Groups: for who has no such environment
feed    hands the samples of a generator to a learner of labels
Policy  plays a policy file with no learner; evaluate says how good it is
Parameters  trains arrays of a program that has its own loss, together with others
Pool    trains models side by side, for a search over settings
"""

from . import _spaces as spaces
from ._actor import Actor
from ._agent import Agent, Group
from ._client import DEFAULT_ADDRESS, Client, State, Stats
from ._errors import (
    Closed,
    Error,
    Forked,
    InvalidArgument,
    InvalidData,
    LearnerGone,
    Refused,
    ResourceError,
    SecurityError,
    Unavailable,
)
from ._feed import Fed, feed
from ._job import Job
from ._library import library_path, library_version
from ._parameters import Parameters, ParametersReport
from ._play import Played
from ._policy import Policy, evaluate
from ._pool import Pool

__version__ = "0.1.0"

__all__ = [
    "DEFAULT_ADDRESS",
    "Actor",
    "Agent",
    "Client",
    "Closed",
    "Error",
    "Fed",
    "Forked",
    "Group",
    "InvalidArgument",
    "InvalidData",
    "Job",
    "LearnerGone",
    "Parameters",
    "ParametersReport",
    "Played",
    "Policy",
    "Pool",
    "Refused",
    "ResourceError",
    "SecurityError",
    "State",
    "Stats",
    "Unavailable",
    "evaluate",
    "feed",
    "library_path",
    "library_version",
    "spaces",
]
