"""Writes what Gymnasium's CartPole-v1 does, for tests/client/cartpole_test.cc.

    python scripts/make_gymnasium_fixtures.py tests/fixtures

One line a step: the action, the state after it (x, its speed, the angle, its speed), the reward, and
whether the episode terminated. A line `start` gives the state an episode begins with.
"""

import pathlib
import sys

import gymnasium
import numpy

FILE = pathlib.Path(sys.argv[1]) / "gymnasium_cartpole.txt"


def numbers(state):
    return " ".join(repr(float(x)) for x in state)


random = numpy.random.default_rng(7)
environment = gymnasium.make("CartPole-v1").unwrapped
lines = [f"# CartPole-v1 of gymnasium {gymnasium.__version__}"]
for episode in range(6):
    environment.reset(seed=episode)
    if episode >= 4:  # near either end of the track, on its way out
        side = 1 if episode == 4 else -1
        environment.state = numpy.array([2.3, 0.9, 0.05, -0.4]) * side
    lines.append("start " + numbers(environment.state))
    for step in range(60):
        # Pushes towards upright, now and then at random; every second episode only at random.
        angle, speed = environment.state[2], environment.state[3]
        action = int(angle + 0.3 * speed > 0) if random.random() < 0.8 * (episode % 2) else int(random.integers(2))
        _, reward, terminated, _, _ = environment.step(action)
        lines.append(f"{action} {numbers(environment.state)} {reward!r} {int(terminated)}")
        if terminated:
            break
FILE.write_text("\n".join(lines) + "\n")
