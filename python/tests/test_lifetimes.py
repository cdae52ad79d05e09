"""Whatever a program keeps, forgets or closes, in whatever order: C frees nothing that can still be
called, and nothing stays open that nobody holds."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import murmurate
from learner import Learner, eventually

NUMBERS = gym.spaces.Box(-1, 1, (4,), np.float32)
CHOICE = gym.spaces.Discrete(2)
BEGIN = """
import gc, threading, time, gymnasium as gym, numpy as np, murmurate
numbers, choice = gym.spaces.Box(-1, 1, (4,), np.float32), gym.spaces.Discrete(2)
see = np.zeros(4, np.float32)
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, which may crash; with freed memory overwritten."""
    return subprocess.run(
        [sys.executable, "-c", BEGIN + program], capture_output=True, text=True, timeout=30,
        env={**os.environ, "MALLOC_PERTURB_": "165"},
    )  # fmt: skip


@pytest.mark.parametrize(
    "kept",
    [
        "agent = client.group(numbers, choice, 3)[1]; act, reward = agent.act, agent.reward",
        "reward = client.agent(numbers, choice).reward; act = lambda seen: 0",
        "agents = list(client.group(numbers, choice, 3)); act, reward = agents[2].act, agents[2].reward",
    ],
)
def test_what_is_kept_of_an_agent_or_a_group_keeps_it(kept: str) -> None:
    ran = run(
        f"client = murmurate.Client('ipc:///nowhere/at-all'); {kept}; del client\n"
        "gc.collect()\n"
        "for _ in range(100):\n"
        "    assert act(see) in (0, 1)\n"
        "    reward(1.0)\n"
    )
    assert ran.returncode == 0, ran.stderr


def test_functions_kept_of_what_was_closed_say_so() -> None:
    client = murmurate.Client("ipc:///nowhere/at-all")
    agent, group = client.agent(NUMBERS, CHOICE), client.group(NUMBERS, CHOICE, 2)
    see = np.zeros(4, np.float32)
    kept = [agent.act, group[0].act, group[1].act, lambda _: group.act([see, see]), lambda _: group.reward([1.0, 1.0])]
    reward = agent.reward
    client.close()
    for call in kept:
        with pytest.raises(murmurate.Closed, match="is closed: make another"):
            call(see)
    with pytest.raises(murmurate.Closed, match="the agent is closed: make another"):
        reward(1.0)


def test_a_closed_policy_and_a_closed_actor_play_no_more(policy_file: Path) -> None:
    see = np.zeros(4, np.float32)
    policy = murmurate.Policy(policy_file)
    assert policy.act(see) in (0, 1)
    actor = murmurate.Actor(policy=policy_file)
    assert actor.act(see) in (0, 1)  # and has it at hand from now on
    actor.reward(1.0)
    policy.close()
    actor.close()
    for call in (lambda: policy.act(see), lambda: actor.act(see), lambda: actor.reward(1.0)):
        with pytest.raises(murmurate.Closed, match="the agent is closed: make another"):
            call()


def threads() -> list[str]:
    """What the library calls its own."""
    names = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    return [name for name in names if name.startswith("mmr-")]


def test_what_nobody_holds_any_more_hangs_up() -> None:
    gc.collect()
    before = len(threads())
    with Learner() as learner:
        client = murmurate.Client(learner.address)
        agent = client.agent(NUMBERS, CHOICE)
        assert eventually(lambda: agent.client.state().state == "live")
        assert len(threads()) > before
        del client
        gc.collect()
        assert agent.act(np.zeros(4, np.float32)) in (0, 1) and len(threads()) > before
        del agent
        gc.collect()
        assert len(threads()) == before


def test_an_actor_that_nobody_holds_any_more_hangs_up() -> None:
    gc.collect()
    before = len(threads())
    with Learner() as learner:
        actor = murmurate.Actor(learner.address, env=gym.make("CartPole-v1"))
        actor.run(steps=20)
        del actor
        gc.collect()
        assert eventually(lambda: len(threads()) == before)


def test_a_process_ends_while_its_daemon_thread_waits_in_act() -> None:
    ran = run(
        "agent = murmurate.Client('ipc:///nowhere/at-all', without_policy='wait').agent(numbers, choice)\n"
        "threading.Thread(target=lambda: agent.act(see), daemon=True).start()\n"
        "time.sleep(0.5)\n"
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""


def test_a_process_ends_while_its_daemon_threads_play() -> None:
    ran = run(
        "client = murmurate.Client('ipc:///nowhere/at-all')\n"
        "agents = [client.agent(numbers, choice) for _ in range(3)]\n"
        "def play(agent):\n"
        "    try:\n"
        "        while True:\n"
        "            agent.act(see)\n"
        "    except murmurate.Closed:\n"
        "        pass\n"
        "for agent in agents: threading.Thread(target=play, args=(agent,), daemon=True).start()\n"
        "time.sleep(0.3)\n"
    )
    assert ran.returncode == 0, ran.stderr
