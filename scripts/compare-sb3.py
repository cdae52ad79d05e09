#!/usr/bin/env python3
"""Beside Stable-Baselines3: the same tasks, steps and seeds, played by both and written to one CSV file.

  scripts/compare-sb3.py runs FILE.csv --side sb3|murmurate [--tasks ...] [--seeds ...]
  scripts/compare-sb3.py table FILE.csv

A run that the file has is not run again, so an interrupted call goes on. `sb3`: PPO or SAC with the
hyperparameters of rl-baselines3-zoo, one process. `murmurate`: a bare `serve` (no config; a task's
gamma where the table below says so; `--set` for all, named by `--label`) with four processes of
murmurate.Actor, then its exported policy; `--same`: with the hyperparameters of the other side,
where it has no gSDE. Tasks of SAC: `serve mujoco-sac` with one process, one update a step on both
sides. Both: 20 greedy episodes at the end.

Needs: stable-baselines3, gymnasium[mujoco], and python/ of this tree; MURMURATE names the executable.
"""

import argparse
import collections
import csv
import json
import math
import multiprocessing
import os
import pathlib
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import gymnasium
import numpy

HERE = pathlib.Path(__file__).resolve().parent.parent
EPISODES = 20
ACTORS = 4
LONGEST_S = 3600
COLUMNS = ["side", "label", "task", "seed", "steps", "greedy", "greedy_deviation", "last_tenth", "steps_to_90",
           "episodes", "processor_s", "wall_s"]


class Signpost(gymnasium.Env):
    """An observation of parts: a point has to reach the corner that a category names, mirrored where
    flags say so. Each move costs 0.02, the corner gives 1 and terminates, the 60th move truncates."""

    CORNERS = numpy.array([[-0.8, -0.8], [-0.8, 0.8], [0.8, -0.8], [0.8, 0.8]])
    MOVES = numpy.array([[0, 0], [0.2, 0], [-0.2, 0], [0, 0.2], [0, -0.2]])

    def __init__(self):
        self.observation_space = gymnasium.spaces.Dict({
            "place": gymnasium.spaces.Box(-1, 1, (2,), numpy.float32),
            "corner": gymnasium.spaces.Discrete(4),
            "mirrored": gymnasium.spaces.MultiBinary(2),
        })
        self.action_space = gymnasium.spaces.Discrete(5)

    def _observe(self):
        return {"place": self.place.astype(numpy.float32), "corner": self.corner, "mirrored": self.mirrored}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.uniform(-0.5, 0.5, 2)
        self.corner = int(self.np_random.integers(4))
        self.mirrored = self.np_random.integers(0, 2, 2).astype(numpy.int8)
        self.moves = 0
        return self._observe(), {}

    def step(self, action):
        self.place = numpy.clip(self.place + self.MOVES[int(action)], -1, 1)
        self.moves += 1
        goal = self.CORNERS[self.corner] * (1 - 2.0 * self.mirrored)
        there = bool(numpy.abs(self.place - goal).max() < 0.25)
        return self._observe(), (1.0 if there else 0.0) - 0.02, there, self.moves >= 60, {}


# Hyperparameters: github.com/DLR-RM/rl-baselines3-zoo, hyperparams/ppo.yml at commit 208b6fd; of the
# MuJoCo tasks those of its -v4 and -v2, which it has none newer of. Not said: PPO's own default.
# `ours`: what the bare `serve` is told. Signpost-v0 has no entry there: MultiInputPolicy's defaults.
WIDE = {"net_arch": {"pi": [256, 256], "vf": [256, 256]}, "activation_fn": "ReLU", "ortho_init": False,
        "log_std_init": -2}
