#!/usr/bin/env python3
"""Writes docs/performance.md and docs/results.md from the measurements in docs/measurements.

  scripts/write-measurements.py           writes both pages
  scripts/write-measurements.py check     exit code 1, and why, when a page differs
  scripts/write-measurements.py record SUBJECT [--command C] [--processor P] [--note N] < OUTPUT
                                          puts what a bench printed into the rows of its subject

performance.csv and results.csv have one row for each figure; subjects.csv has the headings of each
page with what stands before and after their tables; processors.csv names the machines. `record`
reads lines such as the benches print (server/measure/limits.cc), and passes over all others, which it shows:

  Act, batch 1, p50: 0.39 us, limit 0.02 us, ratio 19.50, target 0.4 us: met

A row of the same subject and name is replaced unless another processor is named in it; another one
is added behind the last of its subject, with today's date and the processor of this machine.
"""

import argparse
import csv
import datetime
import pathlib
import re
import sys
import textwrap

PAGES = "performance", "results"
FIELDS = "subject", "what", "figure", "limit", "target", "command", "processor", "date", "note"
GENERATED = """<!-- Written by scripts/write-measurements.py from docs/measurements; edit those. -->
"""
HEAD = {
    "performance": f"""# Performance

{GENERATED}
Each figure was measured by the command above its table or in its row; a row without one continues the row above. Limits
are what the machine can do at best, measured in the same run; only ratios and medians mean anything, each for its
processor: a ratio to FMA peak, of wide to narrow vectors or of two threads to one is the processor's as much as the
program's. Several figures in a cell are runs of the same command. `bench_NAME` is in `build/release/bench`; build first
(`scripts/build.sh release`), with nothing else running.
""",
    "results": f"""# Results

{GENERATED}
What is learned, in how many steps, and what survives which failures. Each figure was measured by the command above its
table or in its row; a row without one continues the row above. Several figures in a cell are seeds or runs of the same
command. [performance.md](performance.md) says how fast it is.
""",
}
LINE = re.compile(r"^(?P<what>.+?): (?P<figure>\S.*?)"
                  r"(?:, limit (?P<limit>.+?), ratio (?P<ratio>[\d.]+))?"
                  r"(?:, target (?P<target>[^:]+): (?P<verdict>met|MISSED))?$")


