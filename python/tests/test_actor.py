"""What a researcher meets: no learner, Ctrl+C, a policy file, errors, forks."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import murmurate
from learner import Learner, eventually

NUMBERS = gym.spaces.Box(-1, 1, (4,), np.float32)
CHOICE = gym.spaces.Discrete(2)
STORY = """
import gymnasium as gym, murmurate
env = gym.make("CartPole-v1")
with murmurate.Actor("ADDRESS", env=env) as actor:
    actor.run(steps=500)
"""


def start(program: str, folder: Path) -> tuple[subprocess.Popen[bytes], Path]:
    said = folder / "said"
    with open(said, "w") as output:
        return subprocess.Popen([sys.executable, "-c", program], stderr=output), said


def test_without_a_learner_one_line_says_so_after_three_seconds_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    address = f"ipc://{tmp_path}/nobody"
    began = time.monotonic()
    process, said = start(STORY.replace("ADDRESS", address), tmp_path)
    try:
        assert eventually(lambda: said.read_text(), 20)
        assert time.monotonic() - began >= 3
        line = f"no learner answers at {address}; start one with `murmurate serve` (waiting for it)\n"
        assert said.read_text() == line
        process.send_signal(signal.SIGINT)
        assert process.wait(10) != 0
        assert said.read_text().rstrip().endswith("KeyboardInterrupt")
    finally:
        process.kill()
        process.wait()


def test_an_actor_waits_for_its_learner_and_then_plays(tmp_path: Path) -> None:
    with Learner() as learner:
        pass  # its address is free again
    process, said = start(STORY.replace("ADDRESS", learner.address), tmp_path)
    learner.folder.mkdir()
    try:
        assert eventually(lambda: said.read_text(), 20)
        later = subprocess.Popen(
            [os.environ["MURMURATE_EXECUTABLE"], "serve", "--set", f'server.listen=["{learner.address}"]'],
            cwd=learner.folder, stdout=subprocess.DEVNULL, env={**os.environ, "XDG_RUNTIME_DIR": str(learner.folder)},
        )  # fmt: skip
        try:
            assert process.wait(30) == 0, said.read_text()
        finally:
            later.terminate()
            later.wait()
        assert len(said.read_text().splitlines()) == 1
    finally:
        process.kill()
        process.wait()


def test_ctrl_c_ends_a_wait_for_credit(tmp_path: Path) -> None:
    """In lock-step an actor that is stopped holds its half of the batch back: the other one waits
    for the version that is to be trained on it, until the stopped one is given up."""
    config = "[algorithm]\ntrajectory_length = 8\nbatch_steps = 64\nminibatch = 64\nmax_batch_s = 1000\n"
    program = STORY.replace("steps=500", "").replace("env=env", "env=env, pace='lockstep'")
    with Learner(config) as learner:
        made = [start(program.replace("ADDRESS", learner.address), make(tmp_path, name)) for name in ("one", "other")]
        (stopped, _), (waiting, said) = made
        try:
            assert eventually(lambda: learner.output().count("joined") == 2)
            stopped.send_signal(signal.SIGSTOP)
            time.sleep(0.5)
            waiting.send_signal(signal.SIGINT)
            assert waiting.wait(2) != 0
            assert said.read_text().rstrip().endswith("KeyboardInterrupt")
        finally:
            for process, _ in made:
                process.kill()
                process.wait()


def make(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


def test_a_ctrl_c_that_ended_a_run_ends_no_more_than_that() -> None:
    """The watch comes to see it only when the run is over."""

    class Interrupting(gym.Env[np.ndarray, int]):
        observation_space, action_space = NUMBERS, CHOICE

        def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> object:
            return np.zeros(4, np.float32), {}

        def step(self, action: int) -> object:
            os.kill(os.getpid(), signal.SIGINT)
            return np.zeros(4, np.float32), 0.0, False, False, {}

    with murmurate.Actor("ipc:///nowhere/at-all", env=Interrupting(), pace="never", without_policy="random") as actor:
        interval = sys.getswitchinterval()
        sys.setswitchinterval(100)  # no other thread runs until this one waits
        try:
            with pytest.raises(KeyboardInterrupt):
                actor.run(steps=10)
        finally:
            sys.setswitchinterval(interval)
        time.sleep(1.5)
        assert actor.state().state == "no learner"


def test_a_learner_that_ends_sends_its_actors_home() -> None:
    with Learner() as learner:
        with murmurate.Actor(learner.address, env=gym.make("CartPole-v1")) as actor:
            assert actor.run(steps=100).steps == 100
            learner.process.send_signal(signal.SIGTERM)
            assert actor.run().steps > 0  # returns
            assert actor.state().should_stop


def test_a_learner_that_dies_is_missed_after_the_patience_given() -> None:
    with Learner() as learner:
        with murmurate.Actor(learner.address, env=gym.make("CartPole-v1")) as actor:
            actor.run(steps=100)
            learner.process.kill()
            with pytest.raises(murmurate.LearnerGone, match="has been gone for 0.5 s"):
                actor.run(patience_s=0.5)


class Slow(gym.Env[np.ndarray, int]):
    """One episode that never ends; `pause` is called in each step."""

    observation_space, action_space = NUMBERS, CHOICE

    def __init__(self, pause: Callable[[], object]) -> None:
        self._pause = pause

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> object:
        return np.zeros(4, np.float32), {}

    def step(self, action: int) -> object:
        self._pause()
        return np.zeros(4, np.float32), 0.0, False, False, {}


def test_patience_counts_absence_and_not_the_time_between_two_questions() -> None:
    with Learner() as learner:
        pauses: list[float] = []

        def pause() -> None:
            pauses.append(time.monotonic())
            if len(pauses) == 3:
                time.sleep(1.5)  # it answers all that time
                learner.process.kill()
                assert eventually(lambda: not actor.state().in_session)

        with murmurate.Actor(learner.address, env=Slow(pause)) as actor:
            actor.run(steps=1)
            assert actor.run(steps=3, patience_s=1.0).steps == 3
            with pytest.raises(murmurate.LearnerGone):
                actor.run(patience_s=1.0)


def test_a_slow_environment_hears_the_goodbye_at_its_next_step() -> None:
    with Learner() as learner:
        pauses: list[int] = []

        def pause() -> None:
            pauses.append(0)
            if len(pauses) == 3:
                learner.stop()
                assert eventually(lambda: actor.state().should_stop)

        with murmurate.Actor(learner.address, env=Slow(pause)) as actor:
            assert actor.run(steps=100).steps == 3


def test_spaces_that_a_learner_does_not_have_are_refused_in_its_words() -> None:
    with Learner() as learner:
        with murmurate.Actor(learner.address, env=gym.make("CartPole-v1")) as actor:
            actor.run(steps=10)
            with murmurate.Actor(learner.address, env=gym.make("Acrobot-v1")) as other:
                with pytest.raises(murmurate.Refused, match="float32 4"):
                    other.run(steps=10)


def test_a_saved_policy_plays_without_a_learner_and_is_scored(policy_file: Path) -> None:
    env = gym.make("CartPole-v1")
    one, other = (murmurate.evaluate(policy_file, env, episodes=5, seed=3) for _ in range(2))
    assert one == other and one.episodes == 5 and one.steps == sum(one.lengths) > 0
    with murmurate.Policy(policy_file) as policy, murmurate.Policy(policy_file.read_bytes(), env=env) as same:
        for _ in range(20):
            seen = env.observation_space.sample()
            assert policy.act(seen) == same.act(seen)
    with murmurate.Policy(policy_file, deterministic=False) as drawing:
        assert {drawing.act(np.zeros(4, np.float32)) for _ in range(200)} == {0, 1}
    with murmurate.Actor(policy=policy_file, env=env) as actor:
        assert actor.run(episodes=2).episodes == 2
    with murmurate.Actor(policy=policy_file) as actor:
        assert actor.act(np.zeros(4, np.float32)) in (0, 1)


def test_what_is_no_policy_is_said(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_bytes(b"no policy at all")
    with pytest.raises(murmurate.InvalidData, match="murmurate export"):
        murmurate.Policy(wrong)
    with pytest.raises(murmurate.InvalidData):
        murmurate.evaluate(wrong, gym.make("CartPole-v1"))
    with pytest.raises(FileNotFoundError):
        murmurate.Policy(tmp_path / "missing")


def test_a_default_action_is_played_until_there_are_weights() -> None:
    with murmurate.Client("ipc:///nowhere/at-all", without_policy="default") as client:
        agent = client.agent(NUMBERS, gym.spaces.Discrete(3, start=4), default_action=6)
        assert {agent.act(np.zeros(4)) for _ in range(20)} == {6}


def test_arguments_that_make_no_sense_are_refused_in_one_sentence() -> None:
    for given, words in (
        ({"pace": "fast"}, "one of never, credit, lockstep"),
        ({"without_policy": "sleep"}, "one of random, default, wait"),
        ({"name": "white space"}, "A-Z a-z 0-9"),
        ({"address": "http://somewhere"}, "tcp"),
    ):
        with pytest.raises(murmurate.InvalidArgument, match=words):
            murmurate.Client(**{"address": "ipc:///nowhere/at-all", **given})
    with pytest.raises(murmurate.InvalidArgument, match="needs env="):
        murmurate.Actor()


def test_without_an_environment_there_is_nothing_to_run_or_to_evaluate() -> None:
    with murmurate.Actor("ipc:///nowhere/at-all", observation_space=NUMBERS, action_space=CHOICE) as actor:
        for play in (actor.run, actor.evaluate):
            with pytest.raises(murmurate.InvalidArgument, match=r"give Actor\(env=...\), or loop over act yourself"):
                play()


def test_what_is_closed_says_so() -> None:
    client = murmurate.Client("ipc:///nowhere/at-all")
    agent = client.agent(NUMBERS, CHOICE)
    client.close()
    client.close()
    with pytest.raises(murmurate.Closed, match="closed"):
        agent.act(np.zeros(4))
    for call in (lambda: agent.reward(1.0), agent.discard, client.state):
        with pytest.raises(murmurate.Closed):
            call()


def test_a_forked_child_is_told_to_connect_anew_and_its_parent_plays_on() -> None:
    with murmurate.Client("ipc:///nowhere/at-all") as client:
        agent = client.agent(NUMBERS, CHOICE)
        agent.act(np.zeros(4))
        child = os.fork()
        if child == 0:
            code = 1
            try:
                agent.act(np.zeros(4))
            except murmurate.Forked:
                client.close()
                with murmurate.Client("ipc:///nowhere/at-all") as own:
                    code = 0 if own.agent(NUMBERS, CHOICE).act(np.zeros(4)) in (0, 1) else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert agent.act(np.zeros(4)) in (0, 1)


def test_numbers_that_are_not_finite_cost_a_trajectory_and_are_told(caplog: pytest.LogCaptureFixture) -> None:
    with Learner() as learner:
        with murmurate.Actor(learner.address, env=gym.make("CartPole-v1")) as actor:
            actor.run(steps=20)
            actor.act(np.full(4, np.nan, np.float32))
            with caplog.at_level(logging.INFO, "murmurate"):
                assert actor.stats().trajectories_dropped >= 1
                assert eventually(lambda: actor.stats() and "not finite" in caplog.text, 5)


def test_rewards_may_be_any_number() -> None:
    with murmurate.Client("ipc:///nowhere/at-all") as client:
        agent = client.agent(NUMBERS, CHOICE)
        agent.act(np.zeros(4))
        for reward in (1, 1.5, True, np.float32(0.5), np.float64(2), np.int64(3), np.array(1.0)):
            agent.reward(reward)
        agent.end(True)


def test_manual_updates_are_taken_up_when_asked() -> None:
    with Learner() as learner:
        with murmurate.Client(learner.address, updates="manual") as client:
            agent = client.agent(NUMBERS, CHOICE)
            assert agent.act(np.zeros(4)) in (0, 1)
            assert eventually(lambda: client.update() == 1)
            assert eventually(lambda: client.state().state == "live")


def test_the_library_is_found_where_the_system_keeps_libraries(tmp_path: Path) -> None:
    package = Path(murmurate.__file__).parent
    shutil.copytree(package, tmp_path / "murmurate", ignore=shutil.ignore_patterns("*.so*", "__pycache__"))
    found = str(Path(murmurate.library_path).parent)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "LD_LIBRARY_PATH": found}
    environment.pop("MURMURATE_LIBRARY", None)
    say = [sys.executable, "-c", "import murmurate; print(murmurate.__file__, murmurate.library_path)"]
    ran = subprocess.run(say, env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [str(tmp_path / "murmurate" / "__init__.py"), "libmurmurate.so.1"]
    environment.pop("LD_LIBRARY_PATH")
    ran = subprocess.run(say, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0 or "pip install ./python" in ran.stderr.splitlines()[-1]


def test_a_library_that_is_another_one_is_refused_at_import() -> None:
    environment = {**os.environ, "MURMURATE_LIBRARY": "libc.so.6"}
    ran = subprocess.run([sys.executable, "-c", "import murmurate"], env=environment, capture_output=True, text=True)
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1].startswith("ImportError: murmurate: libc.so.6 is another")
    environment["MURMURATE_LIBRARY"] = "/nowhere/libmurmurate.so.1"
    ran = subprocess.run([sys.executable, "-c", "import murmurate"], env=environment, capture_output=True, text=True)
    assert "install the package again" in ran.stderr.splitlines()[-1]
