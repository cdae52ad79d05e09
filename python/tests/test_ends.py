"""A game in Python that is killed, suspended, forked or ends without a word harms nobody: beside it
there are a live learner and another client that plays on."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from learner import EXECUTABLE, SMALL, Learner, eventually

TCP = ("--set", 'server.listen=["tcp://127.0.0.1:*"]', "--set", "server.shm=off")
GAME = """
import os, sys, time
import numpy as np
import murmurate
from gymnasium.spaces import Box, Discrete
SEE, DO = Box(-1, 1, (4,), np.float32), Discrete(2)
class Game:
    def __init__(self, name, **options):
        self.client = murmurate.Client("ADDRESS", name=name, **options)
        self.agent = self.client.agent(SEE, DO)
    def play(self, steps):
        for _ in range(steps):
            self.agent.act(np.ones(4, np.float32))
            self.agent.reward(1.0)
            time.sleep(0.0002)
"""


class Room:
    """A learner, and "steady": another client, which plays for it all the while."""

    def __init__(self, learner: Learner, address: str) -> None:
        self.learner, self.address = learner, address
        self.games: list[subprocess.Popen[str]] = []
        self.steady = subprocess.Popen([EXECUTABLE, "actor", "cartpole", "--name", "steady", "--connect", address])
        self.games.append(self.steady)

    def start(self, program: str) -> subprocess.Popen[str]:
        text = GAME.replace("ADDRESS", self.address) + program
        game = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.games.append(game)
        return game

    def status(self) -> dict:
        environment = {**os.environ, "XDG_RUNTIME_DIR": str(self.learner.folder)}
        asked = [EXECUTABLE, "status", "--json"]
        ran = subprocess.run(asked, cwd=self.learner.folder, env=environment, capture_output=True, text=True)
        return json.loads(ran.stdout) if ran.stdout else {"models": [], "actors": []}

    def trajectories(self, name: str) -> int:
        return sum(actor["trajectories"] for actor in self.status()["actors"] if actor["name"] == name)

    def health(self, name: str) -> str:
        return next((actor["health"] for actor in self.status()["actors"] if actor["name"] == name), "unknown")

    def steps(self) -> int:
        return sum(model["steps"] for model in self.status()["models"])

    def expect_no_harm(self) -> None:
        steps, steady = self.steps(), self.trajectories("steady")
        assert eventually(lambda: self.steps() > steps + 1000 and self.trajectories("steady") > steady + 50)
        status = self.status()
        assert status["refusals"] == {}
        assert all(actor["refused"] == 0 for actor in status["actors"])
        assert " error " not in (self.learner.folder / "runs" / "run" / "log.txt").read_text()
        assert self.learner.stop() == 0, self.learner.output()
        assert self.steady.wait(10) == 0


@contextmanager
def room(*arguments: str) -> Iterator[Room]:
    with Learner(SMALL, *arguments) as learner:
        address = json.loads((learner.folder / "runs" / "run" / "address.json").read_text())["listen"][0]
        made = Room(learner, address)
        try:
            assert eventually(lambda: made.steps() > 0), learner.output()
            yield made
        finally:
            for game in made.games:
                if game.poll() is None:
                    game.send_signal(signal.SIGCONT)
                    game.kill()
                game.communicate()


def answer(game: subprocess.Popen[str], seconds: float = 30) -> str:
    """What it printed; it must have ended well."""
    said, wrong = game.communicate(timeout=seconds)
    assert game.returncode == 0, wrong
    return said


@pytest.mark.parametrize("arguments", [(), TCP], ids=["shared memory", "tcp"])
def test_games_killed_or_suspended_at_any_moment_harm_nobody(arguments: tuple[str, ...]) -> None:
    seed = int(os.environ.get("MURMURATE_SEED", time.time_ns() % 1_000_000))
    print(f"MURMURATE_SEED={seed}")
    chance = random.Random(seed)
    with room(*arguments) as here:
        for _ in range(3):
            games = [here.start(f"Game('victim{i}').play(10**9)") for i in range(3)]
            for game in games:
                time.sleep(chance.random() * 0.5)
                game.send_signal(signal.SIGSTOP)
                time.sleep(chance.random() * 0.1)
                game.send_signal(signal.SIGCONT)
                time.sleep(chance.random() * 0.3)
                game.kill()
        here.expect_no_harm()


def test_a_game_suspended_for_longer_than_its_session_is_back_in_it() -> None:
    program = """
game = Game("sleeper")
while True:
    game.play(50)
    stats = game.client.stats()
    print(stats.trajectories_sent, stats.version, flush=True)
