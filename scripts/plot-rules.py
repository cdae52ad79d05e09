#!/usr/bin/env python3
"""Pictures of docs/distributed.md: loss of the parabola under update rules, 1, 2 and 4 workers.

  scripts/plot-rules.py docs/pictures [distributed-asynchronous...]

Runs the example of each rule with so many learners (hogwild: threads), takes half of train/loss (the mean squared error) from the progress.csv of
the learner that joined first, which saw the model from its beginning (the mean over 40 places of the
curve), and draws it against that learner's updates and against seconds, both axes of loss
logarithmic. Needs Python alone; MURMURATE names the executable.
"""
import csv
import math
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MURMURATE = os.environ.get("MURMURATE", HERE + "/build/release/server/murmurate")
PICTURES = {
    "distributed-asynchronous": ["asgd", "downpour-easy", "agn", "adag", "dynsgd", "hogwild"],
    "distributed-barrier": ["sync", "sync-backup", "sagn"],
    "distributed-elastic": ["easgd", "aeasgd", "aeamsgd"],
}
COLORS = {1: "#888888", 2: "#1f77b4", 4: "#d62728"}
WIDTH, HEIGHT, LEFT, TOP, GAP = 300, 150, 70, 56, 54
LOW, HIGH = 1e-5, 0.2


def measure(example, learners, folder):
    run = f"{example}-{learners}"
    threads = learners if example == "hogwild" else 1
    command = [MURMURATE, "train", example, "--quiet",
               "--set", f"run.name={run}", "--set", "run.log_interval_s=0.005"]
    if example == "hogwild":
        command += ["--set", f"parameters.threads={threads}"]
    else:  # a worker's own updates are the same: its part is the smaller, the more there are
        command += ["--learners", str(learners), "--shards", "1",
                    "--set", f"data.passes={300 * learners}"]
    if learners == 1 and example == "sync-backup":
        command += ["--set", "parameters.backup=0"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    first = "0"
    if example != "hogwild":
        with open(f"{folder}/runs/{run}/shard-0/log.txt") as file:
            first = re.search(r"worker (\d+) joined", file.read()).group(1)
    place = f"{folder}/runs/{run}" + ("" if first == "0" else f"/learner-{first}")
    with open(f"{place}/progress.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["train/loss"]]
    points = [(float(row["train/updates"]) / threads, float(row["time/time_elapsed"]),
               float(row["train/loss"]) / 2) for row in rows]
    size = max(1, len(points) // 40)
    groups = [points[i:i + size] for i in range(0, len(points), size)]
    return [tuple(sum(column) / len(group) for column in zip(*group)) for group in groups]


def panel(curves, column, most, x0, y0, below):
    def place(value, loss):
        height = math.log(max(LOW, min(HIGH, loss)) / LOW) / math.log(HIGH / LOW)
        return f"{x0 + WIDTH * value / most:.1f},{y0 + HEIGHT * (1 - height):.1f}"

    lines = [f'<rect x="{x0}" y="{y0}" width="{WIDTH}" height="{HEIGHT}" fill="none" '
             'stroke="#aaa"/>']
    for power in range(-5, 0):
        y = place(0, 10.0 ** power).split(",")[1]
        lines.append(f'<line x1="{x0}" x2="{x0 + WIDTH}" y1="{y}" y2="{y}" stroke="#eee"/>')
        lines.append(f'<text x="{x0 - 5}" y="{float(y) + 4}" text-anchor="end">1e{power}</text>')
    for part in (0, 0.5, 1):
        lines.append(f'<text x="{x0 + WIDTH * part}" y="{y0 + HEIGHT + 14}" '
                     f'text-anchor="middle">{most * part:,.{0 if most > 100 else 2}f}</text>')
    lines.append(f'<text x="{x0 + WIDTH / 2}" y="{y0 + HEIGHT + 28}" '
                 f'text-anchor="middle">{below}</text>')
    for learners, points in curves.items():
        path = " ".join(place(point[column], point[2]) for point in points)
        lines.append(f'<polyline points="{path}" fill="none" stroke="{COLORS[learners]}" '
                     'stroke-width="1.5"/>')
    return lines


def draw(examples, measured):
    lines = []
    for row, example in enumerate(examples):
        curves = measured[example]
        y0 = TOP + row * (HEIGHT + GAP)
        lines.append(f'<text x="{LEFT}" y="{y0 - 6}" font-weight="bold">{example}</text>')
        updates = max(points[-1][0] for points in curves.values())
        seconds = max(points[-1][1] for points in curves.values())
        lines += panel(curves, 0, updates, LEFT, y0, "updates of one worker")
        lines += panel(curves, 1, seconds, LEFT + WIDTH + GAP, y0, "seconds")
    width = LEFT + 2 * WIDTH + GAP + 20
    height = TOP + len(examples) * (HEIGHT + GAP)
    for i, (learners, color) in enumerate(COLORS.items()):
        x = LEFT + 130 * i
        lines.append(f'<line x1="{x}" x2="{x + 24}" y1="20" y2="20" stroke="{color}" '
                     'stroke-width="2"/>')
        lines.append(f'<text x="{x + 30}" y="24">{learners} worker{"s"[:learners > 1]}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="sans-serif" font-size="11">\n'
            f'<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(lines) +
            "\n</svg>\n")


def main():
    into = sys.argv[1] if len(sys.argv) > 1 else HERE + "/docs/pictures"
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[2:] or PICTURES:
            examples = PICTURES[name]
            measured = {example: {n: measure(example, n, folder) for n in COLORS}
                        for example in examples}
            with open(f"{into}/{name}.svg", "w") as file:
                file.write(draw(examples, measured))
            for example, curves in measured.items():
                print(example, {n: (f"{p[-1][1]:.2f} s", f"{p[-1][2]:.2g}")
                                for n, p in curves.items()})


if __name__ == "__main__":
    main()
