"""A worker of a parameter server whose loss is the caller's own."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Mapping, Sequence
from ctypes import c_int32, c_void_p
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _parameters_library as c
from ._errors import Closed, InvalidArgument, error_of
from ._library import text

Floats = npt.NDArray[np.float32]

_SLICE_MS = 100
"""Between two waits of this length Python hears Ctrl+C."""


@dataclass(frozen=True)
class ParametersReport:
    """What the exchanges were, since the worker joined. Versions count merges."""

    rule: str
    """The shards' rule: "sync"."""
    window: int
    """Gradients between two exchanges."""
    version: int
    """Of the first shard, when the arrays were read last."""
    pushes: int
    """Exchanges that were answered."""
    late: int
    """Of them, those that came after their round and changed nothing."""
    kept: int
    """Pushes that are in a checkpoint of every shard."""
    staleness: float
    """Of the last exchange: merges of others since the arrays were read."""
    staleness_mean: float
    staleness_max: float
    wait_s: float
    """Seconds spent waiting for shards."""
    waits: str
    """The shard that is waited for, and what may be done; "": none."""


def _view(given: Any) -> npt.NDArray[Any]:
    """The numbers of an array of any library, in place where it lets them be read."""
    if not isinstance(given, np.ndarray) and hasattr(given, "__dlpack__") and not hasattr(given, "__array__"):
        return np.from_dlpack(given)
    return np.asarray(given)


class _Mirror:
    """An array of the caller's, and its numbers as the library reads and writes them: the same memory where it is
    float32 in C order and may be written, else a copy."""

    def __init__(self, name: str, given: Any) -> None:
        self.theirs = _view(given)
        if self.theirs.dtype.kind not in "fiu":
            raise InvalidArgument(f"the array {name!r} holds {self.theirs.dtype}, expected numbers")
        ours = self.theirs
        if ours.dtype != np.float32 or not ours.flags.c_contiguous or not ours.flags.writeable:
            ours = np.array(self.theirs, np.float32, order="C")
        self.ours: Floats = ours
        self.copied = ours is not self.theirs
        self.writes_back = self.copied and self.theirs.flags.writeable and self.theirs.dtype.kind == "f"

    def read(self) -> None:
        """What the caller has stepped itself."""
        if self.writes_back:
            self.ours[...] = self.theirs

    def write(self) -> None:
        if self.writes_back:
            self.theirs[...] = self.ours


