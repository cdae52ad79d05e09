"""A generator as the source of a run: samples of a curve, made as they are asked for.

    murmurate serve examples/data/feed.toml &
    python3 examples/data/feed_curve.py

The learner ends after 400,000 samples (run.stop_at_steps), and so does this. Its eval/loss is the mean squared error on
samples before they are learned from.
"""

import os

import numpy

import murmurate


def samples():
    random = numpy.random.default_rng(1)
    while True:  # batches of 256
        x = random.uniform(-1, 1, (256, 2)).astype("float32")
        yield x, numpy.sin(3 * x[:, 0]) + x[:, 0] * x[:, 1]


if __name__ == "__main__":
    print(murmurate.feed(os.environ.get("LEARNER", "tcp://127.0.0.1:7420"), samples(), batches=True))
