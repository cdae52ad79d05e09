#!/usr/bin/env python3
"""Writes docs/guards.md from the marks beside the guards in the sources.

  scripts/write-guards.py [--root FOLDER]         writes the page
  scripts/write-guards.py check [--root FOLDER]   exit code 1, and why, when the page differs or a
                                                  named test does not exist

A mark is a comment before the guard, in server, client or shared; each test that fails without the
guard, then what the guard does:

  // guard: Suite.Name, Other.Name (tsan): what is guarded, and how it goes
  //   on in lines that are indented further
"""

import argparse
import pathlib
import re
import sys

PAGE = "docs/guards.md"
TOPS = "server", "client", "shared"
HEAD = """# Guards against races and crashes

<!-- Written by scripts/write-guards.py from the marks `// guard:` in the sources; edit those. -->

Each guard was removed once in a copy of the tree, the named tests failed, and the guard was put back. "(3 of 5)" is
in how many runs they failed where it was not every run, "(tsan)" says that they fail under the `tsan` preset alone,
"(hangs)" that they do not end. `scripts/build.sh tsan && ctest --preset tsan` runs the whole suite under ThreadSanitizer.
"""
MARK = re.compile(r"^ *// guard: (.*)$")
MORE = re.compile(r"^ *//   +(\S.*)$")
TEST = re.compile(r"^(\w+)\.(\w+)(?:/\d+)?(?: \([^)]*\))?$")
DEFINED = re.compile(r"\b(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)")


def sources(root, tops):
    for top in tops:
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".h", ".cc"):
                yield path


def marks(path):
    """The texts of the marks of one file, each joined to one line."""
    text = None
    for line in path.read_text().splitlines() + [""]:
        more = MORE.match(line)
        if text is not None and more:
            text += " " + more[1]
            continue
        if text is not None:
            yield text
        mark = MARK.match(line)
        text = mark[1] if mark else None


def split(text):
    """"A.B, C.D (tsan): reason" -> ["A.B", "C.D (tsan)"], "reason"."""
    tests, found, reason = text.partition(": ")
    if not found:
        raise ValueError(f"no reason in: // guard: {text}")
    tests = re.split(r", (?=\w+\.\w)", tests)
    for test in tests:
        if not TEST.match(test):
            raise ValueError(f"expected Suite.Name, got: {test}")
    return tests, reason


def guards(root):
    """room -> [(reason, file name, tests)], rooms in alphabetical order."""
    rooms = {}
    for path in sources(root, TOPS):
        for text in marks(path):
            tests, reason = split(text)
            room = str(path.parent.relative_to(root))
            rooms.setdefault(room, []).append((reason, path.name, tests))
    return dict(sorted(rooms.items()))


def page(rooms):
    lines = [HEAD]
    for room, rows in rooms.items():
        lines += [f"## {room}\n", "| guard | where | fails without it |", "| --- | --- | --- |"]
        lines += [f"| {reason} | `{name}` | {', '.join(tests)} |" for reason, name, tests in rows]
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def missing(root, rooms):
    """The named tests that tests/ does not define."""
    defined = set()
    for path in sources(root, ["tests"]):
        defined.update(DEFINED.findall(path.read_text()))
    named = {test for rows in rooms.values() for _, _, tests in rows for test in tests}
    return sorted(test for test in named if TEST.match(test).groups()[:2] not in defined)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="?", choices=["write", "check"], default="write")
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    chosen = parser.parse_args()
    rooms = guards(chosen.root)
    written = page(rooms)
    gone = missing(chosen.root, rooms)
    for test in gone:
        print(f"{PAGE}: no test in tests/ is called {test}: correct the mark in the sources")
    if chosen.what == "write":
        (chosen.root / PAGE).write_text(written)
    elif (chosen.root / PAGE).read_text() != written:
        print(f"{PAGE}: is not what the marks in the sources say: run scripts/write-guards.py")
        return 1
    return 1 if gone else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ValueError as error:
        sys.exit(f"scripts/write-guards.py: {error}")
