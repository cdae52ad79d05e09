"""A campaign: stages, each with its own time limit, whose results are written as soon as they are
there, so that a campaign that is cut off keeps what was done.

  results.json   all that was found, stage by stage
  table.txt      one line a stage
  log.txt        the output of every program that was run
"""

import dataclasses
import json
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

TOTAL_S = 520  # of a call, which must end within nine minutes


class Skipped(Exception):
    """A stage cannot run here; the sentence says why."""


class Failed(Exception):
    """A stage found something wrong; the sentence says what. `output`: of the program that did."""

    def __init__(self, sentence, output=""):
        super().__init__(sentence)
        self.output = output


class NoDevice(Exception):
    """There is nothing to run on; the sentence says what is missing."""


@dataclasses.dataclass
class Ran:
    code: int
    output: str
    errors: str

    def lines(self):
        """The lines of JSON in the output."""
        return [json.loads(line) for line in self.output.splitlines() if line.startswith("{")]

    def sentence(self):
        """The last thing that was said."""
        said = (self.errors.strip() or self.output.strip()).splitlines()
        return said[-1] if said else f"exit code {self.code}"


def end_group(process):
    """The process and all that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


class Campaign:
    def __init__(self, folder, call, device="cuda:0", small=False, total_s=TOTAL_S):
        self.folder, self.call, self.device, self.small = folder, call, device, small
        self.out = pathlib.Path(os.environ.get("OUT", "gpu-campaign-results")).resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="murmurate-"))
        self.ends = time.monotonic() + total_s
        self.stage_ends = self.ends
        self.figures = []
        self.results = self.earlier()
        self.results[call] = {"commit": (folder / "commit").read_text().strip(),
                              "date": time.strftime("%Y-%m-%d"),
                              "trial": small or device == "host", "stages": []}
        self.environment = self.environment_of_programs()

    def earlier(self):
        """The results of other calls that lie there."""
        try:
            return json.loads((self.out / "results.json").read_text())
        except (OSError, ValueError):
            return {}

    def environment_of_programs(self):
        given = os.environ
        def joined(name, *before):
            return ":".join([*map(str, before), *filter(None, [given.get(name, "")])])
        cuda = python_libraries()
        return given | {  # libraries of CUDA look for each other where the loader looks
            "LD_LIBRARY_PATH": joined("LD_LIBRARY_PATH", self.folder / "lib", *cuda),
            "MURMURATE_CUDA_PATH": joined("MURMURATE_CUDA_PATH", *cuda),
            "XDG_RUNTIME_DIR": str(self.work),
        } | ({} if self.device == "host" else {"MURMURATE_TEST_DEVICE": self.device})

    def program(self, name):
        return str(self.folder / "bin" / name)

    def bench(self, name):
        return [self.program(name), "--device", self.device, *(["--small"] if self.small else [])]

    def left_s(self):
        return self.stage_ends - time.monotonic()

    def log(self, text):
        with open(self.out / "log.txt", "a") as file:
            file.write(text if text.endswith("\n") else text + "\n")

    def start(self, command, **more):
        """A process in a group of its own, which end_group ends."""
        self.log("$ " + " ".join(command))
        # Python has libraries of its own.
        environment = os.environ if command[0] == sys.executable else self.environment
        return subprocess.Popen(command, text=True, cwd=self.work, env=environment,
                                start_new_session=True, **more)

    def run(self, command, expect=0, **more):
        """Runs it within the stage's time."""
        process = self.start(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, **more)
        late = False
        try:
            output, errors = process.communicate(timeout=max(self.left_s(), 0.1))
        except subprocess.TimeoutExpired:
            late = True
            end_group(process)
            output, errors = process.communicate()
        except BaseException:
            end_group(process)
            raise
        self.log(output + errors)
        ran = Ran(process.returncode, output, errors)
        if late:
            self.figures += ran.lines()
            raise Failed("it was ended: no time was left for it", output)
        if expect is not None and ran.code != expect:
            raise Failed(f"exit code {ran.code} of {pathlib.Path(command[0]).name}: "
                         f"{ran.sentence()}")
        return ran

    def stage(self, name, limit_s, work):
        """`work(campaign)` gives figures; what it put into self.figures counts, too."""
        start = time.monotonic()
        self.stage_ends = min(self.ends, start + limit_s)
        self.figures = []
        status, sentence, absent = "passed", "", None
        self.log(f"\n== {self.call}: {name}")
        try:
            if self.ends - start < min(limit_s, 3):
                raise Skipped("no time was left for it")
            self.figures += work(self) or []
        except Skipped as why:
            status, sentence = "skipped", str(why)
        except Failed as why:
            status, sentence = "FAILED", str(why)
        except NoDevice as why:
            status, sentence, absent = "FAILED", str(why), why
        except Exception as fault:  # the others go on
            status, sentence = "FAILED", f"{type(fault).__name__}: {fault}"
            self.log(traceback.format_exc())
        self.results[self.call]["stages"].append(
            {"stage": name, "status": status, "seconds": round(time.monotonic() - start, 2),
             "sentence": sentence, "figures": self.figures})
        self.write()
        if absent is not None:
            raise absent

    def write(self):
        text = json.dumps(self.results, indent=1)
        beside = self.out / "results.json.new"
        beside.write_text(text + "\n")
        beside.replace(self.out / "results.json")
        (self.out / "table.txt").write_text(self.table(self.results))

    def table(self, calls):
        lines = []
        for call in calls:
            result = self.results[call]
            lines.append(f"{call}, commit {result['commit']}, {result['date']}")
            for stage in result["stages"]:
                lines.append(f"  {stage['status']:8} {stage['seconds']:7.1f} s  {stage['stage']}"
                             + (f": {stage['sentence']}" if stage["sentence"] else ""))
                lines += [f"    {line}" for line in lines_of(stage["figures"])]
        return "\n".join(lines) + "\n"

    def failed(self):
        return [stage["stage"] for stage in self.results[self.call]["stages"]
                if stage["status"] == "FAILED"]

    def close(self):
        shutil.rmtree(self.work, ignore_errors=True)