"""
    with room() as here:
        game = here.start(program)
        assert game.stdout is not None
        assert eventually(lambda: here.trajectories("sleeper") > 5)
        game.send_signal(signal.SIGSTOP)
        stopped = time.monotonic()
        heard = here.trajectories("sleeper")
        assert eventually(lambda: time.monotonic() - stopped > 3.5)
        game.send_signal(signal.SIGCONT)
        lines = [[int(word) for word in game.stdout.readline().split()] for _ in range(200)]
        assert lines[-1][0] > lines[0][0] and lines[-1][1] > lines[0][1]
        assert eventually(lambda: here.trajectories("sleeper") > heard + 5)
        game.kill()
        here.expect_no_harm()


def test_a_forked_game_plays_on_and_its_children_leave_quietly() -> None:
    program = """
game = Game("forks")
game.play(200)
for round in range(12):
    child = os.fork()
    if child == 0:
        try:
            game.agent.act(np.ones(4, np.float32))
            os._exit(1)
        except murmurate.Forked as error:
            if "connect anew" not in str(error): os._exit(2)
        if round % 4 == 0: os._exit(0)
        if round % 4 == 1: sys.exit(0)
        if round % 4 == 2: os.execvp("true", ["true"])
        own = Game("child")
        own.play(50)
        own.client.close()
        os._exit(0)
    began = time.monotonic()
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0): game.play(10)
    assert ended[1] == 0, (round, ended)
    assert time.monotonic() - began < 5, round
sent = game.client.stats().trajectories_sent
while game.client.stats().trajectories_sent < sent + 5: game.play(10)
print(game.client.stats().reconnects)
"""
    with room() as here:
        assert answer(here.start(program)) == "0\n"
        here.expect_no_harm()


def test_a_fork_inside_an_actor_s_run_leaves_the_actor_alone() -> None:
    """As an environment does that starts worker processes; one of them gets the Ctrl+C."""
    program = """
import gymnasium as gym, signal
class Forks(gym.Env):
    observation_space, action_space, child = SEE, DO, None
    def reset(self, seed=None, options=None):
        if self.child is None:
            self.child = os.fork()
            if self.child == 0:
                try:
                    time.sleep(30)
                except KeyboardInterrupt:
                    sys.exit(0)
            time.sleep(0.1)
            os.kill(self.child, signal.SIGINT)
        return np.ones(4, np.float32), {}
    def step(self, action):
        time.sleep(0.0002)
        return np.ones(4, np.float32), 1.0, np.random.random() < 0.05, False, {}
env = Forks()
with murmurate.Actor("ADDRESS", env=env, name="forks") as actor:
    actor.run(steps=2000)
    assert os.waitpid(env.child, 0)[1] == 0
    sent = actor.stats().trajectories_sent
    actor.run(steps=5000)
    assert actor.stats().trajectories_sent > sent + 5
"""
    with room() as here:
        answer(here.start(program.replace("ADDRESS", here.address)))
        here.expect_no_harm()


@pytest.mark.parametrize("end", ["", "sys.exit(0)", "os._exit(0)", "os.execvp('true', ['true'])"])
def test_a_game_that_ends_without_a_word_ends_at_once(end: str) -> None:
    with room() as here:
        game = here.start(f"game = Game('brief'); game.play(300); print(time.monotonic(), flush=True); {end}")
        began = float(answer(game))
        assert time.monotonic() - began < 2.5
        assert eventually(lambda: here.health("brief") in ("gone", "stalled"))
        here.expect_no_harm()


def test_ctrl_c_comes_through_while_act_waits_and_the_loop_may_go_on() -> None:
    """The learner is stopped: `act` waits for credit, for three seconds, before it plays on alone."""
    program = """
game = Game("waits", pace="credit", without_policy="wait")
print("began", flush=True)
while True:
    try:
        game.play(50)
    except KeyboardInterrupt:
        print(time.monotonic(), flush=True)
        break
sent = game.client.stats().trajectories_sent
while game.client.stats().trajectories_sent < sent + 5: game.play(10)
"""
    with room() as here:
        game = here.start(program)
        assert game.stdout is not None and game.stdout.readline() == "began\n"
        assert eventually(lambda: here.trajectories("waits") > 5)
        here.learner.process.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        sent_at = time.monotonic()
        game.send_signal(signal.SIGINT)
        heard_at = float(game.stdout.readline())
        print(f"Ctrl+C took {heard_at - sent_at:.3f} s")
        here.learner.process.send_signal(signal.SIGCONT)
        assert heard_at - sent_at < 0.5
        answer(game)
        here.expect_no_harm()
