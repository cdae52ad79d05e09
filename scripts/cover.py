#!/usr/bin/env python3
"""A covering of the learning matrix: what learns with what, when nothing but the factors is said.

  scripts/cover.py run FILE.csv          each cell with five seeds; goes on where it was interrupted
  scripts/cover.py run FILE.csv --all    the whole product of the factors: days
  scripts/cover.py draw FILE.csv [docs/pictures/matrix.svg]
  scripts/cover.py list                  the cells of the covering
  scripts/cover.py show CELL             one's config, to be tried by hand: ppo/gru/catch/128/sync

At most 150 cells that hold each pair of two factors' values (of those that can be had together) at
least once, and almost each {algorithm, trunk, game}. No cell has a setting of its own: the run is
told the factors, the game's budget and the return to reach, and so shows what the defaults do.
Seed 1 of all cells comes first, so that an unfinished file says a little about everything. A run
that ended in an error has it in the file's last column, and is run again by the next call.
"""

import argparse
import concurrent.futures
import csv
import itertools
import os
import pathlib
import random
import signal
import statistics
import sys
import threading
import time
import typing

import cover_picture
import matrix

ALGORITHMS = matrix.ALGORITHMS
TRUNKS = "separate", "shared", "lstm", "gru"
AGENTS = 1, 8, 128, 1000
RULES = matrix.RULES
MOST_CELLS = 150
STEPS_OF_ONE_PASS = 3  # times ppo's, for impala and a2c, which learn from each step once and not ten times
STEPS_OF_AN_AGENT = 600  # more than the game's, of all learners together: its play before it is learned from


class Game(typing.NamedTuple):
    environment: str
    reach: float  # mean raw return of the last 100 training episodes
    within: int  # environment steps
    options: str = ""


# Beside the plain games: rewards of other sizes, boxes of other sizes, a picture with numbers, a
# category and a mask (gridworld), and 50 numbers with five actions (regulator).
GAMES = {
    "cartpole": Game("cartpole", 475, 400_000),
    "rewards0.001": Game("cartpole", 0.475, 400_000, "reward_scale = 1e-3"),
    "rewards1000": Game("cartpole", 475_000, 400_000, "reward_scale = 1000"),
    "acrobot": Game("acrobot", -100, 400_000),
    "mountain_car": Game("mountain_car", -130, 600_000),
    "catch": Game("catch", 0.95, 200_000),
    "gridworld": Game("gridworld", 0.845, 300_000),
    "recall": Game("recall", 0.95, 300_000, "distractors = 4"),
    "pendulum": Game("pendulum", -250, 400_000),
    "box100": Game("pendulum", -250, 400_000, "action_low = 0\naction_high = 100"),
    "box0.01": Game("pendulum", -250, 400_000, "action_low = -0.01\naction_high = 0.01"),
    "mountain_car_continuous": Game("mountain_car_continuous", 90, 400_000),
    "regulator": Game("regulator", -60, 500_000),
}
FACTORS = ALGORITHMS, TRUNKS, tuple(GAMES), AGENTS, RULES
COLUMNS = ["algorithm", "trunk", "game", "agents", "rule", "seed", "solved", "steps", "mean", "seconds", "said"]


class Cell(typing.NamedTuple):
    algorithm: str
    trunk: str
    game: str
    agents: int
    rule: str

    @property
    def name(self):
        return "/".join(map(str, self))

    @property
    def config(self):
        game, learners = GAMES[self.game], 1 if self.rule == "local" else 2
        passes = 1 if self.algorithm == "ppo" else STEPS_OF_ONE_PASS
        steps = learners * passes * game.within + STEPS_OF_AN_AGENT * self.agents
        lines = ["[run]", f'environment = "{game.environment}"', f"steps = {steps}",
                 f"stop_at_return = {game.reach}", f"actors = {learners}", f"agents = {self.agents // learners}",
                 "log_interval_s = 0.1"]
        if learners > 1:
            lines.append(f"learners = {learners}")
        if game.options:
            lines += ["[environment]", game.options]
        memory = self.trunk in ("lstm", "gru")
        lines += ["[model]", f'recurrent = "{self.trunk} 64"' if memory else
                  f"separate_value = {str(self.trunk == 'separate').lower()}",
                  "[algorithm]", f'name = "{self.algorithm}"']
        if learners > 1:
            lines += ["[parameters]", f'rule = "{self.rule}"']
        return "\n".join([*lines, "[evaluation]", "every = 0"]) + "\n"


def possible(cell):
    """Recall cannot be solved without memory, and one agent is not divided among two learners."""
    return (cell.game != "recall" or cell.trunk in ("lstm", "gru")) and (cell.agents > 1 or cell.rule == "local")


def pairs_of(cell):
    return set(itertools.combinations(enumerate(cell), 2))


def product():
    return [cell for cell in itertools.starmap(Cell, itertools.product(*FACTORS)) if possible(cell)]


def covering():
    """Greedy: each rule with each game, the rest of the factors where they add the most pairs; ties
    are drawn, always the same."""
    draw, every = random.Random(1), product()
    draw.shuffle(every)
    wanted = set().union(*map(pairs_of, every))
    triples = {cell[:3] for cell in every}
    cells = []

    def add(choices):
        best = max(choices, key=lambda cell: (len(pairs_of(cell) & wanted), cell[:3] in triples))
        cells.append(best)
        wanted.difference_update(pairs_of(best))
        triples.discard(best[:3])

    places = list(itertools.product(GAMES, RULES))
    draw.shuffle(places)
    for place in places:
        at = [cell for cell in every if (cell.game, cell.rule) == place]
        add([cell for cell in at if cell[:3] in triples] or at)
    while wanted:
        add(every)
    while triples and len(cells) < MOST_CELLS:
        add([cell for cell in every if cell[:3] in triples])
    if len(cells) > MOST_CELLS:
        sys.exit(f"the covering has {len(cells)} cells, at most {MOST_CELLS} were expected")
    return cells


