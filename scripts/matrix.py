#!/usr/bin/env python3
"""The learning matrix: each cell of tests/matrix/cells.txt learns its game within its steps, or not.

  scripts/matrix.py test|ci|all         the cells of ./test, those that .ci/run has besides, all
  scripts/matrix.py product             every combination of the factors: hours
  scripts/matrix.py CELL...             such as ppo/lstm/cartpole/8/local
  scripts/matrix.py --show CELL         its config, to be tried by hand

One learner and its agents play in lock-step, where a run is repeatable: one seed. Two learners that
share a rule do not: it must be reached with two of three seeds. One line a cell; exit code 1 when a
cell that should learn did not.
"""

import argparse
import concurrent.futures
import csv
import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent.parent
TABLE = HERE / "tests/matrix/cells.txt"
ALGORITHMS = "ppo", "impala", "a2c"
REPLAYS = "dqn", "sac", "td3"  # learn from a replay: only with the games that the table says
TRUNKS = "separate", "shared", "lstm"
GAMES = ("cartpole", "pendulum", "catch", "recall", "box100", "rewards1000", "acrobot",
         "mountain_car_continuous")
AGENTS = 8, 128
RULES = ("local", "sync", "asgd", "downpour", "agn", "adag", "sagn", "dynsgd", "easgd", "aeasgd",
         "aeamsgd")
LONGEST_S = 300  # of one run

# What is said of a game, and to whom. One that SETTINGS does not have is learned with what the
# algorithm does when nothing is said.
GAME = {
    "cartpole": {"environment": "cartpole"},
    "rewards1000": {"environment": "cartpole", "options": "reward_scale = 1000"},
    "pendulum": {"environment": "pendulum"},
    "box100": {"environment": "pendulum", "options": "action_low = 0\naction_high = 100"},
    "catch": {"environment": "catch"},
    "recall": {"environment": "recall", "options": "distractors = 4"},
    "acrobot": {"environment": "acrobot"},
    "mountain_car_continuous": {"environment": "mountain_car_continuous"},
}
KIND = {"rewards1000": "cartpole", "box100": "pendulum"}  # whose settings it has
SETTINGS = {
    ("ppo", "cartpole"): "trajectory_length = 128\nbatch_steps = 1024\nminibatch = 128\nepochs = 4",
    ("ppo", "pendulum"): "trajectory_length = 100\nbatch_steps = 1600\nminibatch = 100\n"
                         "epochs = 10\ngamma = 0.9",
    ("ppo", "catch"): "trajectory_length = 64\nbatch_steps = 512\nminibatch = 128\nepochs = 4\n"
                      "gamma = 0.95",
    ("ppo", "recall"): "trajectory_length = 32\nbatch_steps = 512\nminibatch = 128\nepochs = 4\n"
                       "gamma = 0.95\nentropy = 0.01",
    ("impala", "cartpole"): "trajectory_length = 64\nbatch_steps = 512\nentropy = 0.01\n"
                            "max_grad_norm = 1.0",
    ("impala", "catch"): "trajectory_length = 32\nbatch_steps = 256\ngamma = 0.95\nentropy = 0.01",
    ("impala", "recall"): "trajectory_length = 32\nbatch_steps = 256\ngamma = 0.95\nentropy = 0.01",
    ("a2c", "cartpole"): "trajectory_length = 16\nbatch_steps = 128\nentropy = 0.003",
    ("a2c", "catch"): "trajectory_length = 16\nbatch_steps = 128\ngamma = 0.95\nentropy = 0.01",
    ("a2c", "recall"): "trajectory_length = 32\nbatch_steps = 256\ngamma = 0.95\nentropy = 0.01",
}
# What is said of the replay. The random part of what is played is small in the end: a cell is judged
# by training episodes.
REPLAY_SETTINGS = {
    "dqn": "trajectory_length = 8\nbatch_steps = 64\n"
           "epsilon = {from = 1, to = 0.01, steps = 10_000}",
    "sac": "trajectory_length = 8\nbatch_steps = 64",
    "td3": "trajectory_length = 8\nbatch_steps = 64\nnoise = 0.05",
}
REPLAY = {
    ("dqn", "catch"): "samples_per_insert = 8",
    ("sac", "pendulum"): "learning_starts = 500",
    ("td3", "pendulum"): "learning_starts = 500",
}
RATE = {
    ("sac", "pendulum"): "1e-3",
    ("td3", "pendulum"): "1e-3",
    ("ppo", "cartpole"): "{from = 3e-3, to = 3e-4, steps = 100_000}",
    ("ppo", "pendulum"): "{from = 1.5e-3, to = 1e-4, steps = 200_000}",
    ("ppo", "catch"): "{from = 2e-3, to = 2e-4, steps = 150_000}",
    ("ppo", "recall"): "{from = 5e-3, to = 1e-3, steps = 100_000}",
    ("impala", "cartpole"): "{from = 3e-3, to = 3e-4, steps = 1_000_000}",
    ("impala", "catch"): "{from = 2e-3, to = 2e-4, steps = 300_000}",
    ("impala", "recall"): "{from = 5e-3, to = 1e-3, steps = 300_000}",
    ("a2c", "cartpole"): "1e-3",
    ("a2c", "catch"): "2e-3",
    ("a2c", "recall"): "{from = 5e-3, to = 1e-3, steps = 300_000}",
}