TASKS = {
    "Pendulum-v1": {
        "steps": 100_000, "envs": 4, "normalize": False,
        "ppo": {"n_steps": 1024, "gamma": 0.9, "learning_rate": 1e-3, "use_sde": True, "sde_sample_freq": 4}},
    "Acrobot-v1": {
        "steps": 1_000_000, "envs": 16, "normalize": True,
        "ppo": {"n_steps": 256, "gae_lambda": 0.94, "n_epochs": 4}},
    "MountainCarContinuous-v0": {
        "steps": 20_000, "envs": 1, "normalize": True,
        "ppo": {"batch_size": 256, "n_steps": 8, "gamma": 0.9999, "learning_rate": 7.77e-5, "ent_coef": 0.00429,
                "clip_range": 0.1, "gae_lambda": 0.9, "max_grad_norm": 5, "vf_coef": 0.19, "use_sde": True,
                "policy_kwargs": {"log_std_init": -3.29, "ortho_init": False}}},
    "HalfCheetah-v5": {
        "steps": 300_000, "envs": 1, "normalize": True,
        "ppo": {"batch_size": 64, "n_steps": 512, "gamma": 0.98, "learning_rate": 2.0633e-5,
                "ent_coef": 0.000401762, "clip_range": 0.1, "n_epochs": 20, "gae_lambda": 0.92,
                "max_grad_norm": 0.8, "vf_coef": 0.58096, "policy_kwargs": WIDE}},
    "Hopper-v5": {
        "steps": 300_000, "envs": 1, "normalize": True,
        "ppo": {"batch_size": 32, "n_steps": 512, "gamma": 0.999, "learning_rate": 9.80828e-5,
                "ent_coef": 0.00229519, "n_epochs": 5, "gae_lambda": 0.99, "max_grad_norm": 0.7,
                "vf_coef": 0.835671, "policy_kwargs": WIDE}},
    "InvertedDoublePendulum-v5": {
        "steps": 300_000, "envs": 1, "normalize": True,
        "ppo": {"batch_size": 512, "n_steps": 128, "gamma": 0.98, "learning_rate": 0.000155454,
                "ent_coef": 1.05057e-6, "clip_range": 0.4, "gae_lambda": 0.8, "vf_coef": 0.695929}},
    "Swimmer-v5": {
        "steps": 300_000, "envs": 4, "normalize": True, "ours": ["algorithm.gamma=0.9999"],
        "ppo": {"gamma": 0.9999, "n_steps": 1024, "batch_size": 256, "learning_rate": 6e-4, "gae_lambda": 0.98}},
    "Signpost-v0": {"steps": 300_000, "envs": 1, "normalize": False, "policy": "MultiInputPolicy", "ppo": {}},
    # SAC: hyperparams/sac.yml there, which sets learning_starts alone.
    "HalfCheetah-v5/sac": {"steps": 100_000, "envs": 1, "normalize": False, "sac": {"learning_starts": 10_000},
                           "config": "mujoco-sac", "actors": 1},
    "Hopper-v5/sac": {"steps": 100_000, "envs": 1, "normalize": False, "sac": {"learning_starts": 10_000},
                      "config": "mujoco-sac", "actors": 1},
}


def make(task):
    return gymnasium.wrappers.TimeLimit(Signpost(), 60) if task == "Signpost-v0" else gymnasium.make(task.split("/")[0])


class Diary(gymnasium.Wrapper):
    """Writes "time length return" of each episode to a file, before anything is normalized."""

    def __init__(self, env, path):
        super().__init__(env)
        self.file, self.length, self.total = open(path, "a", buffering=1), 0, 0.0

    def reset(self, **given):
        self.length, self.total = 0, 0.0
        return self.env.reset(**given)

    def step(self, action):
        outcome = self.env.step(action)
        self.length += 1
        self.total += float(outcome[1])
        if outcome[2] or outcome[3]:
            self.file.write(f"{time.monotonic()} {self.length} {self.total}\n")
        return outcome


# --- their side: in a process of its own


def sb3_process(task, seed, folder):
    import stable_baselines3
    import torch
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    torch.set_num_threads(1)
    said = TASKS[task]
    algorithm = stable_baselines3.SAC if "sac" in said else stable_baselines3.PPO
    settings = dict(said["sac"] if "sac" in said else said["ppo"])
    if "activation_fn" in settings.get("policy_kwargs", {}):
        settings["policy_kwargs"] = {**settings["policy_kwargs"], "activation_fn": torch.nn.ReLU}
    envs = DummyVecEnv([lambda: Diary(make(task), folder / "episodes.txt")] * said["envs"])
    if said["normalize"]:
        envs = VecNormalize(envs, gamma=settings.get("gamma", 0.99))
    model = algorithm(said.get("policy", "MlpPolicy"), envs, seed=seed, device="cpu", **settings)
    model.learn(said["steps"])
    judge = DummyVecEnv([lambda: stable_baselines3.common.monitor.Monitor(make(task))])
    if said["normalize"]:
        frozen = VecNormalize(judge, gamma=settings.get("gamma", 0.99), training=False, norm_reward=False)
        frozen.obs_rms = envs.obs_rms
        judge = frozen
    judge.seed(10_000 + seed)
    returns, _ = evaluate_policy(model, judge, EPISODES, deterministic=True, return_episode_rewards=True)
    (folder / "greedy.json").write_text(json.dumps([float(value) for value in returns]))


