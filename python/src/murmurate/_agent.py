"""Agent and Group: players of a Client. No Gymnasium here."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _library as c
from ._buffers import Actions, Observations, array_of, number_of, shown
from ._errors import InvalidArgument
from ._library import Handle, check, library, made, patiently, sized
from ._spaces import CSpace, Spaces, spaces_of

if TYPE_CHECKING:
    from ._client import Client

Mode = Literal["train", "evaluate", "silent"]
_MODES = ("train", "evaluate", "silent")


def place_of(word: str, words: tuple[str, ...], name: str) -> int:
    """The number that C has for a word."""
    if word not in words:
        raise InvalidArgument(f"{name} is {word!r} where one of {', '.join(words)} was expected")
    return words.index(word)


def _options(
    observation: CSpace, action: CSpace, model: str, default: Actions | None = None, privileged: CSpace | None = None
) -> Any:
    options = sized(c.AgentOptions)
    options.observation = ctypes.pointer(observation.space)
    options.action = ctypes.pointer(action.space)
    options.model = model.encode()
    if default is not None:
        options.default_action = ctypes.pointer(default.structs[0])
    if privileged is not None:
        options.privileged = ctypes.pointer(privileged.space)
    return options


class Privileged:
    """What only the learner sees of one agent (`count` None) or a group."""

    def __init__(self, space: Any, done: Spaces, count: int | None) -> None:
        self._spaces = spaces_of(space, action=False)
        self._shown = Observations(self._spaces, done, count, "the privileged observation")
        self.c_space = CSpace(self._spaces)

    def write(self, value: Any) -> Any:
        """The structs, for C."""
        self._shown.write(value)
        return self._shown.structs

    @staticmethod
    def of(shown: Privileged | None) -> Privileged:
        if shown is None:
            raise InvalidArgument("this agent has no privileged observation: give privileged_space= where it is made")
        return shown


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
        privileged_space: Any = None,
        _handle: Handle | None = None,
    ) -> None:
        self.client, self.model = client, model
        seen, done = spaces_of(observation_space, action=False), spaces_of(action_space, action=True)
        self._observations = Observations(seen, done, None)
        self._actions = Actions(done, None)
        self._privileged = None if privileged_space is None else Privileged(privileged_space, done, None)
        if _handle is None:
            default = None
            if default_action is not None:
                default = Actions(done, None)
                default.write(default_action)
            learner_only = None if self._privileged is None else self._privileged.c_space
            options = _options(CSpace(seen), CSpace(done), model, default, learner_only)
            _handle = made(library.mmr_agent_new(client._handle, ctypes.byref(options)), library.mmr_agent_close)
            client._players.add(self)
        self._handle = _handle
        self._bind(seen, done)

    def _bind(self, seen: Spaces, done: Spaces) -> None:
        """What each step passes to C, made once."""
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

    # What `reward` does, and `act` with one box in, one choice or one box out: everything at hand, and
    # the handle held (by way of _act).

    def _quick_reward(self) -> Callable[[float], None]:
        handle, add = self._handle, library.mmr_reward
        pointer = handle.pointer

        def quick(reward: float) -> None:
            try:
                answer = add(pointer, reward)
            except (ctypes.ArgumentError, TypeError):  # an array of one number, or no number
                answer = add(pointer, number_of(reward, "the reward"))
            if answer < 0:
                handle.fail()  # and so holds it

        return quick

    def _quick_choice(self, start: int) -> Act:
        write, any_act, act = self._observations.writers[0][1], self._act, library.mmr_act
        handle, memory = self._handle.pointer, self._observations.memory[0]
        values, count = ctypes.c_void_p(memory.ctypes.data), ctypes.c_uint64(memory.size)

        def quick(observation: Any, mask: Any = None) -> Any:
            if mask is not None:
                return any_act(observation, mask)
            write(observation)
            choice = act(handle, values, count)
            return (choice if choice >= 0 else patiently(act, handle, values, count)) + start

        return quick

    def _quick_numbers(self) -> Act:
        write, any_act, act = self._observations.writers[0][1], self._act, library.mmr_act_continuous
        handle, memory, numbers = self._handle.pointer, self._observations.memory[0], self._actions.numbers
        values, count = ctypes.c_void_p(memory.ctypes.data), ctypes.c_uint64(memory.size)
        room, width = ctypes.c_void_p(numbers.ctypes.data), ctypes.c_uint64(numbers.size)
        read = self._actions.readers[0]

        def quick(observation: Any, mask: Any = None) -> Any:
            if mask is not None:
                return any_act(observation, mask)
            write(observation)
            if act(handle, values, count, room, width) < 0:
                patiently(act, handle, values, count, room, width)
            return read()

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
        patiently(library.mmr_act_any, self._handle, seen, self._done)
        return self._actions.read()

    def reward(self, reward: float) -> None:
        """Adds to the reward of the last action: a number, or an array of one; after an end: ignored."""
        self._quick_reward()(reward)

    def privileged(self, value: Any) -> None:
        """What only the learner's value network sees, in `privileged_space`: of the next `act`, or of an
        `end` that is truncated, and of those that follow until the next call; zeros before the first."""
        check(library.mmr_privileged_any(self._handle, Privileged.of(self._privileged).write(value)))

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

    def took(self, action: Any, log_prob: float | None = None) -> None:
        """The game overrode the last action: what really happened. With supervised learning, the
        label.

        `log_prob`: the log-probability with which the person or the script chose it (of numbers, the
        log of a density in the action space's units), where it is known; without, the policy's own
        is recorded.
        """
        self._actions.write(action)
        if log_prob is None:
            check(library.mmr_took_any(self._handle, self._done))
        else:
            said = number_of(log_prob, "the log_prob")
            check(library.mmr_took_any_log_prob(self._handle, self._done, said))

    def discard(self) -> None:
        """Forgets the unfinished episode (quick-load): it is not learned from."""
        check(library.mmr_discard(self._handle))

    def report(self, name: str, value: float) -> None:
        """A named number of this episode; several add up; at most 16 names."""
        check(library.mmr_report(self._handle, name.encode(), number_of(value, f"the report {name!r}")))

    def mode(self, mode: Mode) -> None:
        """From the next episode on: "train", "evaluate" (greedy; returns are reported, nothing is
        learned from) or "silent" (greedy; nothing is reported)."""
        check(library.mmr_set_mode(self._handle, place_of(mode, _MODES, "the mode")))

    def close(self) -> None:
        """Hands over what it recorded. A group's agent closes with its group."""
        self._handle.close()


class Group:
    """`size` agents of one vectorized simulator, one batched pass for all. Used by one thread at a
    time. group[i] is agent i, for its end and the rest."""

    def __init__(
        self,
        client: Client,
        observation_space: Any,
        action_space: Any,
        size: int,
        *,
        model: str = "default",
        privileged_space: Any = None,
    ) -> None:
        self.client, self.model = client, model
        seen, done = spaces_of(observation_space, action=False), spaces_of(action_space, action=True)
        self._observations = Observations(seen, done, size)
        self._actions = Actions(done, size)
        self._privileged = None if privileged_space is None else Privileged(privileged_space, done, size)
        learner_only = None if self._privileged is None else self._privileged.c_space
        options = _options(CSpace(seen), CSpace(done), model, privileged=learner_only)
        new = library.mmr_group_new(client._handle, ctypes.byref(options), size)
        self._handle = made(new, library.mmr_group_close)
        client._players.add(self)
        self._size = ctypes.c_uint64(size)
        self._playing = np.zeros(size, np.uint8)
        self._rewards = np.zeros(size)
        self._playing_at = ctypes.c_void_p(self._playing.ctypes.data)
        self._rewards_at = ctypes.c_void_p(self._rewards.ctypes.data)
        self._agents = []
        for i in range(size):
            handle = made(library.mmr_group_agent(self._handle, i), of=self._handle)
            agent = Agent(
                client, observation_space, action_space, model=model, privileged_space=privileged_space, _handle=handle
            )
            self._agents.append(agent)

    def act(self, observations: Any, masks: Any = None, playing: Any = None) -> Any:
        """Batched observations to batched actions, as a vectorized environment has them.

        `playing`: True for those who act now; the others keep their last action and record nothing
        (a vectorized environment that only resets them in this step).
        """
        self._observations.write(observations)
        masked = self._observations.write_mask(observations, masks)
        structs = self._observations.masked_structs if masked else self._observations.structs
        who = self._who(playing)
        patiently(library.mmr_group_act_playing, self._handle, structs, self._actions.structs, who, self._size)
        return self._actions.read()

    def privileged(self, values: Any, playing: Any = None) -> None:
        """Agent.privileged of each agent, or of those who are `playing`: batched, as observations are."""
        structs = Privileged.of(self._privileged).write(values)
        check(library.mmr_group_privileged(self._handle, structs, self._who(playing), self._size))

    def reward(self, rewards: Any, playing: Any = None) -> None:
        """Adds to the reward of each agent's last action: a number for each of them; those who are not
        `playing` get none."""
        given = array_of(rewards, "the reward")
        if given.size != len(self) or given.dtype.kind not in "fiub":
            raise InvalidArgument(
                f"the reward is {shown(rewards)} where a number for each of {len(self)} environments was expected"
            )
        self._rewards[...] = given.reshape(-1)  # also as a column of them
        check(library.mmr_group_reward(self._handle, self._rewards_at, self._who(playing), self._size))

    def _who(self, playing: Any) -> Any:
        if playing is None:
            return None
        self._playing[...] = playing
        return self._playing_at

    def __getitem__(self, i: int) -> Agent:
        return self._agents[i]

    def __len__(self) -> int:
        return len(self._agents)

    def __iter__(self) -> Iterator[Agent]:
        return iter(self._agents)

    def close(self) -> None:
        """Its agents too: they hand over what they recorded."""
        for agent in self._agents:
            agent.close()
        self._handle.close()

