"""What a step costs from Python, beside what nothing costs: ours, the limit, the ratio.

    python bench/act.py [POLICY_FILE]           (default: a policy that a learner makes now; needs murmurate)

act           Agent.act on a 4-64-64-2 policy, and an empty ctypes call measured in the same run
CartPole      steps/s of Gymnasium's CartPole-v1 with an Actor, and of the same loop with random actions:
              pairs of runs in turn, medians
vectorized    the same of 4, 16 and 64 CartPoles in one SyncVectorEnv
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import murmurate
from murmurate._library import library

BATCH, BATCHES = 2_000, 200
STEPS, PAIRS = 20_000, 15
SIZES = 4, 16, 64
CONFIG = """
[model]
layers = [64, 64]
normalize_observation = false
[algorithm]
trajectory_length = 8
batch_steps = 64
minibatch = 64
epochs = 1
"""


def make_policy(folder: str) -> str:
    """64-64, hardly trained: its episodes are as short as random ones."""
    address, path = f"ipc://{folder}/l", f"{folder}/policy"
    Path(folder, "c.toml").write_text(CONFIG)
    learner = subprocess.Popen(
        [os.environ.get("MURMURATE_EXECUTABLE", "murmurate"), "--quiet", "serve", "c.toml",
         "--set", f'server.listen=["{address}"]'],
        cwd=folder, env={**os.environ, "XDG_RUNTIME_DIR": folder},
    )  # fmt: skip
    try:
        with murmurate.Actor(address, env=gym.make("CartPole-v1")) as actor:
            actor.run(steps=100)
            actor.save(path)
    finally:
        learner.terminate()
        learner.wait()
    return path


def fastest_us(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Microseconds a call of each, the best batch of many taken in turn."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(BATCHES):
        for name, call in calls.items():
            began = time.perf_counter()
            for _ in range(BATCH):
                call()
            best[name] = min(best[name], (time.perf_counter() - began) / BATCH * 1e6)
    return best


def bench_act(policy: str) -> None:
    client = murmurate.Client(policy=policy)
    env = gym.make("CartPole-v1")
    agent = client.agent(env.observation_space, env.action_space)
    see = np.array([0.1, -0.2, 0.03, 0.4], np.float32)
    act, reward, empty = agent.act, agent.reward, library.mmr_abi_version
    best = fastest_us({"empty": lambda: empty(), "act": lambda: act(see), "reward": lambda: reward(1.0)})
    for name in ("act", "reward"):
        ratio = best[name] / best["empty"]
        print(f"{name:8s} {best[name]:.3f} us; an empty ctypes call {best['empty']:.3f} us; {ratio:.1f} of them")
    client.close()


def random_rate(env: Any) -> float:
    sample, step = env.action_space.sample, env.step
    began = time.perf_counter()
    env.reset()
    for _ in range(STEPS):
        _, _, terminated, truncated, _ = step(sample())
        if terminated or truncated:
            env.reset()
    return STEPS / (time.perf_counter() - began)


def actor_rate(actor: murmurate.Actor) -> float:
    began = time.perf_counter()
    actor.run(steps=STEPS)
    return STEPS / (time.perf_counter() - began)


def by_hand_rate(actor: murmurate.Actor, env: Any) -> float:
    act, reward, step = actor.agent.act, actor.agent.reward, env.step
    began = time.perf_counter()
    observation, _ = env.reset()
    for _ in range(STEPS):
        observation, gained, terminated, truncated, _ = step(act(observation))
        reward(gained)
        if terminated or truncated:
            actor.end(terminated, observation)
            observation, _ = env.reset()
    actor.discard()
    return STEPS / (time.perf_counter() - began)


def bench_cartpole(policy: str) -> None:
    env = gym.make("CartPole-v1")
    with murmurate.Actor(policy=policy, env=env) as actor:
        rates = [(random_rate(env), actor_rate(actor), by_hand_rate(actor, env)) for _ in range(PAIRS)]
    alone = statistics.median(pair[0] for pair in rates)
    for name, place in (("run()", 1), ("loop", 2)):
        ours = statistics.median(pair[place] for pair in rates)
        ratio = statistics.median(pair[place] / pair[0] for pair in rates)
        print(f"CartPole {name:6s} {ours:,.0f} steps/s; with random actions {alone:,.0f}; {100 * ratio:.0f} %")


def random_vector_rate(env: Any, steps: int) -> float:
    sample, step = env.action_space.sample, env.step
    began = time.perf_counter()
    env.reset()
    for _ in range(steps // env.num_envs):
        step(sample())
    return steps / (time.perf_counter() - began)


def bench_vector(policy: str) -> None:
    for size in SIZES:
        env, steps = gym.make_vec("CartPole-v1", num_envs=size, vectorization_mode="sync"), STEPS * 2
        with murmurate.Actor(policy=policy, env=env) as actor:
            rates = []
            for _ in range(PAIRS):
                alone = random_vector_rate(env, steps)
                began = time.perf_counter()
                played = actor.run(steps=steps)
                rates.append((alone, played.steps / (time.perf_counter() - began)))
        alone, ours = (statistics.median(pair[place] for pair in rates) for place in (0, 1))
        ratio = statistics.median(pair[1] / pair[0] for pair in rates)
        print(f"{size} CartPoles {ours:,.0f} steps/s; with random actions {alone:,.0f}; {100 * ratio:.0f} %")


def bench(policy: str) -> None:
    bench_act(policy)
    bench_cartpole(policy)
    bench_vector(policy)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        bench(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory(prefix="mmr-") as where:
            bench(make_policy(where))
