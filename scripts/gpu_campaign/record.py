"""Writes the results of `speed` into docs/measurements, and from there into docs/performance.md."""

import importlib.util
import json
import pathlib
import subprocess
import sys

SUBJECT, COMMAND = "Training on a GPU", "scripts/gpu-campaign.sh speed"

# The campaign's row: the page's, the goal in us, how many times faster than PyTorch.
ROWS = {
    "4-64-64-2/1024": ("4-64-64-2, both trunks, minibatch 1,024", 12, 5),
    "4-64-64-2/8192": ("4-64-64-2, both trunks, minibatch 8,192", 25, 4),
    "4-64-64-2/65536": ("4-64-64-2, both trunks, minibatch 65,536", 160, 2),
    "17-256-256-6/2048": ("17-256-256-6, minibatch 2,048, TF32", 40, 3),
    "17-256-256-6/65536": ("17-256-256-6, minibatch 65,536, TF32", 600, 1.5),
    "nature-cnn/1024": ("Nature-CNN, bf16, minibatch 1,024", 250, 2),
    "impala-deep/1024": ("IMPALA's deep network, 15 convolutions, minibatch 1,024", 4500, 1.5),
    "lstm-128/8192": ("LSTM 128, 64 sequences of 128", 800, 3),
    "adam/100M": ("Adam over 100 million numbers", None, 1),
    "publish/6.7MB": ("publishing 6.7 MB, from the device to a reader's copy", 1200, None),
}
GAPS, MEMORY = "gaps between launches inside a step", "GPU memory"
MOST_GAPS, LEAST_BANDWIDTH = 0.10, 0.80


def duration(us):
    return f"{us:.3g} us" if us < 1000 else f"{us / 1000:.3g} ms"


def all_figures(results):
    return [figure for stage in results["speed"]["stages"] for figure in stage["figures"]]


def ours_of(figures):
    return {figure["row"]: figure for figure in figures
            if figure.get("by") == "murmurate" and "us" in figure}


def peers_of(figures, row):
    return [figure for figure in figures
            if figure.get("row") == row and figure["by"] != "murmurate" and "us" in figure]


def verdict(met):
    return "met" if met else "missed"


def copy_gb_s(figures):
    for figure in figures:
        if figure.get("probe") == "copy within the device":
            return figure["gb_s"]
    return None


def row_texts(figures):
    """Of each row of the page that was measured: its figure, and whether its target was met."""
    texts, ours = {}, ours_of(figures)
    for row, (what, goal_us, times) in ROWS.items():
        if row not in ours:
            continue
        mine, peers = ours[row], peers_of(figures, row)
        met = goal_us is None or mine["us"] <= goal_us
        text = duration(mine["us"])
        if peers:
            fastest = min(peers, key=lambda peer: peer["us"])
            ratio = fastest["us"] / mine["us"]
            text += "; " + ", ".join(f"{peer['by']} {duration(peer['us'])}" for peer in peers)
            text += f": {ratio:.2g} x"
            met = met and ratio >= times
        elif times is not None:
            met = False  # nothing to compare with
        if "gb_s" in mine and copy_gb_s(figures):
            share = mine["gb_s"] / copy_gb_s(figures)
            text += f"; {share:.0%} of the copy bandwidth"
            met = met and share >= LEAST_BANDWIDTH
        texts[what] = text, met
    steps = [figure for figure in ours.values() if "gaps_us" in figure]
    if steps:
        worst = max(steps, key=lambda step: step["gaps_us"] / step["us"])
        share = worst["gaps_us"] / worst["us"]
        texts[GAPS] = (f"at most {share:.0%} ({worst['row']}: {worst['nodes']} launches)",
                       share <= MOST_GAPS)
        largest = max(steps, key=lambda step: step["taken_bytes"])
        over = largest["taken_bytes"] - largest["planned_bytes"]
        texts[MEMORY] = (f"{largest['row']}: {largest['planned_bytes'] / 2**20:.0f} MiB planned, "
                         f"{over / 2**20:.0f} MiB more taken", over <= 320 << 20)
    return texts


def module_of(path):
    spec = importlib.util.spec_from_file_location("write_measurements", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def describe(figures, commit):
    found = {}
    for figure in figures:
        if figure.get("probe") == "device":
            found = figure
    if not found:
        sys.exit("the results name no device: run `gpu-campaign.sh speed` on a machine with one")
    torch = next((figure["version"] for figure in figures if "version" in figure), "none")
    return found["name"], (f"driver {found['driver']}, {found['libraries']}, PyTorch {torch}; "
                           f"murmurate {commit}")


def write_csv(writer, path, rows):
    with open(path, "w", newline="") as file:
        lines = writer.DictWriter(file, rows[0].keys(), lineterminator="\n")
        lines.writeheader()
        lines.writerows(rows)


def keep_device(root, beside):
    """The real description of the device, for plans where there is none."""
    path = beside / "device.json"
    if path.exists():
        name = json.loads(path.read_text())["deviceName"].removeprefix("NVIDIA ")
        name = "-".join(name.lower().split())
        (root / f"tests/fixtures/gpus/{name}.json").write_text(path.read_text())


def record(path, root=None):
    root = root or pathlib.Path(__file__).resolve().parent.parent.parent
    if path is None:
        sys.exit("expected: gpu-campaign.sh record RESULTS, the results.json of `speed`")
    results = json.loads(path.read_text())
    if "speed" not in results:
        sys.exit(f"{path}: has no results of `gpu-campaign.sh speed`")
    if results["speed"]["trial"]:
        sys.exit(f"{path}: was a trial of the campaign itself, and measured no GPU")
    figures = all_figures(results)
    name, description = describe(figures, results["speed"]["commit"])
    writer = module_of(root / "scripts/write-measurements.py")
    measured = writer.Measurements(root)
    rows = measured.rows["performance"]
    for what, (text, met) in row_texts(figures).items():
        old = next((row for row in rows if (row["subject"], row["what"]) == (SUBJECT, what)), None)
        if old is None:
            sys.exit(f"docs/measurements/performance.csv: has no row \"{what}\" of \"{SUBJECT}\"")
        target = old["target"].removesuffix(": met").removesuffix(": missed")
        writer.put(rows, old | {"figure": text, "target": f"{target}: {verdict(met)}",
                                "command": COMMAND, "processor": name,
                                "date": results["speed"]["date"], "note": ""})
    measured.save("performance")
    processors = [entry for entry in measured.processors if entry["processor"] != name]
    processors.append({"processor": name, "cpuinfo": "", "description": description})
    write_csv(writer.csv, measured.folder / "processors.csv", processors)
    for entry in measured.subjects:
        if entry["subject"] == SUBJECT:
            entry["before"] = entry["before"].removesuffix(" No row was measured.")
    write_csv(writer.csv, measured.folder / "subjects.csv", measured.subjects)
    keep_device(root, path.parent)
    return subprocess.run([sys.executable, root / "scripts/write-measurements.py"]).returncode