def run_sb3(task, seed, folder, options):
    process = multiprocessing.get_context("spawn").Process(target=sb3_process, args=(task, seed, folder), daemon=True)
    process.start()
    process.join()
    return process.exitcode == 0


# --- our side


def actor_process(task, seed, address, path):
    import murmurate

    env = Diary(make(task), path)
    with murmurate.Actor(address, env=env, quiet=True) as actor:
        try:
            actor.run(seed=seed)
        except murmurate.Error as error:
            print(error, file=sys.stderr)


def same_settings(said):
    """What PPO of Stable-Baselines3 has, as assignments; what `said` leaves out is its default."""
    ppo, policy = said["ppo"], said["ppo"].get("policy_kwargs", {})
    if ppo.get("use_sde"):
        raise SystemExit("--same: there is no gSDE on our side; name other --tasks")
    steps, played_by = ppo.get("n_steps", 2048) * said["envs"], max(said["envs"], ACTORS)
    on = str(said["normalize"]).lower()
    return [f"algorithm.trajectory_length={steps // played_by}", f"algorithm.batch_steps={steps}",
            f"algorithm.minibatch={min(ppo.get('batch_size', 64), steps)}", f"algorithm.epochs={ppo.get('n_epochs', 10)}",
            f"algorithm.gamma={ppo.get('gamma', 0.99)}", f"algorithm.lambda={ppo.get('gae_lambda', 0.95)}",
            f"algorithm.clip={ppo.get('clip_range', 0.2)}", f"algorithm.entropy={ppo.get('ent_coef', 0.0)}",
            f"algorithm.value_weight={ppo.get('vf_coef', 0.5)}",
            f"algorithm.max_grad_norm={ppo.get('max_grad_norm', 0.5)}",
            f"optimizer.learning_rate={ppo.get('learning_rate', 3e-4)}",
            f"model.layers={policy.get('net_arch', {'pi': [64, 64]})['pi']}",
            f"model.activation={policy.get('activation_fn', 'tanh').lower()}",
            f"model.initial_deviation={math.exp(policy.get('log_std_init', 0.0))}",
            f"model.normalize_observation={on}", f"algorithm.normalize_reward={on}"]


def run_murmurate(task, seed, folder, options):
    import murmurate

    said = TASKS[task]
    address = f"ipc://{folder}/main"
    words = ["run.name=r", f'server.listen=["{address}"]', f"run.steps={said['steps']}", *said.get("ours", []),
             *(same_settings(said) if options.same else []), *options.sets]
    (folder / "run").mkdir(mode=0o700)
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder / "run")}
    with open(folder / "serve.txt", "w") as out:
        serve = subprocess.Popen([options.murmurate, "serve", *said.get("config", "").split(), "--seed", str(seed), "--quiet",
                                  *[word for one in words for word in ("--set", one)]],
                                 cwd=folder, env=environment, stdout=out, stderr=subprocess.STDOUT)
    context = multiprocessing.get_context("spawn")
    actors = [context.Process(target=actor_process, args=(task, 100 * seed + i, address, folder / "episodes.txt"),
                              daemon=True) for i in range(said.get("actors", ACTORS))]
    for actor in actors:
        actor.start()
    try:
        code = serve.wait(LONGEST_S)
    except subprocess.TimeoutExpired:
        code = -1
    finally:  # also when this script is told to end
        serve.terminate()
        serve.wait()
    for actor in actors:
        actor.join(10)
        if actor.is_alive():
            actor.terminate()
            actor.join()
    if code not in (0, 1):
        print((folder / "serve.txt").read_text(), file=sys.stderr)
        return False
    subprocess.run([options.murmurate, "export", "r", "--format", "policy", "-o", "r.policy"], cwd=folder,
                   env=environment, check=True, stdout=subprocess.DEVNULL)
    played = murmurate.evaluate(folder / "r.policy", make(task), episodes=EPISODES, seed=10_000 + seed)
    (folder / "greedy.json").write_text(json.dumps(played.returns))
    if options.keep:
        shutil.copy(folder / "runs/r/progress.csv", f"{options.keep}/{options.label}-{task}-{seed}.csv")
    return True