class Cell:
    """A line of the table."""

    def __init__(self, line):
        words = line.split(None, 8)
        self.algorithm, self.trunk, self.game, self.agents, self.rule = words[:5]
        self.agents = int(self.agents)
        self.reach, self.within, self.where = words[5], int(words[6].replace("_", "")), words[7]
        self.why = words[8].strip() if len(words) > 8 else ""

    @property
    def factors(self):
        return self.algorithm, self.trunk, self.game

    @property
    def name(self):
        return "/".join((*self.factors, str(self.agents), self.rule))

    def like(self, agents, rule):
        """What the product asks of another cell with these factors: to learn in twice the steps."""
        return Cell(" ".join((*self.factors, str(agents), rule, self.reach, str(2 * self.within),
                              self.where, self.why)))


def read_cells():
    lines = TABLE.read_text().splitlines()
    return [Cell(line) for line in lines if line.strip() and not line.startswith("#")]


def product(cells):
    known = {cell.name: cell for cell in cells}
    first = {cell.factors: cell for cell in cells if (cell.agents, cell.rule) == (8, "local")}
    for factors in itertools.product(ALGORITHMS, TRUNKS, GAMES):
        if factors not in first:
            sys.exit(f"{TABLE}: {'/'.join(factors)}/8/local is missing")
        for agents, rule in itertools.product(AGENTS, RULES):
            cell = first[factors].like(agents, rule)
            yield known.get(cell.name, cell)
    yield from (cell for cell in cells if cell.algorithm in REPLAYS)


def model_lines(cell):
    picture = GAME[cell.game]["environment"] == "catch"
    lines = []
    if picture:
        lines.append('inputs = ["observation: conv 16 3 1 1 relu", "observation: flatten"]')
    if cell.trunk == "lstm":
        lines += ["layers = []", 'recurrent = "lstm 32"']
    else:
        lines.append("layers = [64]" if picture else "layers = [64, 64]")
        lines.append("separate_value = " + str(cell.trunk == "separate").lower())
    return lines


def kind_of(cell):
    return cell.algorithm, KIND.get(cell.game, cell.game)


