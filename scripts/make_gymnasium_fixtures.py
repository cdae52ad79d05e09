"""Writes what Gymnasium's games do, for tests/client/*_test.cc of the games named below.

    python scripts/make_gymnasium_fixtures.py tests/fixtures

One line a step: the action, the state after it (as the environment's `state` has it), the reward, and
whether the episode terminated. A line `start` gives the state an episode begins with.
"""

import pathlib
import sys

import gymnasium
import numpy

FOLDER = pathlib.Path(sys.argv[1])


def numbers(state):
    return " ".join(repr(float(x)) for x in state)


def write(name, file, episodes, steps, start, act):
    """`start(episode)`: a state, or None for Gymnasium's own. `act(episode, state)`: an action."""
    environment = gymnasium.make(name).unwrapped
    lines = [f"# {name} of gymnasium {gymnasium.__version__}"]
    for episode in range(episodes):
        environment.reset(seed=episode)
        given = start(episode)
        if given is not None:
            environment.state = numpy.array(given)
        lines.append("start " + numbers(environment.state))
        for step in range(steps):
            action = act(episode, environment.state)
            _, reward, terminated, _, _ = environment.step(action)
            shown = action if isinstance(action, int) else numbers(action)
            lines.append(f"{shown} {numbers(environment.state)} {float(reward)!r} {int(terminated)}")
            if terminated:
                break
    (FOLDER / file).write_text("\n".join(lines) + "\n")


random = numpy.random.default_rng(7)


def push_cart(episode, state):
    # Pushes towards upright, now and then at random; every second episode only at random.
    upright = int(state[2] + 0.3 * state[3] > 0)
    return upright if random.random() < 0.8 * (episode % 2) else int(random.integers(2))


def cart_start(episode):
    if episode < 4:
        return None
    side = 1 if episode == 4 else -1  # near either end of the track, on its way out
    return [side * x for x in [2.3, 0.9, 0.05, -0.4]]


def turn(episode, state):
    # With the motion, at random, and beyond the bounds. Sixteenths: exact in float32, as Gymnasium
    # computes with them, and in double.
    torque = 2.0 if state[1] > 0 else -2.0
    if episode % 3:
        torque = float(random.integers(-48, 49)) / 16
    return numpy.array([torque], dtype=numpy.float32)


def pendulum_start(episode):
    return {4: [3.1, 7.9], 5: [-9.3, -7.95]}.get(episode)  # at the speed limit, turned around


def push_car(episode, state):
    # With the motion: over the hill in good time. Against the left end of the track. At random.
    if episode % 3 == 0:
        return 2 if state[1] > 0 else 0
    return 0 if episode % 3 == 1 else int(random.integers(3))


def car_start(episode):
    return {1: [-1.1, -0.06], 2: [0.45, 0.065], 4: [-1.15, -0.03]}.get(episode)


def swing(episode, state):
    # With the motion of the first rod: up in good time. At random.
    if episode % 2 == 0:
        return 0 if state[2] > 0 else 2
    return int(random.integers(3))


def acrobot_start(episode):
    # At both speed limits; a turn that wraps.
    return {3: [0.1, -0.2, 12.5, 28.2], 4: [3.1, 3.1, 3.0, 3.0]}.get(episode)


def push_continuous_car(episode, state):
    # With the motion. Against the left end. At random, beyond the bounds too. Sixteenths, as above.
    force = 1.0 if state[1] > 0 else -1.0
    if episode % 3 == 1:
        force = -1.0
    elif episode % 3 == 2:
        force = float(random.integers(-24, 25)) / 16
    return numpy.array([force], dtype=numpy.float32)


write("CartPole-v1", "gymnasium_cartpole.txt", 6, 60, cart_start, push_cart)
write("Pendulum-v1", "gymnasium_pendulum.txt", 6, 60, pendulum_start, turn)
write("MountainCar-v0", "gymnasium_mountain_car.txt", 6, 110, car_start, push_car)
write("Acrobot-v1", "gymnasium_acrobot.txt", 5, 130, acrobot_start, swing)
write("MountainCarContinuous-v0", "gymnasium_mountain_car_continuous.txt", 6, 110, car_start, push_continuous_car)
