"""A small game: a ball falls through the wind, and a paddle is to be below it where it lands. Any number of
these, each a process of its own, play around one learner, which learns one model from all of them:

    murmurate serve &
    python game.py red & python game.py green & python game.py blue &
"""

from __future__ import annotations

import sys

import murmurate
import numpy as np

WIDTH, HEIGHT, ROUNDS, SHOWN = 9, 9, 4000, 1000


class Game:
    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        self.reset()

    def reset(self) -> None:
        self.ball, self.paddle = self.chance.integers(0, WIDTH, 2)
        self.wind, self.row = self.chance.integers(-1, 2), 0

    def step(self, action: int) -> None:
        """The paddle moves to the left (0), not (1) or to the right (2)."""
        self.paddle = min(max(self.paddle + action - 1, 0), WIDTH - 1)
        self.ball = (self.ball + self.wind * (self.row % 2)) % WIDTH  # it blows in every second row
        self.row += 1

    def observation(self) -> np.ndarray:
        return np.array([self.ball / WIDTH, self.paddle / WIDTH, self.row / HEIGHT, self.wind], np.float32)

    def over(self) -> bool:
        return self.row == HEIGHT

    def caught(self) -> bool:
        return bool(self.over() and abs(self.ball - self.paddle) <= 1)


def caught_at_random(game: Game, rounds: int) -> float:
    caught = 0
    for _ in range(rounds):
        game.reset()
        while not game.over():
            game.step(int(game.chance.integers(3)))
        caught += game.caught()
    return caught / rounds


def main(name: str, address: str) -> None:
    game, caught = Game(seed=sum(name.encode())), 0
    random = caught_at_random(game, 2000)
    numbers, choice = murmurate.spaces.Box((4,)), murmurate.spaces.Discrete(3)
    with murmurate.Actor(address, observation_space=numbers, action_space=choice, name=name) as actor:
        for played in range(1, ROUNDS + 1):
            game.reset()
            while not game.over():
                game.step(actor.act(game.observation()))
                actor.reward(1.0 if game.caught() else 0.0)
            actor.end(terminated=True)
            caught += game.caught()
            if played % SHOWN == 0:
                print(f"{name}: {caught / SHOWN:.0%} of {SHOWN} balls caught; at random {random:.0%}", flush=True)
                caught = 0


if __name__ == "__main__":
    given = sys.argv[1:]
    main(given[0] if given else "game", given[1] if len(given) > 1 else murmurate.DEFAULT_ADDRESS)