def algorithm_lines(cell):
    if cell.algorithm in REPLAYS:
        return REPLAY_SETTINGS[cell.algorithm].splitlines()
    lines = SETTINGS.get(kind_of(cell), "").splitlines()
    if cell.agents <= 8 or not lines:
        return lines
    # A batch holds a trajectory of every agent, so that play is not late.
    values = dict(line.split(" = ") for line in lines)
    length = max(8, int(values["batch_steps"]) // cell.agents)
    values["trajectory_length"] = str(length)
    values["batch_steps"] = str(length * cell.agents)
    return [f"{key} = {value}" for key, value in values.items()]


def config_of(cell):
    learners = 1 if cell.rule == "local" else 2
    lines = ["[run]", f'environment = "{GAME[cell.game]["environment"]}"',
             f"steps = {learners * cell.within}", f"stop_at_return = {cell.reach}",
             f"actors = {learners}", f"agents = {cell.agents // learners}",
             "log_interval_s = 0.05"]
    if learners > 1:
        lines.append(f"learners = {learners}")
    if options := GAME[cell.game].get("options"):
        lines += ["[environment]", options]
    lines += ["[model]", *model_lines(cell), "[algorithm]", f'name = "{cell.algorithm}"',
              *algorithm_lines(cell), "[optimizer]"]
    if cell.rule == "aeamsgd":  # as its refusal says
        lines += ['name = "momentum"', "learning_rate = 0.1"]
    elif rate := RATE.get(kind_of(cell)):
        lines.append("learning_rate = " + rate)
    if kind_of(cell) in REPLAY:
        lines += ["[replay]", REPLAY[kind_of(cell)]]
    if learners > 1:
        lines += ["[parameters]", f'rule = "{cell.rule}"']
    lines += ["[evaluation]", "every = 0"]
    return "\n".join(lines) + "\n"


class Runner:
    pace = "lockstep"  # of one learner's actor: repeatable

    def __init__(self, murmurate, sets):
        self.murmurate, self.longest_s = murmurate, LONGEST_S
        self.sets = [word for one in sets for word in ("--set", one)]

    def start(self, folder, words, **options):
        out = open(folder / f"{words[0]}.txt", "w")
        environment = os.environ | {"XDG_RUNTIME_DIR": str(folder / "run")}
        return subprocess.Popen([self.murmurate, *words], cwd=folder, env=environment, stdout=out,
                                stderr=subprocess.STDOUT, **options)

    def learn(self, cell, seed):
        """(reached, steps, mean return, seconds, what was said) of one run."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="mmr-", dir="/tmp"))  # short: a socket's path
        (folder / "run").mkdir(mode=0o700)
        (folder / "c.toml").write_text(self.config_of(cell))
        began, processes = time.monotonic(), []
        try:
            processes += self.start_all(cell, seed, folder)
            code = self.wait(processes[0])
            steps, mean = last_row(folder / "runs/c/progress.csv")
            said = "" if code in (0, 1) else (folder / f"{self.verb(cell)}.txt").read_text()
            return code == 0, steps, mean, time.monotonic() - began, said
        finally:
            for process in processes:
                end(process)
            shutil.rmtree(folder, ignore_errors=True)

    def config_of(self, cell):
        return config_of(cell)

    def game_of(self, cell):
        return GAME[cell.game]

    @staticmethod
    def verb(cell):
        return "serve" if cell.rule == "local" else "train"

    def start_all(self, cell, seed, folder):
        words = ["c.toml", "--seed", str(seed), "--quiet", *self.sets]
        if cell.rule != "local":
            return [self.start(folder, ["train", *words])]
        address = f"ipc://{folder}/main"
        game = self.game_of(cell)
        options = game.get("options", "").splitlines()
        serve = self.start(folder, ["serve", *words, "--set", f'server.listen=["{address}"]'])
        actor = self.start(folder, [
            "actor", game["environment"], "--connect", address, "--agents",
            str(cell.agents), "--seed", str(seed), "--pace", self.pace, "--quiet",
            *[word for line in options for word in ("--" + line.split(" = ")[0], line.split()[-1])]
        ])
        return [serve, actor]

    def wait(self, process):
        try:
            return process.wait(self.longest_s)
        except subprocess.TimeoutExpired:
            return -1


def end(process):
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def last_row(path):
    if not path.exists():  # it was refused
        return 0, ""
    with open(path) as file:
        last = None
        for last in csv.DictReader(file):
            pass
    if last is None:
        return 0, ""
    return int(last["time/total_timesteps"]), last["rollout/ep_rew_mean"]


def judge(runner, cell, seeds):
    """True when it learned; prints its line."""
    if cell.rule == "local":
        seeds, needed = seeds[:1], 1
    else:
        seeds, needed = seeds[:3], 2
    began, runs = time.monotonic(), []
    for seed in seeds:
        runs.append(runner.learn(cell, seed))
        good = sum(run[0] for run in runs)
        if good == needed or len(runs) - good > len(seeds) - needed:
            break
    reached = [str(steps) if ok else f"never ({mean or 'no return'})" for ok, steps, mean, *_ in runs]
    line = f"{'learned' if good >= needed else 'FAILED ':8} {cell.name:36} {cell.reach:>7} in " \
           f"{' '.join(reached)} of {cell.within} steps, {time.monotonic() - began:.1f} s"
    said = "".join(run[4] for run in runs)
    print(line + (f"\n  {said.strip()}" if said.strip() else ""), flush=True)
    return good >= needed


def measure(runner, cell, seeds):
    """Runs every seed, also when others fail, and prints the steps from which budgets are set."""
    runs = [runner.learn(cell, seed) for seed in seeds]
    steps = sorted(run[1] if run[0] else float("inf") for run in runs)
    took = sorted(run[3] for run in runs)
    print(f"{cell.name:36} {cell.reach:>7} within {cell.within}: median {steps[len(steps) // 2]}, "
          f"{' '.join(str(run[1]) if run[0] else 'never:' + run[2] for run in runs)}; "
          f"{took[len(took) // 2]:.1f} s", flush=True)
    return True


def chosen(arguments, cells):
    if arguments.cells == ["product"]:
        return list(product(cells))
    if arguments.cells in (["test"], ["ci"], ["all"]):
        wanted = arguments.cells[0]
        return [cell for cell in cells if wanted == "all" or cell.where in (wanted, "no")]
    named = {cell.name: cell for cell in product(cells)}
    unknown = [name for name in arguments.cells if name not in named]
    if unknown:
        sys.exit(f"{unknown[0]}: no such cell; write for example {cells[0].name}")
    return [named[name] for name in arguments.cells]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", nargs="+", help="test, ci, all, product, or cells")
    parser.add_argument("--show", action="store_true", help="print the config and run nothing")
    parser.add_argument("--measure", action="store_true",
                        help="every seed, and the median: fails never")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), help="runs at a time")
    parser.add_argument("-s", "--seeds", default="1 2 3")
    parser.add_argument("--set", action="append", default=[], dest="sets", help="for all runs")
    parser.add_argument("--murmurate", default=os.environ.get(
        "MURMURATE", str(HERE / "build/release/server/murmurate")))
    arguments = parser.parse_args()
    cells = chosen(arguments, read_cells())
    if arguments.show:
        print("\n".join(config_of(cell) for cell in cells), end="")
        return 0
    runner, work = Runner(arguments.murmurate, arguments.sets), judge
    if arguments.measure:
        work = measure
    seeds = [int(seed) for seed in arguments.seeds.split()]
    began = time.monotonic()
    runs = [cell for cell in cells if cell.where != "no" or arguments.measure]
    with concurrent.futures.ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
        good = list(pool.map(lambda cell: work(runner, cell, seeds), runs))
    for cell in cells:
        if cell not in runs:
            print(f"not yet  {cell.name:36} {cell.why}")
    print(f"{sum(good)} of {len(runs)} cells learned, {len(cells) - len(runs)} are not run, "
          f"{time.monotonic() - began:.0f} s")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
