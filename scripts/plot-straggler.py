#!/usr/bin/env python3
"""The picture docs/pictures/straggler.svg: three workers of the parabola, one of which hardly gets on.

  scripts/plot-straggler.py [--seconds 6] [--stopped 0.18] [--straggler-only] [docs/pictures]

Runs the examples sync, sync-backup (one backup worker) and asgd with three learners and one shard for so many seconds
each, twice: undisturbed, and with the third worker stopped (SIGSTOP) for 90 % of the time, 180 ms of each 200 ms.
Draws the updates that the shard has made and the loss of the first worker against seconds, and prints both, and the
updates that were made while the worker was stopped. Ends by itself and leaves no process. Needs Python alone;
MURMURATE names the executable.
"""
import argparse
import csv
import json
import math
import os
import signal
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MURMURATE = os.environ.get("MURMURATE", HERE + "/build/release/server/murmurate")
RULES = {"sync": "#d62728", "sync-backup": "#1f77b4", "asgd": "#2ca02c"}
RUNS_S = 0.02
WIDTH, HEIGHT, LEFT, TOP, GAP = 300, 180, 70, 56, 64
LOW, HIGH = 1e-6, 0.2


def ask(folder, place, question):
    done = subprocess.run([MURMURATE, *question, place], cwd=folder, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 and "--json" in question else None


def await_pid(folder, place, run):
    """The process of a learner or shard, once it has begun."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and run.poll() is None:
        try:
            with open(f"{folder}/{place}/address.json") as file:
                return json.load(file)["pid"]
        except (OSError, ValueError):
            time.sleep(0.01)
    raise SystemExit(f"{place}: has not begun; see {folder}/output.txt")


def await_workers(folder, place, run):
    """The updates that the shard has made by the time that all three workers have joined."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and run.poll() is None:
        answer = ask(folder, place, ["status", "--json"])
        if answer and answer["models"] and answer["models"][0]["workers"] == 3:
            return answer["models"][0]["version"]
        time.sleep(0.01)
    raise SystemExit(f"{place}: not all workers have joined; see {folder}/output.txt")


def losses(folder, run):
    with open(f"{folder}/runs/{run}/progress.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["train/loss"]]
    points = [(float(row["time/time_elapsed"]), float(row["train/loss"])) for row in rows]
    size = max(1, len(points) // 60)
    groups = [points[i:i + size] for i in range(0, len(points), size)]
    return [tuple(sum(column) / len(group) for column in zip(*group)) for group in groups]


def stop_and_go(pid, stopped_s, ask_updates):
    """One stop of the worker, and 20 ms in which it runs; a busy machine makes the stop longer, never the worker's
    share. Gives the updates of the stop's second half: `status` is up to 100 ms old, and a round may be under way."""
    os.kill(pid, signal.SIGSTOP)
    stopped = time.monotonic()
    time.sleep(stopped_s / 2)
    before = ask_updates()
    time.sleep(max(0.0, stopped + stopped_s - time.monotonic()))
    after = ask_updates()
    os.kill(pid, signal.SIGCONT)
    time.sleep(RUNS_S)
    return after - before


def measure(rule, straggles, seconds, stopped_s, folder):
    """Over seconds: the shard's updates, and the first worker's loss; and the updates of the stops' second halves."""
    run = rule + ("-straggler" if straggles else "")
    shard = f"runs/{run}/shard-0"
    with open(f"{folder}/output.txt", "w") as output:
        train = subprocess.Popen(
            [MURMURATE, "train", rule, "--quiet", "--learners", "3", "--shards", "1", "--set", f"run.name={run}",
             "--set", "data.passes=1000000000"], cwd=folder, stdout=output, stderr=output)
    pid, updates, while_stopped = None, [(0.0, 0)], 0
    try:
        for part in ("shard-0", "learner-1"):
            await_pid(folder, f"runs/{run}/{part}", train)
        pid = await_pid(folder, f"runs/{run}/learner-2", train)
        begun = newest = await_workers(folder, shard, train)

        def ask_updates():
            nonlocal newest
            answer = ask(folder, shard, ["status", "--json"])
            newest = answer["models"][0]["version"] if answer and answer["models"] else newest
            return newest

        start = time.monotonic()
        while time.monotonic() < start + seconds and train.poll() is None:
            if straggles:
                while_stopped += stop_and_go(pid, stopped_s, ask_updates)
            else:
                time.sleep(stopped_s + RUNS_S)
                ask_updates()
            updates.append((time.monotonic() - start, newest - begun))
    finally:
        if pid is not None and train.poll() is None:
            os.kill(pid, signal.SIGCONT)
        train.send_signal(signal.SIGTERM)
        train.wait(30)
    return updates, losses(folder, run), while_stopped


def frame(x0, y0, most, title, seconds):
    lines = [f'<rect x="{x0}" y="{y0}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#aaa"/>',
             f'<text x="{x0}" y="{y0 - 6}" font-weight="bold">{title}</text>',
             f'<text x="{x0 + WIDTH / 2}" y="{y0 + HEIGHT + 28}" text-anchor="middle">seconds</text>']
    for part in (0, 0.5, 1):
        lines.append(f'<text x="{x0 + WIDTH * part}" y="{y0 + HEIGHT + 14}" text-anchor="middle">'
                     f'{seconds * part:g}</text>')
    for value, height in most:
        y = y0 + HEIGHT * (1 - height)
        lines.append(f'<line x1="{x0}" x2="{x0 + WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#eee"/>')
        lines.append(f'<text x="{x0 - 5}" y="{y + 4:.1f}" text-anchor="end">{value}</text>')
    return lines


def curve(points, x0, y0, seconds, height, color, straggles):
    path = " ".join(f"{x0 + WIDTH * min(1, t / seconds):.1f},{y0 + HEIGHT * (1 - height(value)):.1f}"
                    for t, value in points if t <= seconds)
    dash = "" if straggles else ' stroke-dasharray="4 3"'
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.5"{dash}/>'


def draw(measured, seconds):
    most = max(points[-1][1] for points, _ in measured.values())
    right = LEFT + WIDTH + GAP

    def of_loss(loss):
        return math.log(max(LOW, min(HIGH, loss)) / LOW) / math.log(HIGH / LOW)

    unit = 10 ** int(math.log10(most))
    ticks = [(f"{i * unit:,}", i * unit / most) for i in range(0, int(most / unit) + 1)]
    lines = frame(LEFT, TOP, ticks, "updates of the shared model", seconds)
    lines += frame(right, TOP, [(f"1e{p}", of_loss(10.0 ** p)) for p in range(-6, 0)],
                   "mean squared error of the first worker", seconds)
    for (rule, straggles), (updates, loss) in measured.items():
        lines.append(curve(updates, LEFT, TOP, seconds, lambda n: n / most, RULES[rule], straggles))
        lines.append(curve(loss, right, TOP, seconds, of_loss, RULES[rule], straggles))
    for i, (rule, color) in enumerate(RULES.items()):
        x = LEFT + 120 * i
        lines.append(f'<line x1="{x}" x2="{x + 24}" y1="20" y2="20" stroke="{color}" stroke-width="2"/>')
        lines.append(f'<text x="{x + 30}" y="24">{rule}</text>')
    lines.append(f'<text x="{right}" y="24">dashed: no worker is stopped</text>')
    width, height = right + WIDTH + 20, TOP + HEIGHT + 40
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" font-family="sans-serif" font-size="11">\n'
            f'<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(lines) + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("into", nargs="?", default=HERE + "/docs/pictures", help="the picture's folder")
    parser.add_argument("--seconds", type=float, default=6, help="of each of the six runs")
    parser.add_argument("--stopped", type=float, default=0.18, help="seconds of each stop of the third worker")
    parser.add_argument("--straggler-only", action="store_true", help="leave the undisturbed runs out")
    arguments = parser.parse_args()
    into = os.path.abspath(arguments.into)
    if not os.path.isdir(into):
        parser.error(f"{into}: no such folder; make it first")
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        for rule in RULES:
            for straggles in (True,) if arguments.straggler_only else (False, True):
                updates, loss, while_stopped = measure(rule, straggles, arguments.seconds, arguments.stopped, folder)
                measured[rule, straggles] = updates, loss
                # Of a shorter stop `status` says too late what its second half brought.
                stopped = (f", {while_stopped} of them in the second halves of its stops"
                           if straggles and arguments.stopped >= 0.5 else "")
                print(f"{rule:12} {'straggler' if straggles else 'undisturbed':12} {updates[-1][1]:8} updates in "
                      f"{updates[-1][0]:.1f} s{stopped}; mean squared error {loss[-1][1]:.2g}", flush=True)
    with open(into + "/straggler.svg", "w") as file:
        file.write(draw(measured, arguments.seconds))


if __name__ == "__main__":
    main()
