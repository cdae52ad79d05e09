"""Client: one connection to one learner, in Python's words. No Gymnasium here."""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import sys
import threading
import weakref
from dataclasses import dataclass
from types import FrameType
from typing import Any, Literal

from . import _library as c
from ._agent import Agent, Group, place_of
from ._library import Handle, check, library, made, sized, text
from ._watch import Watch

DEFAULT_ADDRESS = "tcp://127.0.0.1:7420"
Pace = Literal["never", "credit", "lockstep"]
WithoutPolicy = Literal["random", "default", "wait"]
Updates = Literal["automatic", "manual"]

_PACES = ("never", "credit", "lockstep")
_WITHOUT = ("random", "default", "wait")
_UPDATES = ("automatic", "manual")
_STATES = ("no learner", "waiting for weights", "live", "degraded", "refused")
_SLICE_MS = 100
"""What waits in C comes back to Python that often."""
_NO_DIGITS = str.maketrans("", "", "0123456789")
_MOST_SAID = 256
_LEVELS = (logging.INFO, logging.WARNING, logging.ERROR)

log = logging.getLogger("murmurate")


@dataclass(frozen=True)
class State:
    """How a client stands with its learner. `state` is one of "no learner", "waiting for weights",
    "live", "degraded" (playing on with what there is) and "refused"."""

    state: str
    reason: str  # one sentence; "" when live
    in_session: bool  # the learner answers
    should_stop: bool  # it has ended for good: a game that plays only for it may end


@dataclass(frozen=True)
class Stats:
    """What a client has counted."""

    steps: int  # actions, recorded or not
    trajectories_sent: int
    trajectories_dropped: int  # never sent: no credit, no learner, or discarded
    steps_dropped: int
    steps_given_up: int  # played at random: the policy's outputs overflowed
    trajectories_refused: int
    weights_received: int
    version: int  # newest held, of the first model
    reconnects: int
    trajectories_committed: int  # in a checkpoint on disk
    steps_committed: int
    trajectories_lost: int  # in no checkpoint when the learner died
    rewards_not_finite: int  # each cost a trajectory


