"""Client, Agent, Group: the C interface with Python's words. No Gymnasium here."""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from . import _library as c
from ._buffers import Actions, Observations
from ._errors import Closed, InvalidArgument
from ._library import check, fail, library, made, sized, text
from ._spaces import CSpace, Spaces, spaces_of

DEFAULT_ADDRESS = "tcp://127.0.0.1:7420"
Pace = Literal["never", "credit", "lockstep"]
WithoutPolicy = Literal["random", "default", "wait"]
Updates = Literal["automatic", "manual"]
Mode = Literal["train", "evaluate", "silent"]

_PACES = ("never", "credit", "lockstep")
_WITHOUT = ("random", "default", "wait")
_UPDATES = ("automatic", "manual")
_MODES = ("train", "evaluate", "silent")
_STATES = ("no learner", "waiting for weights", "live", "degraded", "refused")
_LEVELS = (logging.INFO, logging.WARNING, logging.ERROR)

log = logging.getLogger("murmurate")


def _place(word: str, words: tuple[str, ...], name: str) -> int:
    if word not in words:
        raise InvalidArgument(f"{name} is {word!r} where one of {', '.join(words)} was expected")
    return words.index(word)


@dataclass(frozen=True)
class State:
    """How a client stands with its learner. `state` is one of "no learner", "waiting for weights",
    "live", "degraded" (playing on with what there is) and "refused"."""

    state: str
    reason: str  # one sentence; "" when live
    in_session: bool  # the learner answers
    should_stop: bool  # it said goodbye for good: who plays only for it may end


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


class Client:
    """One connection to one learner, with any number of agents of any number of models.

    Returns at once, learner or not; raises for bad arguments only. Without an address it plays
    `policy` (a file's path, or its bytes) with no socket, no thread and no learner; with one,
    `policy` is played until the learner's weights arrive.

    Any thread; each agent and each group is used by one thread at a time. After a fork the child
    makes its own. Lines that the library logs go to the logger "murmurate" whenever `state`, `stats`
    or `pass_on_log` is called (an Actor calls it by itself).
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
    ) -> None:
        self._handle: ctypes.c_void_p | None = None
        self._lock = threading.Lock()  # closing, and every call with the handle
        self._left = False
        self._watched = False  # an Actor says itself that nobody answers
        if address is None and policy is None:
            address = DEFAULT_ADDRESS
        options = sized(c.ClientOptions)
        options.name = (name or f"python-{os.getpid()}").encode()
        options.pace = _place(pace, _PACES, "pace")
        options.without_policy = _place(without_policy, _WITHOUT, "without_policy")
        options.updates = _place(updates, _UPDATES, "updates")
        options.accept_reset = int(accept_reset)
        if isinstance(policy, bytes):
            options.policy_bytes, options.policy_size = policy, len(policy)
        elif policy is not None:
            options.policy_path = os.fsencode(policy)
        self.address = address
        self.pace = pace
        if address is None:
            self._handle = made(library.mmr_open(ctypes.byref(options)))
        else:
            self._handle = made(library.mmr_connect(address.encode(), ctypes.byref(options)))
        self._players: weakref.WeakSet[Any] = weakref.WeakSet()
        _open_clients.add(self)

    def agent(
        self, observation_space: Any, action_space: Any, *, model: str = "default", default_action: Any = None
    ) -> Agent:
        """A new player. `default_action` is for without_policy="default"."""
        return Agent(self, observation_space, action_space, model=model, default_action=default_action)

    def group(self, observation_space: Any, action_space: Any, size: int, *, model: str = "default") -> Group:
        """`size` agents of one simulator, played with one batched pass; the spaces are one agent's."""
        return Group(self, observation_space, action_space, size, model=model)

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
        """updates="manual": takes up what has come; how many models play a newer version now."""
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
                if self._handle is None or library.mmr_next_log(self._handle, line, 2048, ctypes.byref(level)) <= 0:
                    return
            # That a learner which said goodbye is gone is no warning.
            said = text(line.value)
            known = self._left or (self._watched and said.startswith("no learner"))
            log.log(logging.INFO if known else _LEVELS[level.value], "%s", said)

    def close(self) -> None:
        """Closes its agents, which hand over what they hold, then itself: at most 2 s."""
        for player in list(self._players):
            player.close()
        self.pass_on_log()
        self.hang_up()

    def hang_up(self) -> None:
        """Closes itself and leaves its agents, which play on and send nothing: whoever waits in
        `act` does so no longer. From any thread."""
        with self._lock:
            handle, self._handle = self._handle, None
        _open_clients.discard(self)
        if handle is not None:
            check(library.mmr_close(handle))

    @property
    def closed(self) -> bool:
        return self._handle is None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


