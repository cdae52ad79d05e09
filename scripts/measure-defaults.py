#!/usr/bin/env python3
"""CartPole with the defaults: a table row for each choice, five seeds each (docs/results.md).

  scripts/measure-defaults.py trunks|agents|rules|target-kl [--seeds 1 2 3 4 5]

trunks     ppo, impala and a2c with each trunk, 8 agents
agents     ppo with 1, 8, 128, 1,000 and 10,000 agents
rules      ppo and impala by two learners under each update rule
target-kl  the example's rate with target_kl, and with 8 batches ahead

A row: of how many runs the last 100 training episodes reached a mean of 475; environment steps (of
the first learner), thousands; the mean of 100 greedy episodes; mean train/policy_lag_avg.
"""

import argparse
import csv
import os
import pathlib
import statistics
import subprocess
import tempfile

import matrix

TRUNKS = {
    "separate": "separate_value = true",
    "shared": "separate_value = false",
    "lstm": 'recurrent = "lstm 64"',
    "gru": 'recurrent = "gru 64"',
}
BUDGET = {"ppo": 150_000, "impala": 500_000, "a2c": 300_000}
AGENTS = 1, 8, 128, 1_000, 10_000


def config(steps, agents=8, run="", model="", algorithm="", rest=""):
    actors = min(agents, max(2, agents // 2500))
    return (f'[run]\nenvironment = "cartpole"\nactors = {actors}\nagents = {agents // actors}\nsteps = {steps}\n'
            f"stop_at_return = 475\nlog_interval_s = 0.1\n{run}\n[model]\n{model}\n[algorithm]\n{algorithm}\n{rest}\n")


def trunks():
    for algorithm, steps in BUDGET.items():
        for trunk, model in TRUNKS.items():
            yield f"{algorithm}, {trunk}", config(steps, model=model, algorithm=f'name = "{algorithm}"'), []


def agents():
    for count in AGENTS:
        yield f"{count:,} agents", config(max(400_000, 600 * count + 400_000), agents=count), []


def rules():
    for algorithm, steps in (("ppo", 300_000), ("impala", 1_000_000)):
        for rule in matrix.RULES[1:]:
            yield f"{algorithm}, {rule}", config(steps, run="learners = 2", algorithm=f'name = "{algorithm}"',
                                                 rest=f'[parameters]\nrule = "{rule}"'), []


def target_kl():
    example = (matrix.HERE / "examples/configs/cartpole.toml").read_text()
    for ahead in 2, 8:
        for kl in 0.003, 0.01, 0.03:
            yield (f"target_kl = {kl}, batches_ahead = {ahead}", example,
                   [f"algorithm.target_kl={kl}", f"algorithm.batches_ahead={ahead}"])


def run(executable, text, seed, sets):
    """(solved, environment steps, greedy mean, mean lag)"""
    with tempfile.TemporaryDirectory(prefix="mmr-") as folder:
        (pathlib.Path(folder) / "c.toml").write_text(text)
        runtime = pathlib.Path(folder) / "run"
        runtime.mkdir(mode=0o700)
        words = [word for one in ["run.name=r", *sets] for word in ("--set", one)]
        ran = subprocess.run([executable, "train", "c.toml", "--quiet", "--seed", str(seed), *words], cwd=folder,
                             env={**os.environ, "XDG_RUNTIME_DIR": str(runtime)}, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True, timeout=1800)
        if ran.returncode not in (0, 1):
            raise SystemExit(ran.stderr)
        with open(f"{folder}/runs/r/progress.csv") as file:
            rows = list(csv.DictReader(file))
    lags = [float(row["train/policy_lag_avg"]) for row in rows if row["train/policy_lag_avg"]]
    greedy = [row["eval/mean_reward"] for row in rows if row["eval/mean_reward"]]
    return ran.returncode == 0, int(rows[-1]["time/total_timesteps"]), float(greedy[-1]), statistics.mean(lags)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    choices = {"trunks": trunks, "agents": agents, "rules": rules, "target-kl": target_kl}
    parser.add_argument("what", choices=choices)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3, 4, 5])
    parser.add_argument("--murmurate", default=os.environ.get(
        "MURMURATE", str(matrix.HERE / "build/release/server/murmurate")))
    options = parser.parse_args()
    for name, text, sets in choices[options.what]():
        done = [run(options.murmurate, text, seed, sets) for seed in options.seeds]
        steps = [taken / 1000 if solved else float("inf") for solved, taken, _, _ in done]
        print(f"{name}: {sum(solved for solved, *_ in done)} of {len(done)}; "
              f"{' '.join(f'{one:.0f}' for one in steps)}, median {statistics.median(steps):.0f}; "
              f"greedy {' '.join(f'{greedy:.0f}' for _, _, greedy, _ in done)}; "
              f"lag {statistics.mean(lag for *_, lag in done):.1f}", flush=True)


if __name__ == "__main__":
    main()
