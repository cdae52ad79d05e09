"""y = x^2 on 50 points by a 1-5-1 tanh network and plain gradient descent, in NumPy: a program with a loss of its own.

    python parabola.py                                   alone, on all 50 points

or by five processes of 10 points each around a parameter server, which comes to the same weights:

    murmurate params own-program --shard 0 --set parameters.workers=5 &
    for i in 0 1 2 3 4; do python parabola.py --worker $i --of 5 & done; wait

Prints the mean squared error over all points. --save FILE.npz writes the weights.
"""

import argparse

import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--worker", type=int, help="this process's number; without it no other is needed")
parser.add_argument("--of", type=int, default=1, help="how many processes share the points")
parser.add_argument("--server", default="ipc:///tmp/murmurate-own", help="the shard's address")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--steps", type=int, default=2000)
parser.add_argument("--save")
options = parser.parse_args()

points = np.linspace(-2, 2, 50, dtype=np.float32)[:, None]
x = points if options.worker is None else points[options.worker :: options.of]
y = x * x

random = np.random.default_rng(options.seed)
weights = {
    "w1": random.normal(0, 1, (1, 5)).astype(np.float32), "b1": np.zeros(5, np.float32),
    "w2": random.normal(0, 1 / np.sqrt(5), (5, 1)).astype(np.float32), "b2": np.zeros(1, np.float32),
}  # fmt: skip


def forward(x):
    hidden = np.tanh(x @ weights["w1"] + weights["b1"])
    return hidden, hidden @ weights["w2"] + weights["b2"]


def gradients():
    """Of the mean squared error over this process's points."""
    hidden, output = forward(x)
    error = 2 * (output - y) / len(x)
    inner = (error @ weights["w2"].T) * (1 - hidden * hidden)
    return {"w1": x.T @ inner, "b1": inner.sum(0), "w2": hidden.T @ error, "b2": error.sum(0)}


if options.worker is None:
    for _ in range(options.steps):
        for name, gradient in gradients().items():
            weights[name] -= np.float32(0.01) * gradient
else:
    import murmurate

    with murmurate.Parameters(options.server, weights, worker=options.worker) as parameters:
        for _ in range(options.steps):
            parameters.push(gradients(), 0.01)

if options.save:
    np.savez(options.save, **weights)
print("mean squared error", float(np.mean((forward(points)[1] - points**2) ** 2)))