class Parameters:
    """Joins the model whose arrays these are, at one or several shards (`murmurate params`), and reads its numbers.

        w, b = np.zeros((784, 10), np.float32), np.zeros(10, np.float32)
        with murmurate.Parameters("ipc:///tmp/murmurate-own", {"w": w, "b": b}) as parameters:
            for _ in range(1000):
                dw, db = gradients(w, b)
                parameters.push({"w": dw, "b": db}, 0.01)      # w and b are the others' too, now

    addresses   the shards', in the order of their numbers: one text, or several
    arrays      names and arrays; all workers have the same, in the same order. Those of float32 in C order (NumPy, or
                what shares its memory by DLPack or __array__, as CPU tensors of PyTorch do) are used where they lie;
                others are copied at each exchange. Where an array cannot be written, read `parameters.arrays`.
    worker      a number of its own among the model's workers; the model begins with the arrays of worker 0
    model       its name at the shards
    optimizer   of the local steps that `push` makes under the rules that have some: sgd, momentum, adam, rmsprop, adagrad
    max_grad_norm  each gradient is clipped to this length; 0: never
    overlap     the arrays may be stepped also between a call with wait=False and `wait`
    messages_only  no shared memory with a shard of this host
    timeout     seconds to wait for the shards at first; None: for ever. TimeoutError then.
    log         gets (level, text): 1 information, 2 a warning; None: warnings go to stderr

    The rule (sync, asgd, downpour...) is the shards'. One thread at a time uses an object. See docs/parameters.md.
    """

    def __init__(
        self, addresses: str | Sequence[str], arrays: Mapping[str, Any], *, worker: int = 0, model: str = "default",
        optimizer: str = "sgd", max_grad_norm: float = 0.0, overlap: bool = False, messages_only: bool = False,
        timeout: float | None = None, log: Callable[[int, str], None] | None = None,
    ) -> None:  # fmt: skip
        self._handle: int | None = None
        self._library = c.library()
        self._mirrors = {name: _Mirror(name, array) for name, array in arrays.items()}
        self._copied = [mirror for mirror in self._mirrors.values() if mirror.writes_back]
        self._pointers = (c_void_p * max(1, len(arrays)))()
        options = c.Options(ctypes.sizeof(c.Options), worker, model.encode(), optimizer.encode(), max_grad_norm,
                            overlap, messages_only)  # fmt: skip
        if log is not None:
            told = log
            self._log = options.log = c.LOG(lambda _, level, said: told(level, text(said)))
        listed = addresses if isinstance(addresses, str) else ",".join(addresses)
        self._handle = self._library.mmr_parameters_open(listed.encode(), self._array_list(), len(arrays), options)
        if self._handle is None:
            raise error_of(InvalidArgument.status, text(self._library.mmr_parameters_last_error()))
        try:
            if not self.pull(timeout=timeout):
                raise TimeoutError(self.report.waits or "the shards have not answered yet")
        except BaseException:
            self.close()
            raise

    def _array_list(self) -> Any:
        listed = (c.Array * max(1, len(self._mirrors)))()
        for at, (name, mirror) in zip(listed, self._mirrors.items()):
            shape = mirror.ours.shape
            at.size, at.dimensions, at.name = ctypes.sizeof(c.Array), len(shape), name.encode()
            at.shape, at.values = (c_int32 * max(1, len(shape)))(*shape), mirror.ours.ctypes.data
        return listed

    @property
    def arrays(self) -> dict[str, Floats]:
        """The model's numbers as they were read last: float32, views and not copies."""
        return {name: mirror.ours for name, mirror in self._mirrors.items()}

    def push(
        self, gradients: Mapping[str, Any] | Sequence[Any], learning_rate: float, *, wait: bool = True,
        timeout: float | None = None,
    ) -> bool:  # fmt: skip
        """Pushes a gradient, by the arrays' names or in their order, and waits until the arrays hold the answer. Under
        a rule with local steps it steps the arrays, and exchanges them when the window is full. False: `timeout`
        seconds are over, or with wait=False the exchange goes on: call `wait` later, before the next call."""
        in_order = [gradients[name] for name in self._named(gradients)] if isinstance(gradients, Mapping) else gradients
        if len(in_order) != len(self._mirrors):
            raise InvalidArgument(f"got {len(in_order)} gradients, expected {len(self._mirrors)}, one for each array")
        held = []
        for i, (mirror, given) in enumerate(zip(self._mirrors.values(), in_order)):
            gradient = given if type(given) is np.ndarray else _view(given)
            if gradient.dtype != np.float32 or not gradient.flags.c_contiguous:
                gradient = np.ascontiguousarray(gradient, np.float32)
            if gradient.size != mirror.ours.size:
                name = list(self._mirrors)[i]
                raise InvalidArgument(
                    f"the gradient of {name!r} has the shape {gradient.shape}, expected {mirror.ours.shape}"
                )
            self._pointers[i] = gradient.__array_interface__["data"][0]
            held.append(gradient)
        for mirror in self._copied:
            mirror.read()
        pushed = self._library.mmr_parameters_push(self._open(), self._pointers, len(held), learning_rate)
        c.check(pushed)
        return self.wait(timeout if wait else 0)

    def exchange(self, steps: int = 1, *, wait: bool = True, timeout: float | None = None) -> bool:
        """Exchanges the arrays as they are, after `steps` steps that the caller made of them since the last exchange:
        under the rules in delta form and the elastic ones."""
        for mirror in self._copied:
            mirror.read()
        c.check(self._library.mmr_parameters_exchange(self._open(), steps))
        return self.wait(timeout if wait else 0)

    def pull(self, *, wait: bool = True, timeout: float | None = None) -> bool:
        """Reads the center into the arrays; under the elastic rules only the first time, as they keep their own."""
        c.check(self._library.mmr_parameters_pull(self._open()))
        return self.wait(timeout if wait else 0)

    def wait(self, timeout: float | None = None) -> bool:
        """True when nothing is under way any more and the arrays hold the answer; False: `timeout` seconds are over.
        Ctrl+C ends it."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _SLICE_MS if until is None else max(0, min(_SLICE_MS, int(1000 * (until - time.monotonic()))))
            if c.check(self._library.mmr_parameters_wait(self._open(), left)):
                for mirror in self._copied:
                    mirror.write()
                return True
            if until is not None and time.monotonic() >= until:
                return False

    @property
    def report(self) -> ParametersReport:
        now = c.Report(ctypes.sizeof(c.Report))
        c.check(self._library.mmr_parameters_get_report(self._open(), now))
        return ParametersReport(
            rule=text(now.rule), window=now.window, version=now.version, pushes=now.pushes, late=now.late,
            kept=now.kept, staleness=now.staleness, staleness_mean=now.staleness_mean,
            staleness_max=now.staleness_max, wait_s=now.wait_s, waits=text(now.waits),
        )  # fmt: skip

    def close(self) -> None:
        """Leaves the model; the shards do not wait for this worker any more."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._library.mmr_parameters_close(handle)

    def _open(self) -> int:
        if self._handle is None:
            raise Closed("these Parameters are closed: make others")
        return self._handle

    def _named(self, gradients: Mapping[str, Any]) -> list[str]:
        names = list(self._mirrors)
        if gradients.keys() != self._mirrors.keys():
            raise InvalidArgument(f"the gradients are those of {sorted(gradients)}, expected {sorted(names)}")
        return names

    def __enter__(self) -> Parameters:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()