_open_clients: weakref.WeakSet[Client] = weakref.WeakSet()


@atexit.register
def _close_clients() -> None:
    """Whoever forgot to: what agents hold is sent, and the learner is told goodbye."""
    for client in list(_open_clients):
        client.close()


def _renew_locks() -> None:
    """In a forked child: whoever held one is not here."""
    for client in list(_open_clients):
        client._lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_locks)


def _options(observation: CSpace, action: CSpace, model: str, default: Actions | None = None) -> Any:
    options = sized(c.AgentOptions)
    options.observation = ctypes.pointer(observation.space)
    options.action = ctypes.pointer(action.space)
    options.model = model.encode()
    if default is not None:
        options.default_action = ctypes.pointer(default.structs[0])
    return options


def _closed(*given: Any, **named: Any) -> Any:
    raise Closed("this agent is closed: make another with Client.agent")


Act = Callable[..., Any]


class Agent:
    """One player; made by `Client.agent`, or one of a Group's. Used by one thread at a time."""

    def __init__(
        self,
        client: Client,
        observation_space: Any,
        action_space: Any,
        *,
        model: str = "default",
        default_action: Any = None,
        _handle: ctypes.c_void_p | None = None,
    ) -> None:
        self._handle: ctypes.c_void_p | None = None
        self.client, self.model = client, model
        self._of_group = _handle is not None
        seen, done = spaces_of(observation_space, action=False), spaces_of(action_space, action=True)
        self._observations = Observations(seen, done, None)
        self._actions = Actions(done, None)
        if _handle is None:
            default = None
            if default_action is not None:
                default = Actions(done, None)
                default.write(default_action)
            options = _options(CSpace(seen), CSpace(done), model, default)
            _handle = made(library.mmr_agent_new(client._handle, ctypes.byref(options)))
            client._players.add(self)
        self._handle = _handle
        self._bind(seen, done)

    def _bind(self, seen: Spaces, done: Spaces) -> None:
        """What each step passes to C, made once."""
        memory = self._observations.memory[0]
        self._seen = ctypes.pointer(self._observations.structs[0])
        self._seen_masked = ctypes.pointer(self._observations.masked_structs[0])
        self._done = ctypes.pointer(self._actions.structs[0])
        self.reward = self._quick_reward()  # type: ignore[method-assign,assignment]
        leaf = done.leaves[0]
        if not seen.plain or seen.masked or seen.leaves[0].path or not isinstance(done.tree, int):
            return
        if leaf.kind == c.DISCRETE and leaf.shape == ():
            self.act = self._quick_choice(leaf.start)  # type: ignore[method-assign]
        elif leaf.continuous:
            self.act = self._quick_numbers()  # type: ignore[method-assign]

    # What `reward` does, and `act` with one box in, one choice or one box out: everything at hand.

    def _quick_reward(self) -> Callable[[float], None]:
        handle, add = self._handle, library.mmr_reward

        def quick(reward: float) -> None:
            if add(handle, reward) < 0:
                fail()

        return quick

    def _quick_choice(self, start: int) -> Act:
        write, any_act, act = self._observations.writers[0][1], self._act, library.mmr_act
        handle, memory = self._handle, self._observations.memory[0]
        values, count = ctypes.c_void_p(memory.ctypes.data), ctypes.c_uint64(memory.size)

        def quick(observation: Any, mask: Any = None) -> Any:
            if mask is not None:
                return any_act(observation, mask)
            write(observation)
            choice = act(handle, values, count)
            return choice + start if choice >= 0 else fail()

        return quick

    def _quick_numbers(self) -> Act:
        write, any_act, act = self._observations.writers[0][1], self._act, library.mmr_act_continuous
        handle, memory, numbers = self._handle, self._observations.memory[0], self._actions.numbers
        values, count = ctypes.c_void_p(memory.ctypes.data), ctypes.c_uint64(memory.size)
        room, width = ctypes.c_void_p(numbers.ctypes.data), ctypes.c_uint64(numbers.size)
        read = self._actions.readers[0]

        def quick(observation: Any, mask: Any = None) -> Any:
            if mask is not None:
                return any_act(observation, mask)
            write(observation)
            return read() if act(handle, values, count, room, width) >= 0 else fail()

        return quick

    def act(self, observation: Any, mask: Any = None) -> Any:
        """The action for what the agent sees now, as the action space has it (a Discrete: an int).

        `mask`: nonzero for what may be done, one entry for each choice of each discrete variable
        (or a tuple of such, as Gymnasium's `sample` takes them); without one, "action_mask" of an
        observation that is a Dict with it. Observations that are not finite cost the trajectory.
        Waits only for the paces that ask for it.
        """
        return self._act(observation, mask)

    def _act(self, observation: Any, mask: Any) -> Any:
        self._observations.write(observation)
        seen = self._seen_masked if self._observations.write_mask(observation, mask) else self._seen
        if library.mmr_act_any(self._handle, seen, self._done) < 0:
            fail()
        return self._actions.read()

    def reward(self, reward: float) -> None:
        """Adds to the reward of the last action; after an end: ignored."""
        self._quick_reward()(reward)

    def end(self, terminated: bool, final_observation: Any = None, *, success: bool | None = None) -> None:
        """The episode is over: terminated, or (False) truncated by a time limit, which needs the
        observation life would have gone on from."""
        said = c.NOT_SAID if success is None else c.SUCCESS if success else c.FAILURE
        if terminated:
            check(library.mmr_end_any(self._handle, c.TERMINATED, said, None))
            return
        if final_observation is None:
            raise InvalidArgument(
                "an episode that was truncated needs its final observation: end(terminated=False,"
                " final_observation=observation)"
            )
        self._observations.write(final_observation)
        check(library.mmr_end_any(self._handle, c.TRUNCATED, said, self._seen))

    def took(self, action: Any) -> None:
        """The game overrode the last action: what really happened. With supervised learning, the
        label."""
        self._actions.write(action)
        check(library.mmr_took_any(self._handle, self._done))

    def discard(self) -> None:
        """Forgets the unfinished episode (quick-load): it is not learned from."""
        check(library.mmr_discard(self._handle))

    def report(self, name: str, value: float) -> None:
        """A named number of this episode; several add up; at most 16 names."""
        check(library.mmr_report(self._handle, name.encode(), value))

    def mode(self, mode: Mode) -> None:
        """From the next episode on: "train", "evaluate" (greedy; returns are reported, nothing is
        learned from) or "silent" (greedy; nothing is reported)."""
        check(library.mmr_set_mode(self._handle, _place(mode, _MODES, "the mode")))

    def close(self) -> None:
        """Hands over what it recorded. A group's agent closes with its group."""
        handle, self._handle = self._handle, None
        self.act = self.reward = _closed  # type: ignore[method-assign]
        if handle is not None and not self._of_group:
            check(library.mmr_agent_close(handle))

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None and not self._of_group:
            library.mmr_agent_close(self._handle)


