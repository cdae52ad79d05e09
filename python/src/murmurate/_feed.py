"""feed: samples with their labels from a Python generator to a learner. No Gymnasium here."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _library as c
from . import _spaces as spaces
from ._agent import Agent
from ._buffers import Actions, Observations, array_of
from ._client import Client
from ._errors import InvalidArgument, LearnerGone, Refused
from ._library import check, library
from ._spaces import Spaces, spaces_of

_ROWS = 1024
"""Samples of one call; more than enough that the call costs little beside them."""
_PATIENCE_S = 0.2
"""Single samples are handed on after that, however few they are."""


@dataclass
class Fed:
    """What `feed` comes to."""

    samples: int = 0  # handed to the learner
    seconds: float = 0.0
    generator_s: float = 0.0  # of them in the generator: what the learner may have waited for
    learner_s: float = 0.0  # of them waiting for the learner
    dropped: int = 0  # handed over, and never sent: the learner went away meanwhile
    lost: int = 0  # sent, and in no checkpoint when the learner died
    interrupted: bool = False  # by Ctrl+C

    def __str__(self) -> str:
        rate = self.samples / self.seconds if self.seconds > 0 else 0.0
        text = (
            f"{self.samples:,} samples in {self.seconds:.1f} s ({rate:,.0f} a second): {self.generator_s:.1f} s in the"
            f" generator, {self.learner_s:.1f} s waiting for the learner"
        )
        gone = self.dropped + self.lost
        return text + (f"; {gone:,} of them lost with a learner that went away" if gone else "")


def feed(
    address: str,
    generator: Iterable[Any],
    *,
    batches: bool = False,
    classes: int | None = None,
    model: str = "default",
    name: str | None = None,
    end: str | os.PathLike[str] | None = None,
    patience_s: float = 0.0,
    report_s: float = 10.0,
) -> Fed:
    """Hands the samples of `generator` to the learner at `address`, whose config has
    `algorithm.name = "supervised"` (or "bc"), until the generator ends or the learner has ended.

        def samples():
            while True:
                x = numpy.random.uniform(-1, 1, 2).astype("float32")
                yield x, numpy.sin(3 * x[:1])

        print(murmurate.feed("tcp://127.0.0.1:7420", samples()))

    It yields (x, y), or with `batches` (X, Y) whose first axis counts samples. x: numbers, bytes
    (uint8), or a dict of such arrays. y: floats (regression), or whole numbers from 0 to
    `classes` - 1, which must be given then. The first sample says the shapes.

    The generator is asked for no more than the learner takes: its samples wait while the learner
    gives no credit, has not started or is gone (`patience_s`: at most so long after it answered
    once, then LearnerGone; 0: for ever). Nothing is held besides 1024 samples and what the client
    sends. `end`: a run's folder ("runs/serve"), on this machine: it is told to stop when the generator
    has ended. Ctrl+C ends it, and `Fed.interrupted` says so. Every `report_s` a line on stderr says
    how far it is; 0: none.
    """
    stop = None if end is None else _stop_command(os.fspath(end))
    rows = _rows(generator, batches)
    fed, feeder, begun = Fed(), None, time.monotonic()
    client = Client(address, name=name, pace="credit", without_policy="wait")
    try:
        for x, y in _timed(rows, fed):
            if feeder is None:
                feeder = _Feeder(client, fed, x, y, classes, model, patience_s, report_s)
            if not feeder.hand_over(x, y):
                break
    except KeyboardInterrupt:
        fed.interrupted = True
    finally:
        before = client.stats()
        client.close()
        fed.dropped, fed.lost = before.steps_dropped, before.trajectories_lost
        fed.seconds = time.monotonic() - begun
        close = getattr(generator, "close", None)
        if close is not None:
            close()
    if stop is not None and not fed.interrupted:
        subprocess.run(stop, check=True)
    return fed


def _stop_command(run: str) -> list[str]:
    executable = os.environ.get("MURMURATE_EXECUTABLE") or shutil.which("murmurate")
    if executable is None:
        raise InvalidArgument(
            f"end={run!r} stops a run by `murmurate stop`, and no murmurate is in the PATH: put it there, or leave end="
            " out and let run.steps end the run"
        )
    if not os.path.exists(os.path.join(run, "address.json")):
        raise InvalidArgument(f"end={run!r}: no learner runs there: give its folder, which `murmurate serve` prints")
    return [executable, "stop", run]


def _timed(rows: Iterator[Any], fed: Fed) -> Iterator[Any]:
    """The same, and how long it took to make them."""
    while True:
        begun = time.monotonic()
        try:
            row = next(rows, None)
        finally:
            fed.generator_s += time.monotonic() - begun
        if row is None:
            return
        yield row


def _pair(item: Any) -> tuple[Any, Any]:
    if isinstance(item, (tuple, list)) and len(item) == 2:
        return item[0], item[1]
    raise InvalidArgument(f"the generator gave a {type(item).__name__} where a pair (x, y) was expected")


def _map(value: Any, apply: Any) -> Any:
    if isinstance(value, dict):
        return {key: apply(inner) for key, inner in value.items()}
    return apply(value)


def _rows(generator: Iterable[Any], batches: bool) -> Iterator[tuple[Any, Any]]:
    """Batches of at most _ROWS samples."""
    if batches:
        for item in generator:
            x, y = _pair(item)
            x, y = _map(x, np.asarray), _map(y, np.asarray)
            count = _count(x, y)
            for first in range(0, count, _ROWS):
                cut = slice(first, first + _ROWS)
                yield _map(x, lambda part: part[cut]), _map(y, lambda part: part[cut])
        return
    xs: list[Any] = []
    ys: list[Any] = []
    since = time.monotonic()
    for item in generator:
        x, y = _pair(item)
        xs.append(x)
        ys.append(y)
        if len(xs) == _ROWS or time.monotonic() - since > _PATIENCE_S:
            yield _stacked(xs, "x"), _stacked(ys, "y")
            xs, ys, since = [], [], time.monotonic()
    if xs:
        yield _stacked(xs, "x"), _stacked(ys, "y")


def _stacked(samples: list[Any], name: str) -> Any:
    first = samples[0]
    try:
        if isinstance(first, dict):
            return {key: np.stack([np.asarray(sample[key]) for sample in samples]) for key in first}
        return np.stack([np.asarray(sample) for sample in samples])
    except (KeyError, ValueError) as error:
        raise InvalidArgument(f"the generator's {name} are not all of one shape ({error}): give each the same") from None


def _count(x: Any, y: Any) -> int:
    parts = [*(x.values() if isinstance(x, dict) else [x]), *(y.values() if isinstance(y, dict) else [y])]
    counts = {part.shape[0] if part.ndim > 0 else -1 for part in parts}
    if len(counts) == 1 and -1 not in counts:
        return int(counts.pop())
    raise InvalidArgument(
        f"a batch has parts of the shapes {', '.join(str(part.shape) for part in parts)}: each needs a first axis of as"
        " many samples (or leave batches= out, for single samples)"
    )


def _observation_space(part: Any) -> Any:
    if part.dtype.kind not in "fiub":
        raise InvalidArgument(f"x holds {part.dtype} where numbers were expected")
    shape = part.shape[1:] or (1,)
    return spaces.Box(shape, 0, 255, np.uint8) if part.dtype == np.uint8 else spaces.Box(shape)


def _label_space(part: Any, classes: int | None) -> Any:
    if part.dtype.kind == "f":
        return spaces.Box(part.shape[1:] or (1,))
    if part.dtype.kind not in "iub":
        raise InvalidArgument(f"y holds {part.dtype} where floats or whole numbers were expected")
    if classes is None:
        raise InvalidArgument("y holds whole numbers: give classes=, how many there are, or floats for regression")
    return spaces.Discrete(classes) if part.ndim == 1 else spaces.MultiDiscrete([classes] * int(np.prod(part.shape[1:])))


def _space(value: Any, of: Any) -> Any:
    return spaces.Dict({key: of(part) for key, part in value.items()}) if isinstance(value, dict) else of(value)


class _Feeder:
    """Hands batches to one learner."""

    def __init__(
        self,
        client: Client,
        fed: Fed,
        x: Any,
        y: Any,
        classes: int | None,
        model: str,
        patience_s: float,
        report_s: float,
    ) -> None:
        seen = _space(x, _observation_space)
        done = _space(y, lambda part: _label_space(part, classes))
        self._client, self._fed = client, fed
        self._patience_s, self._report_s = patience_s, report_s
        self._agent: Agent = client.agent(seen, done, model=model)
        self._seen: Spaces = spaces_of(seen, action=False)
        self._done: Spaces = spaces_of(done, action=True)
        self._buffers: dict[int, tuple[Observations, Actions]] = {}
        self._recorded, self._waited = ctypes.c_uint64(), ctypes.c_double()
        self._absent_since: float | None = None
        self._begun = self._said = time.monotonic()

    def hand_over(self, x: Any, y: Any) -> bool:
        """False: the learner has ended for good."""
        count = _count(x, y)
        observations, actions = self._rows_of(count)
        observations.write(self._shaped(x, self._seen))
        actions.write(self._shaped(y, self._done))
        first = 0
        while first < count:
            if first > 0:  # what is left begins the buffers
                observations.write(self._shaped(_map(x, lambda part: self._rest(part, first)), self._seen))
                actions.write(self._shaped(_map(y, lambda part: self._rest(part, first)), self._done))
            going_on, went = self._call(observations, actions, count - first)
            first += went
            self._fed.samples += went
            if not going_on:
                return False
        return True

    @staticmethod
    def _rest(part: Any, first: int) -> Any:
        """From sample `first` on, as many rows as there were."""
        return np.roll(part, -first, axis=0)

    def _rows_of(self, count: int) -> tuple[Observations, Actions]:
        if count not in self._buffers:
            if len(self._buffers) >= 4:
                self._buffers.clear()
            self._buffers[count] = (Observations(self._seen, self._done, count), Actions(self._done, count))
        return self._buffers[count]

    @staticmethod
    def _shaped(value: Any, of: Spaces) -> Any:
        """With the axes that its space has: a number is a row of one."""
        shapes = {leaf.path: leaf.shape for leaf in of.leaves}

        def shape(part: Any, path: tuple[Any, ...]) -> Any:
            part = array_of(part, "the generator's sample")
            wanted = (part.shape[0], *shapes.get(path, part.shape[1:]))
            return part.reshape(wanted) if part.size == int(np.prod(wanted)) else part

        if isinstance(value, dict):
            return {key: shape(part, (key,)) for key, part in value.items()}
        return shape(value, ())

    def _call(self, observations: Observations, actions: Actions, count: int) -> tuple[bool, int]:
        """Whether the learner is still there, and how many of the samples went."""
        status = library.mmr_record_samples(
            self._agent._handle, observations.structs, actions.structs, count, self._recorded, self._waited
        )
        self._fed.learner_s += self._waited.value
        self._report()
        if status not in (c.UNAVAILABLE, 0):
            check(status)
        return (status == 0 or self._ask()), int(self._recorded.value)

    def _ask(self) -> bool:
        state = self._client.state()
        if state.state == "refused":
            raise Refused(f"{self._client.address}: {state.reason}")
        if state.in_session:
            self._absent_since = None
        elif self._absent_since is None:
            self._absent_since = time.monotonic()
        absent_s = 0.0 if self._absent_since is None else time.monotonic() - self._absent_since
        if 0 < self._patience_s < absent_s:
            raise LearnerGone(
                f"the learner at {self._client.address} has been gone for {self._patience_s:g} s; start it again, or"
                " let it be waited for longer with patience_s= (0: for ever)"
            )
        return not state.should_stop

    def _report(self) -> None:
        now = time.monotonic()
        if self._report_s <= 0 or now - self._said < self._report_s:
            return
        self._said, self._fed.seconds = now, now - self._begun
        print(self._fed, file=sys.stderr, flush=True)
