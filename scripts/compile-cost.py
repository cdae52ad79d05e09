#!/usr/bin/env python3
"""Prints what it costs the processor to compile the project, by top folder.

    scripts/compile-cost.py [BUILD_FOLDER] [--jobs N] [--only tests] [--sample N]

Every compile command of BUILD_FOLDER (build/release), which must be configured, is run as it
stands there, without a compiler cache and into a folder of its own; user and system time of the
compilers are summed, those of precompiled headers included. Links are not counted. With --sample, N files drawn by a fixed seed stand for
the others of their folders; the same files are drawn wherever a folder holds the same ones.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

LAUNCHERS = {"ccache", "sccache", "distcc"}


def make_what_sources_need(build):
    """Generated sources and precompiled headers, without anything else of the build."""
    def ninja(*words):
        return subprocess.run(["ninja", "-C", build, *words], check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    outputs = [line.rsplit(":", 1)[0] for line in ninja("-t", "targets", "all").splitlines()]
    ninja(*[output for output in outputs if output.endswith((".gch", ".pch"))], "build.ninja")
    for output in ninja("-t", "targets", "rule", "CUSTOM_COMMAND").splitlines():
        if output.endswith((".h", ".cc")) and not (build / output).exists():
            subprocess.run(ninja("-t", "commands", "-s", output).splitlines()[-1], shell=True,
                           check=True, cwd=build, stdout=subprocess.DEVNULL)


def top_folder(source, root):
    try:
        return pathlib.Path(source).relative_to(root).parts[0]
    except ValueError:
        return "elsewhere"


def without_launcher(command, output):
    """The words of a compile command that writes OUTPUT, with no launcher before the compiler."""
    words = shlex.split(command)
    while os.path.basename(words[0]) in LAUNCHERS:
        words = words[1:]
    words[words.index("-o") + 1] = output
    return words


def run(entry, folder):
    """User and system seconds of one compile, its children included."""
    with tempfile.NamedTemporaryFile(suffix=".o", dir=folder) as output:
        process = subprocess.Popen(
            without_launcher(entry["command"], output.name),
            cwd=entry["directory"], stderr=subprocess.PIPE, text=True,
            env={**os.environ, "CCACHE_DISABLE": "1"})
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"compile-cost: {entry['file']} does not compile:\n{errors}")
    return usage.ru_utime + usage.ru_stime


def order(entry, root):
    """A place in the draw that is the same in every clone."""
    return hashlib.sha256(os.path.relpath(entry["file"], root).encode()).hexdigest()


def draw(folders, count, root):
    """COUNT entries in all, of each folder as many as its share; of a small folder all."""
    total = sum(len(entries) for entries in folders.values())
    return {
        folder: sorted(entries, key=lambda entry: order(entry, root))[
            : len(entries) if len(entries) <= 12 else max(2, round(count * len(entries) / total))]
        for folder, entries in folders.items()}


def measure(drawn, jobs):
    """Seconds by folder, in the order of DRAWN's entries."""
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = {
            name: [pool.submit(run, entry, folder) for entry in entries]
            for name, entries in drawn.items()}
        return {name: [each.result() for each in group] for name, group in running.items()}


def print_table(folders, seconds):
    estimates = {
        name: sum(seconds[name]) * len(folders[name]) / len(seconds[name]) for name in folders}
    total = sum(estimates.values())
    print(f"{'folder':<10} {'files':>6} {'measured':>9} {'seconds':>9} {'share':>6}")
    for name in sorted(folders, key=lambda name: -estimates[name]):
        print(f"{name:<10} {len(folders[name]):>6} {len(seconds[name]):>9} "
              f"{estimates[name]:>9.1f} {estimates[name] / total:>6.1%}")
    files = sum(len(entries) for entries in folders.values())
    measured = sum(len(times) for times in seconds.values())
    print(f"{'all':<10} {files:>6} {measured:>9} {total:>9.1f} {1:>6.1%}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default="build/release")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", metavar="FOLDER", help="count this top folder alone")
    parser.add_argument("--sample", type=int, metavar="N", help="compile about N files")
    parser.add_argument("--files", metavar="OUT", help="write the seconds of each file, too")
    arguments = parser.parse_args()

    build = pathlib.Path(arguments.build).resolve()
    make_what_sources_need(build)
    commands = json.loads((build / "compile_commands.json").read_text())
    home = next(line.split("=", 1)[1] for line in (build / "CMakeCache.txt").read_text().splitlines()
                if line.startswith("CMAKE_HOME_DIRECTORY:"))
    folders = collections.defaultdict(list)
    for entry in commands:
        folder = top_folder(entry["file"], home)
        if arguments.only in (None, folder):
            folders[folder].append(entry)
    drawn = draw(folders, arguments.sample, home) if arguments.sample else folders
    seconds = measure(drawn, arguments.jobs)
    print_table(folders, seconds)
    if arguments.files:
        with open(arguments.files, "w") as out:
            for name, entries in drawn.items():
                for entry, time in zip(entries, seconds[name]):
                    out.write(f"{time:.2f} {os.path.relpath(entry['file'], home)}\n")


if __name__ == "__main__":
    main()