class Group:
    """`size` agents of one vectorized simulator, one batched pass for all. Used by one thread at a
    time. group[i] is agent i, for its reward, end and the rest."""

    def __init__(
        self, client: Client, observation_space: Any, action_space: Any, size: int, *, model: str = "default"
    ) -> None:
        self._handle: ctypes.c_void_p | None = None
        self.client, self.model = client, model
        seen, done = spaces_of(observation_space, action=False), spaces_of(action_space, action=True)
        self._observations = Observations(seen, done, size)
        self._actions = Actions(done, size)
        options = _options(CSpace(seen), CSpace(done), model)
        self._handle = made(library.mmr_group_new(client._handle, ctypes.byref(options), size))
        client._players.add(self)
        self._size = ctypes.c_uint64(size)
        self._agents = []
        for i in range(size):
            handle = made(library.mmr_group_agent(self._handle, i))
            self._agents.append(Agent(client, observation_space, action_space, model=model, _handle=handle))

    def act(self, observations: Any, masks: Any = None, playing: Any = None) -> Any:
        """Batched observations to batched actions, as a vectorized environment has them.

        `playing`: True for those who act now; the others keep their last action and record nothing
        (a vectorized environment that only resets them in this step).
        """
        self._observations.write(observations)
        masked = self._observations.write_mask(observations, masks)
        structs = self._observations.masked_structs if masked else self._observations.structs
        if playing is None or np.all(playing):
            check(library.mmr_group_act_any(self._handle, structs, self._actions.structs, self._size))
        else:
            for i in np.flatnonzero(playing).tolist():
                seen, done = ctypes.byref(structs[i]), ctypes.byref(self._actions.structs[i])
                check(library.mmr_act_any(self._agents[i]._handle, seen, done))
        return self._actions.read()

    def __getitem__(self, i: int) -> Agent:
        return self._agents[i]

    def __len__(self) -> int:
        return len(self._agents)

    def __iter__(self) -> Iterator[Agent]:
        return iter(self._agents)

    def close(self) -> None:
        """Its agents too: they hand over what they recorded."""
        handle, self._handle = self._handle, None
        for agent in self._agents:
            agent.close()
        if handle is not None:
            check(library.mmr_group_close(handle))

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            library.mmr_group_close(self._handle)

