"""Processes of their own, started by anybody, learn with `murmurate serve` to the end; and what kills
or stops them never harms it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from learner import Learner, eventually

README = Path(__file__).parents[1] / "README.md"


def block(language: str, place: int = 0) -> str:
    """Of the README: what users copy is what is tested."""
    parts = README.read_text().split(f"```{language}\n")[1:]
    return parts[place].split("```")[0]


def start(program: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", program], text=True)


def end(processes: list[subprocess.Popen[str]], seconds: float) -> list[int]:
    until = time.monotonic() + seconds
    try:
        return [process.wait(max(0.1, until - time.monotonic())) for process in processes]
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()


def test_the_readme_s_four_processes_solve_cartpole_within_200_000_steps() -> None:
    config, program = block("toml"), block("python")
    assert 'listen = ["tcp://127.0.0.1:7420"]' in config and "tcp://127.0.0.1:7420" in program
    with Learner(config, "--set", "run.stop_at_return=475", "--steps", "200_000") as learner:
        actors = [start(program.replace("tcp://127.0.0.1:7420", learner.address)) for _ in range(4)]
        assert end(actors, 100) == [0, 0, 0, 0]
        assert learner.process.wait(20) == 0, learner.output()  # 1: the budget was spent without it
        assert "the run reached stop_at_return" in learner.output()
        assert learner.steps() <= 200_000


PENDULUM = """
import gymnasium as gym, murmurate
env = gym.make_vec("Pendulum-v1", num_envs=2, vectorization_mode="sync")
with murmurate.Actor("ADDRESS", env=env) as actor:
    actor.run()
    actor.save("FILE")
"""


def test_pendulum_reaches_minus_250_from_vectorized_processes(tmp_path: Path) -> None:
    import gymnasium as gym

    import murmurate

    with Learner(example="pendulum") as learner:
        program = PENDULUM.replace("ADDRESS", learner.address)
        actors = [start(program.replace("FILE", str(tmp_path / f"{i}.policy"))) for i in range(4)]
        assert end(actors, 100) == [0, 0, 0, 0]
        assert learner.process.wait(20) == 0, learner.output()
    scored = murmurate.evaluate(tmp_path / "0.policy", gym.make("Pendulum-v1"), episodes=100, seed=1)
    print(f"pendulum: {scored}")
    assert scored.mean_return >= -250


@pytest.mark.skipif("MURMURATE_LONG" not in os.environ, reason="set MURMURATE_LONG: minutes")
def test_pendulum_is_learned_in_every_one_of_five_runs(tmp_path: Path) -> None:
    import gymnasium as gym

    import murmurate

    for seed in range(5):
        file = tmp_path / f"{seed}.policy"
        with Learner("", "--seed", str(seed), example="pendulum") as learner:
            program = PENDULUM.replace("ADDRESS", learner.address).replace("FILE", str(file))
            assert end([start(program) for _ in range(4)], 100) == [0, 0, 0, 0]
            assert learner.process.wait(20) == 0, learner.output()
            first = next(steps for steps, mean in learner.course("rollout/ep_rew_mean") if mean >= -250)
        scored = murmurate.evaluate(file, gym.make("Pendulum-v1"), episodes=100, seed=1)
        print(f"pendulum, seed {seed}: -250 after {first:.0f} steps; {scored}")
        assert scored.mean_return >= -250


ENDLESS = """
import gymnasium as gym, murmurate
with murmurate.Actor("ADDRESS", env=gym.make("CartPole-v1"), name="NAME") as actor:
    actor.run()
"""


def test_actors_that_are_killed_or_suspended_never_harm_the_learner() -> None:
    config = "[run]\nlog_interval_s = 0.05\n[algorithm]\nbatch_steps = 512\n"
    with Learner(config) as learner:
        program = ENDLESS.replace("ADDRESS", learner.address)
        actors = [start(program.replace("NAME", f"a{i}")) for i in range(3)]
        try:
            for i in range(3):
                assert eventually(lambda: f"actor a{i} joined" in learner.output())
            assert eventually(lambda: learner.steps() > 2000)
            actors[0].kill()
            actors[1].send_signal(signal.SIGSTOP)
            then = learner.steps()
            assert eventually(lambda: learner.steps() > then + 5000), learner.output()
            actors[1].send_signal(signal.SIGCONT)
            actors.append(start(program.replace("NAME", "a3")))
            assert eventually(lambda: "actor a3 joined" in learner.output())
            then = learner.steps()
            assert eventually(lambda: learner.steps() > then + 5000), learner.output()
            assert learner.stop() == 0, learner.output()
            assert end(actors[1:], 30) == [0, 0, 0]
        finally:
            for actor in actors:
                if actor.poll() is None:
                    actor.kill()
                actor.wait()


@pytest.mark.skipif("MURMURATE_LONG" not in os.environ, reason="set MURMURATE_LONG: minutes")
def test_cartpole_is_solved_by_every_one_of_ten_runs() -> None:
    config, program = block("toml"), block("python")
    steps = []
    for seed in range(10):
        with Learner(config, "--set", "run.stop_at_return=475", "--steps", "200_000", "--seed", str(seed)) as learner:
            actors = [start(program.replace("tcp://127.0.0.1:7420", learner.address)) for _ in range(4)]
            end(actors, 100)
            assert learner.process.wait(20) == 0, learner.output()
            steps.append(int(learner.steps()))
    print(f"cartpole: {steps}")