class Peer:
    """A program that answers names of rows on stdin with lines of JSON, so that two of them can be
    asked in turns. It is started when it is first asked, and again after it was ended."""

    def __init__(self, campaign, name, command):
        self.campaign, self.name, self.command = campaign, name, command
        self.errors = campaign.work / f"errors-{id(self)}"
        self.process, self.lines = None, None

    def ask(self, row):
        if self.process is None:
            with open(self.errors, "w") as errors:
                self.process = self.campaign.start(self.command, stdin=subprocess.PIPE,
                                                   stdout=subprocess.PIPE, stderr=errors)
            self.lines = queue.Queue()
            threading.Thread(target=self.read, args=(self.process.stdout, self.lines),
                             daemon=True).start()
        try:
            self.process.stdin.write(row + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended, as the missing answer says
        while not (line := self.answer()).startswith("{"):
            self.campaign.log(line)  # what a library says
        self.campaign.log(line)
        return json.loads(line)

    @staticmethod
    def read(output, lines):
        with output:
            for line in output:
                lines.put(line)
        lines.put("")

    def answer(self):
        late = False
        try:
            line = self.lines.get(timeout=max(self.campaign.left_s(), 0.1))
        except queue.Empty:
            line, late = "", True
        if line:
            return line
        code = None if late else self.process.wait()
        self.end()
        said = self.errors.read_text()
        self.campaign.log(said)
        if late:
            raise Failed("it was ended: no time was left for it")
        raise Failed(Ran(code, "", said).sentence())

    def end(self):
        if self.process is None:
            return
        end_group(self.process)
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process = None


def python_libraries():
    """Where pip put the libraries of CUDA for this Python."""
    return [folder for place in dict.fromkeys(sys.path) if place.endswith("-packages")
            for folder in sorted(pathlib.Path(place).glob("nvidia/*/lib"))]


LEADING = "row", "by", "probe", "test", "example"


def words(figure):
    def text(value):
        if isinstance(value, list):
            return " ".join(map(text, value))
        return f"{value:.4g}" if isinstance(value, float) else str(value)
    leading = [text(figure[name]) for name in LEADING if name in figure]
    others = [f"{name} {text(value)}" for name, value in figure.items()
              if name not in LEADING and value != ""]
    return ", ".join(leading + others)


def lines_of(figures):
    """Tests that passed are counted."""
    passed = [figure for figure in figures if figure.get("result") == "OK"]
    if passed:
        yield f"{len(passed)} tests passed"
    for figure in figures:
        if figure.get("result") != "OK":
            yield words(figure)
