"""Writes what Gymnasium makes of rewards, for tests/learn/reward_scale_test.cc.

    python scripts/make_reward_fixtures.py tests/fixtures

Two agents' steps reach the learner in batches of trajectories. Per batch: `batch`; for each
trajectory, in order, `trajectory AGENT FIRST_STEP STEPS` and its steps (reward, f when an episode
begins, t or c when it ends terminated or cut, - otherwise, and the normalized reward); then
`statistics COUNT MEAN VARIANCE`. The statistics are Gymnasium's RunningMeanStd, as in its
NormalizeReward, begun with a count of 0; the running return is 0 at each beginning, as in
Stable-Baselines3's VecNormalize, and goes on over steps that never arrived as if they had not been.
"""

import pathlib
import sys

import gymnasium
import numpy
from gymnasium.wrappers.utils import RunningMeanStd

GAMMA, SCALE, CLIP, EPSILON = 0.9, 0.5, 1.0, 1e-8
FILE = pathlib.Path(sys.argv[1]) / "gymnasium_rewards.txt"

random = numpy.random.default_rng(11)
# Each agent's life: (reward, first, end) per step; ends after the steps listed.
ends = {0: {4: "t", 9: "c", 10: "t", 21: "c"}, 1: {2: "c", 15: "t", 23: "t"}}
lives = {}
for agent, after in ends.items():
    first, life = True, []
    for step in range(30):
        reward = numpy.float32(random.normal(3.0 * agent - 1.0, 20.0 if step == 17 else 4.0))
        life.append((float(reward), first, after.get(step, "-")))
        first = step in after
    lives[agent] = life

# (agent, first step, steps); agent 0's steps 16 to 18 and agent 1's first four never arrive.
batches = [
    [(0, 0, 4), (0, 4, 4), (1, 4, 4), (1, 8, 2)],
    [(0, 8, 4), (0, 12, 4), (1, 10, 4), (1, 14, 4)],
    [(0, 19, 4), (0, 23, 4), (1, 18, 4), (1, 22, 4)],
    [(0, 27, 3), (1, 26, 1), (1, 27, 3)],
]

statistics = RunningMeanStd(epsilon=0.0, shape=())
discounted = {0: 0.0, 1: 0.0}
lines = [f"# gymnasium {gymnasium.__version__}", f"settings {GAMMA} {SCALE} {CLIP}"]
for batch in batches:
    returns = []
    for agent, start, steps in batch:
        for reward, first, _ in lives[agent][start : start + steps]:
            discounted[agent] = (0.0 if first else discounted[agent]) * GAMMA + SCALE * reward
            returns.append(discounted[agent])
    statistics.update(numpy.array(returns))
    lines.append("batch")
    for agent, start, steps in batch:
        lines.append(f"trajectory {agent} {start} {steps}")
        for reward, first, end in lives[agent][start : start + steps]:
            normalized = SCALE * reward / numpy.sqrt(statistics.var + EPSILON)
            word = ("f" if first else "") + (end if end != "-" or not first else "")
            lines.append(f"{reward!r} {word} {float(numpy.clip(normalized, -CLIP, CLIP))!r}")
    lines.append(f"statistics {int(statistics.count)} {float(statistics.mean)!r} {float(statistics.var)!r}")
FILE.write_text("\n".join(lines) + "\n")