# --- what both come to


def curve(path):
    """(steps played by all, return) of each episode, in the order in which they ended."""
    rows = sorted(tuple(map(float, line.split())) for line in path.read_text().splitlines())
    steps, points = 0, []
    for _, length, total in rows:
        steps += length
        points.append((steps, total))
    return points


def steps_to_90(points, final):
    """Where the mean of ten episodes first is 90 % of the way from the first ten to `final`."""
    last = collections.deque(maxlen=10)
    start = statistics.mean(value for _, value in points[:10])
    for steps, value in points:
        last.append(value)
        if len(last) == 10 and (statistics.mean(last) - start) / (final - start) >= 0.9:
            return int(steps)
    return ""


def row_of(side, task, seed, options):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cmp-", dir="/tmp"))  # short: a socket's path
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        run = run_sb3 if side == "sb3" else run_murmurate
        if not run(task, seed, folder, options):
            return None
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        points, budget = curve(folder / "episodes.txt"), TASKS[task]["steps"]
        late = [value for steps, value in points if steps >= 0.9 * budget] or [points[-1][1]]
        greedy, final = json.loads((folder / "greedy.json").read_text()), statistics.mean(late)
        values = [side, options.label, task, seed, budget, statistics.mean(greedy), statistics.pstdev(greedy),
                  final, steps_to_90(points, final), len(points),
                  after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - began]
        return [f"{value:.5g}" if isinstance(value, float) else value for value in values]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def read(path):
    if not path.exists():
        return []
    with open(path) as file:
        return list(csv.DictReader(file))


def runs(options):
    wanted = [(seed, task) for seed in options.seeds for task in options.tasks]  # partial data is balanced
    for seed, task in wanted:
        if any((row["side"], row["label"], row["task"], row["seed"]) == (options.side, options.label, task, str(seed))
               for row in read(options.file)):
            continue
        row = row_of(options.side, task, seed, options)
        if row is None:
            print(f"{options.side} {task} seed {seed}: failed", file=sys.stderr, flush=True)
            continue
        fresh = not options.file.exists()
        with open(options.file, "a", newline="") as file:
            csv.writer(file).writerows(([COLUMNS] if fresh else []) + [row])
        print(" ".join(map(str, row)), flush=True)


def table(options):
    groups = collections.defaultdict(list)
    for row in read(options.file):
        groups[row["task"], row["side"], row["label"]].append(row)
    print("| task | side | seeds | greedy | last tenth | steps to 90 % | processor s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for task in TASKS:
        for (of, side, label), rows in sorted(groups.items()):
            if of != task:
                continue
            cells = [median(rows, name) for name in ("greedy", "last_tenth", "steps_to_90", "processor_s")]
            print(f"| {task} | {side} {label} | {len(rows)} | " + " | ".join(cells) + " |")


def median(rows, name):
    values = [float(row[name]) if row[name] else math.inf for row in rows]
    middle = statistics.median(values)
    if len(values) == 1:
        return f"{middle:,.4g}"
    return f"{middle:,.4g} ({min(values):,.4g} to {max(values):,.4g})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    run = verbs.add_parser("runs")
    run.set_defaults(do=runs)
    run.add_argument("file", type=pathlib.Path)
    run.add_argument("--side", choices=["sb3", "murmurate"], required=True)
    run.add_argument("--label", default="", help="names what --set changes")
    run.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    run.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3, 4, 5])
    run.add_argument("--set", action="append", default=[], dest="sets")
    run.add_argument("--same", action="store_true", help="with the hyperparameters of the other side")
    run.add_argument("--keep", help="a folder for each progress.csv")
    run.add_argument("--murmurate", default=os.environ.get("MURMURATE", str(HERE / "build/release/server/murmurate")))
    shown = verbs.add_parser("table")
    shown.set_defaults(do=table)
    shown.add_argument("file", type=pathlib.Path)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends its processes
    options.do(options)


if __name__ == "__main__":
    main()