class Runner(matrix.Runner):
    """As the matrix runs a cell, but at the pace of `murmurate actor`, so that batches follow the agents;
    and ends what runs when it is told to stop."""

    pace = "credit"

    def __init__(self, murmurate, longest_s):
        super().__init__(murmurate, [])
        self.longest_s, self.stopping, self.live = longest_s, threading.Event(), set()

    def start(self, folder, words):
        process = super().start(folder, words, start_new_session=True)  # Ctrl+C: by `stop` alone
        self.live.add(process)
        return process

    def stop(self, *_):
        self.stopping.set()
        for process in list(self.live):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)

    def config_of(self, cell):
        return cell.config

    def game_of(self, cell):
        game = GAMES[cell.game]
        return {"environment": game.environment, "options": game.options}


class Results:
    """The file: a row for each finished run, and what is left to do."""

    def __init__(self, path):
        self.path, self.lock = path, threading.Lock()
        self.began, self.finished = time.monotonic(), 0

    def rows(self):
        if not self.path.exists():
            return []
        with open(self.path, newline="") as file:
            return list(csv.DictReader(file))

    def add(self, cell, seed, run, left):
        solved, steps, mean, seconds, said = run
        row = [*cell, seed, int(solved), steps, mean, f"{seconds:.1f}", " ".join(said.split())[:300]]
        with self.lock:
            fresh = not self.path.exists()
            with open(self.path, "a", newline="") as file:
                csv.writer(file).writerows(([COLUMNS] if fresh else []) + [row])
            self.finished += 1
            remaining = (time.monotonic() - self.began) / self.finished * (left - self.finished)
            print(f"{'solved' if solved else 'NOT   '} {cell.name:44} seed {seed} {mean:>10.10} after {steps} steps, "
                  f"{seconds:.1f} s; {left - self.finished} runs left, about {remaining / 60:.0f} minutes"
                  + (f"\n  {said.strip()}" if said.strip() else ""), flush=True)


def run(options):
    results = Results(options.file)
    done = {tuple(row[name] for name in COLUMNS[:6]) for row in results.rows() if not row["said"]}
    cells = product() if options.all else covering()
    if options.cells:
        cells = cells[::max(1, len(cells) // options.cells)][:options.cells]
    left = [(cell, seed) for seed in range(1, options.seeds + 1) for cell in cells
            if (*map(str, cell), str(seed)) not in done]
    runner = Runner(options.murmurate, options.longest)
    signal.signal(signal.SIGINT, runner.stop)
    signal.signal(signal.SIGTERM, runner.stop)

    def work(job):
        cell, seed = job
        if not runner.stopping.is_set():
            outcome = runner.learn(cell, seed)
            if not runner.stopping.is_set():  # it was not interrupted
                results.add(cell, seed, outcome, len(left))

    with concurrent.futures.ThreadPoolExecutor(max(1, options.jobs)) as pool:
        list(pool.map(work, left))
    return 130 if runner.stopping.is_set() else 0


def draw(options):
    last, shares = {}, {}  # a run that ended in an error may have been tried again
    for row in Results(options.file).rows():
        cell = Cell(row["algorithm"], row["trunk"], row["game"], int(row["agents"]), row["rule"])
        last[cell, row["seed"]] = int(row["solved"])
    for (cell, _), solved in last.items():
        shares.setdefault(cell, []).append(solved)
    rows = [
        ("algorithm and trunk", [(f"{a} {t}", lambda cell, a=a, t=t: cell[:2] == (a, t))
                                 for a, t in itertools.product(ALGORITHMS, TRUNKS)]),
        ("learners: one, or two with a rule", [(rule, lambda cell, rule=rule: cell.rule == rule) for rule in RULES]),
        ("agents", [(str(count), lambda cell, count=count: cell.agents == count) for count in AGENTS]),
    ]
    means = {cell: statistics.mean(values) for cell, values in shares.items()}
    options.picture.write_text(cover_picture.picture(means, list(GAMES), rows))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True, dest="verb")
    running = verbs.add_parser("run")
    running.add_argument("file", type=pathlib.Path)
    running.add_argument("--all", action="store_true", help="the whole product")
    running.add_argument("--cells", type=int, default=0, help="only so many of them, evenly spread; 0: all")
    running.add_argument("--seeds", type=int, default=5)
    running.add_argument("--longest", type=float, default=90, help="seconds of one run")
    running.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), help="runs at a time")
    running.add_argument("--murmurate", default=os.environ.get(
        "MURMURATE", str(matrix.HERE / "build/release/server/murmurate")))
    drawing = verbs.add_parser("draw")
    drawing.add_argument("file", type=pathlib.Path)
    drawing.add_argument("picture", type=pathlib.Path, nargs="?", default=matrix.HERE / "docs/pictures/matrix.svg")
    verbs.add_parser("list")
    verbs.add_parser("show").add_argument("cell")
    options = parser.parse_args()
    if options.verb == "list":
        print("\n".join(cell.name for cell in covering()))
        return 0
    if options.verb == "show":
        known = {cell.name: cell for cell in product()}
        if options.cell not in known:
            sys.exit(f"{options.cell}: no such cell; write for example {covering()[0].name}")
        print(known[options.cell].config, end="")
        return 0
    return run(options) if options.verb == "run" else draw(options)


if __name__ == "__main__":
    sys.exit(main())