class Client:
    """One connection to one learner, with any number of agents of any number of models.

    Returns at once, learner or not; raises for bad arguments only. Without an address it plays
    `policy` (a file's path, or its bytes) with no socket, no thread and no learner; with one,
    `policy` is played until the learner's weights arrive.

    Any thread; each agent and each group is used by one thread at a time. After a fork the child
    makes its own. What the client has to say goes to the logger "murmurate", within a quarter of a
    second and each warning once (again: as info); with no logging set up that is stderr. `quiet`
    makes info of all of it, and then only `state`, `stats` and `pass_on_log` pass it on.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        policy: str | os.PathLike[str] | bytes | None = None,
        name: str | None = None,
        pace: Pace = "never",
        without_policy: WithoutPolicy = "random",
        accept_reset: bool = False,
        updates: Updates = "automatic",
        quiet: bool = False,
        _of_actor: bool = False,
    ) -> None:
        self._handle = Handle()
        self._lock = threading.Lock()  # closing, and every call with the handle
        self._left = False
        self._of_actor = _of_actor  # an actor, which says itself that no learner answers
        self._quiet, self._said = quiet, set[str]()
        if address is None and policy is None:
            address = DEFAULT_ADDRESS
        options = sized(c.ClientOptions)
        options.name = (name or f"python-{os.getpid()}").encode()
        options.pace = place_of(pace, _PACES, "pace")
        options.without_policy = place_of(without_policy, _WITHOUT, "without_policy")
        options.updates = place_of(updates, _UPDATES, "updates")
        options.accept_reset = int(accept_reset)
        options.max_wait_ms = _SLICE_MS
        options.quiet = 1  # the logger has it
        if isinstance(policy, bytes):
            options.policy_bytes, options.policy_size = policy, len(policy)
        elif policy is not None:
            options.policy_path = os.fsencode(policy)
        self.address = address
        self.pace = pace
        if address is None:
            new = library.mmr_open(ctypes.byref(options))
        else:
            new = library.mmr_connect(address.encode(), ctypes.byref(options))
        self._handle = made(new, library.mmr_close)
        self._players: weakref.WeakSet[Any] = weakref.WeakSet()
        self._watch = Watch(self, speaks=_of_actor) if address is not None and (_of_actor or not quiet) else None
        _open_clients.add(self)

    def agent(
        self,
        observation_space: Any,
        action_space: Any,
        *,
        model: str = "default",
        default_action: Any = None,
        privileged_space: Any = None,
    ) -> Agent:
        """A new player. `default_action` is for without_policy="default"; `privileged_space` is of what
        Agent.privileged shows the learner alone."""
        return Agent(
            self, observation_space, action_space, model=model, default_action=default_action,
            privileged_space=privileged_space,
        )  # fmt: skip

    def group(
        self,
        observation_space: Any,
        action_space: Any,
        size: int,
        *,
        model: str = "default",
        privileged_space: Any = None,
    ) -> Group:
        """`size` agents of one simulator, played with one batched pass; the spaces are one agent's."""
        return Group(self, observation_space, action_space, size, model=model, privileged_space=privileged_space)

    def state(self) -> State:
        found = sized(c.State)
        with self._lock:
            check(library.mmr_get_state(self._handle, ctypes.byref(found)))
        self._left = bool(found.should_stop)
        self.pass_on_log()
        return State(
            _STATES[found.state], text(found.reason), bool(found.in_session), bool(found.should_stop)
        )

    def stats(self) -> Stats:
        found = sized(c.Stats)
        with self._lock:
            check(library.mmr_get_stats(self._handle, ctypes.byref(found)))
        self.pass_on_log()
        return Stats(**{name: getattr(found, name) for name in Stats.__dataclass_fields__})

    def setting(self, name: str, fallback: float = 0.0) -> float:
        """A number that the learner sets for its games: read it as an episode begins, after the last
        one's end and before the first act."""
        with self._lock:
            return float(library.mmr_setting(self._handle, name.encode(), fallback))

    def update(self) -> int:
        """updates="manual": loads what has come; how many models play a newer version now."""
        with self._lock:
            return check(library.mmr_update(self._handle))

    def save(self, path: str | os.PathLike[str], model: str = "default") -> None:
        """Writes the policy as now held, for `policy=` here and in every other language."""
        with self._lock:
            check(library.mmr_save(self._handle, os.fsencode(path), model.encode()))

    def pass_on_log(self) -> None:
        """Gives the library's waiting lines to logging.getLogger("murmurate")."""
        line, level = ctypes.create_string_buffer(2048), ctypes.c_int32()
        while True:
            with self._lock:
                if self.closed or library.mmr_next_log(self._handle, line, 2048, ctypes.byref(level)) <= 0:
                    return
            said = text(line.value)
            log.log(logging.INFO if self._is_known(said) else _LEVELS[level.value], "%s", said)

    def _is_known(self, said: str) -> bool:
        """True for a line that was said before, perhaps with other numbers, and for one that need
        not warn: with `quiet`, after the learner has told this client to stop, and for a missing
        learner when an actor reports it itself."""
        kind = said.translate(_NO_DIGITS)
        before = kind in self._said
        if len(self._said) < _MOST_SAID:
            self._said.add(kind)
        return before or self._quiet or self._left or (self._of_actor and said.startswith("no learner"))

    def close(self) -> None:
        """Closes its agents, which hand over what they hold, then itself: at most 2 s."""
        for player in list(self._players):
            player.close()
        self.pass_on_log()
        self.hang_up()

    def hang_up(self) -> None:
        """Closes itself and leaves its agents, which play on and send nothing: whoever waits in
        `act` does so no longer. From any thread."""
        if self._watch is not None:
            self._watch.stop()
        with self._lock:
            address = self._handle.take()
        _open_clients.discard(self)
        if address is not None:
            check(library.mmr_close(address))

    @property
    def closed(self) -> bool:
        return self._handle.pointer.value is None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


_open_clients: weakref.WeakSet[Client] = weakref.WeakSet()


@atexit.register
def _close_clients() -> None:
    """Whoever forgot to: what agents hold is sent, and the learner is told goodbye. What a daemon
    thread may be inside of stays as it is, and waits no longer."""
    for client in list(_open_clients):
        while client._players and not _others_play():
            client._players.pop().close()
        client.pass_on_log()
        client.hang_up()


def _others_play() -> bool:
    """Whether another thread may be in C with an agent: under a function of Agent or Group."""
    here = threading.get_ident()
    for thread, top in sys._current_frames().items():
        frame: FrameType | None = top if thread != here else None
        while frame is not None:
            if frame.f_code.co_filename == Agent.act.__code__.co_filename:
                return True
            frame = frame.f_back
    return False


def _renew_locks() -> None:
    """In a forked child: whoever held one is not here."""
    for client in list(_open_clients):
        client._lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_locks)
