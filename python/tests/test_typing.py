"""What users' programs are checked against."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import gymnasium as gym
import murmurate

env = gym.make("CartPole-v1")
with murmurate.Actor("tcp://127.0.0.1:7420", env=env) as actor:
    played: murmurate.Played = actor.run(steps=10, reports=("depth",))
    number: float = actor.setting("difficulty")
    state: str = actor.state().state
actor.run(stepz=10)
"""


def mypy(*arguments: str, folder: Path) -> list[str]:
    command = [sys.executable, "-m", "mypy", "--strict", *arguments]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    return [line for line in ran.stdout.splitlines() if ": error:" in line]


def test_the_package_is_typed_and_a_wrong_program_is_found(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    assert mypy("-p", "murmurate", folder=tmp_path) == []
    errors = mypy("program.py", folder=tmp_path)
    assert len(errors) == 1 and 'Unexpected keyword argument "stepz"' in errors[0], errors