class Measurements:
    def __init__(self, root):
        self.folder = root / "docs/measurements"
        self.rows = {page: self.read(page) for page in PAGES}
        self.subjects = self.read("subjects")
        self.processors = self.read("processors")

    def read(self, name):
        with open(self.folder / f"{name}.csv", newline="") as file:
            return list(csv.DictReader(file, strict=True))

    def save(self, page):
        with open(self.folder / f"{page}.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows[page])

    def page_of(self, subject):
        for entry in self.subjects:
            if entry["subject"] == subject:
                return entry["page"]
        known = ", ".join(entry["subject"] for entry in self.subjects)
        sys.exit(f"{subject}: no subject of docs/measurements/subjects.csv; expected one of "
                 f"{known}")


def table(rows):
    """One table: columns that no row fills are left out."""
    columns = "what", "figure", "limit", "target", "measured", "command", "note"
    shown = [column for column in columns if any(row[column] for row in rows)]
    cells = [shown, ["---"] * len(shown)]
    cells += [[row[column].replace("|", "\\|") for column in shown] for row in rows]
    return ["|" + "".join(f" {cell} |" if cell else " |" for cell in line) for line in cells]


def paragraphs(text):
    """Wrapped, but for code and pictures."""
    for part in filter(None, text.split("\n\n")):
        as_it_is = part.startswith(("```", "!["))
        yield from ("", part if as_it_is else textwrap.fill(part, 120, break_long_words=False,
                                                            break_on_hyphens=False))


def section(entry, rows):
    """A command stands above the table, or, where there are several, in the first of its rows."""
    lines = ["", f"## {entry['subject']}", *paragraphs(entry["before"]), ""]
    last = None
    if len({row["command"] for row in rows}) == 1:
        last = rows[0]["command"]
        lines += [f"`{last}`", ""]
    shown = []
    for row in rows:
        command = f"`{row['command']}`" if row["command"] != last else ""
        last = row["command"]
        measured = ", ".join(filter(None, (row["date"], row["processor"])))
        shown.append(row | {"measured": measured, "command": command})
    return lines + table(shown) + list(paragraphs(entry["after"]))


def page_text(measurements, page):
    text = HEAD[page]
    named = {row["processor"] for row in measurements.rows[page]}
    known = [entry for entry in measurements.processors if entry["processor"] in named]
    if known:
        text += "\n| processor | |\n| --- | --- |\n"
        text += "".join(f"| {entry['processor']} | {entry['description']} |\n" for entry in known)
    for entry in measurements.subjects:
        if entry["page"] == page:
            rows = [row for row in measurements.rows[page] if row["subject"] == entry["subject"]]
            if rows:
                text += "\n".join(section(entry, rows)) + "\n"
    return text


def check_rows(measurements):
    """What a page could not say: a row that no heading shows, or that lacks what makes it one."""
    for page in PAGES:
        subjects = {entry["subject"] for entry in measurements.subjects if entry["page"] == page}
        for row in measurements.rows[page]:
            place = f"docs/measurements/{page}.csv: {row['what']}"
            if row["subject"] not in subjects:
                sys.exit(f"{place}: no subject \"{row['subject']}\" in subjects.csv")
            dated = row["date"] or row["figure"].startswith("not measured")
            if not (row["figure"] and row["command"] and dated):
                sys.exit(f"{place}: expected a figure, a command and a date")


def this_processor(measurements):
    facts = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        facts.setdefault(name.strip(), value.strip())
    identity = " ".join(facts.get(name, "") for name in
                        ("vendor_id", "cpu family", "model", "stepping"))
    for entry in measurements.processors:
        if entry["cpuinfo"] == identity:
            return entry["processor"]
    return facts.get("model name", "")


def row_of(line):
    match = LINE.match(line)
    if not match:
        return None
    part = match.groupdict(default="")
    target = f"{part['target']}: {part['verdict'].lower()}" if part["target"] else ""
    limit = f"{part['limit']} (ratio {part['ratio']})" if part["limit"] else ""
    return {"what": part["what"].strip(), "figure": part["figure"], "limit": limit,
            "target": target}


def put(rows, row):
    """Into the place of the row that it replaces, or behind the last of its subject."""
    for place, old in enumerate(rows):
        named = (old["subject"], old["what"]) == (row["subject"], row["what"])
        if named and old["processor"] in ("", row["processor"]):
            rows[place] = row | {"command": row["command"] or old["command"]}
            return
    places = [place for place, old in enumerate(rows) if old["subject"] == row["subject"]]
    last = places[-1] if places else len(rows) - 1
    command = row["command"] or (rows[last]["command"] if places else "")
    if not command:
        sys.exit(f"{row['subject']}: has no rows yet; say the command with --command")
    rows.insert(last + 1, row | {"command": command})


def record(measurements, chosen, lines):
    page = measurements.page_of(chosen.subject)
    given = {"subject": chosen.subject, "command": chosen.command or "",
             "processor": chosen.processor or this_processor(measurements),
             "date": datetime.date.today().isoformat(), "note": chosen.note}
    for line in lines:
        row = row_of(line.rstrip())
        if row is None:
            print(f"passed over: {line.rstrip()}", file=sys.stderr)
            continue
        put(measurements.rows[page], row | given)
    measurements.save(page)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("what", nargs="?", choices=["write", "check", "record"], default="write")
    parser.add_argument("subject", nargs="?")
    parser.add_argument("--command")
    parser.add_argument("--processor")
    parser.add_argument("--note", default="")
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    chosen = parser.parse_args()
    measurements = Measurements(chosen.root)
    if chosen.what == "record":
        record(measurements, chosen, sys.stdin)
    check_rows(measurements)
    differs = False
    for page in PAGES:
        path, text = chosen.root / f"docs/{page}.md", page_text(measurements, page)
        if chosen.what != "check":
            path.write_text(text)
        elif path.read_text() != text:
            print(f"docs/{page}.md: is not what docs/measurements says: run "
                  "scripts/write-measurements.py")
            differs = True
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
