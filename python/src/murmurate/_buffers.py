"""Memory that observations are written to and actions read from: made once, bound to the C structs
once, so that a step copies numbers and calls C, and nothing else.

`count` None: of one agent. Else of a group: every array has a first axis of that size.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _library as c
from ._errors import InvalidArgument
from ._spaces import MASK_KEY, Leaf, Spaces, as_float32

_DTYPES: dict[int, Any] = {c.FLOAT32: np.float32, c.UINT8: np.uint8, c.INT32: np.int32}
Write = Callable[[Any], None]


def _address(array: Any, i: int = 0) -> int:
    """Of row i."""
    return int(array.ctypes.data) + (array.strides[0] * i if array.ndim > 1 else 0)


def at(value: Any, path: tuple[Any, ...], what: str = "the observation") -> Any:
    found, been = value, [what]
    for key in path:
        try:
            found = found[key]
        except (IndexError, KeyError, TypeError):
            given = f"the keys {', '.join(map(str, found))}" if isinstance(found, dict) else shown(found)
            raise InvalidArgument(
                f"{'.'.join(been)} is {given} where its space has a part {str(key)!r}: give it in the form of its space"
            ) from None
        been.append(str(key))
    return found


def shown(value: Any) -> str:
    """What was passed, short, with its type."""
    shape = getattr(value, "shape", None)
    if shape not in (None, ()):
        return f"an array of the shape {tuple(shape)}"
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"


def number_of(value: Any, what: str) -> float:
    """One number, also as an array of one."""
    try:
        array = np.asarray(value)
        if array.size == 1 and array.dtype.kind in "fiub":
            return float(array.item())
    except (TypeError, ValueError):  # a list of lists of several lengths
        pass
    raise InvalidArgument(f"{what} is {shown(value)} where one number was expected")


def _view(memory: Any, lead: tuple[int, ...], leaf: Leaf) -> Any:
    """`memory` with the axes of the environment's value."""
    if leaf.order is None:
        return memory.reshape(lead + leaf.shape)
    turned = memory.reshape(lead + tuple(leaf.shape[axis] for axis in leaf.order))
    back = tuple(len(lead) + int(axis) for axis in np.argsort(leaf.order))
    return turned.transpose(tuple(range(len(lead))) + back)


def array_of(value: Any, name: str) -> Any:
    try:
        return np.asarray(value)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name} is no array: its rows are of several lengths ({shown(value)})") from None


def _writer(target: Any, leaf: Leaf, what: str) -> Write:
    shape, name = target.shape, ".".join(str(key) for key in (what, *leaf.path))
    start = leaf.start if np.any(leaf.start) else None

    def write(value: Any) -> None:
        try:
            fits = value.shape == shape
        except AttributeError:
            value = array_of(value, name)
            fits = value.shape == shape
        if not fits:
            raise InvalidArgument(f"{name} has the shape {value.shape} where its space has {shape}")
        try:
            target[...] = value if start is None else value - start
        except (TypeError, ValueError):
            raise InvalidArgument(f"{name} holds {shown(value.ravel()[0])} where its space has numbers") from None

    return write


class Observations:
    """What agents see; `structs` without and with their masks, an element for each agent."""

    def __init__(self, spaces: Spaces, action: Spaces, count: int | None, what: str = "the observation") -> None:
        lead = () if count is None else (count,)
        self.spaces, self._what = spaces, what
        self.writers: list[tuple[tuple[Any, ...], Write]] = []
        self.memory: list[Any] = []
        for leaf in spaces.leaves:
            element = leaf.element if leaf.kind == c.BOX else c.INT32
            memory = np.zeros((*lead, leaf.size), _DTYPES[element])
            self.memory.append(memory)
            self.writers.append((leaf.path, _writer(_view(memory, lead, leaf), leaf, what)))
        self.mask_bytes = sum(sum(leaf.counts) for leaf in action.leaves)
        self.mask = np.ones((*lead, self.mask_bytes), np.uint8)
        self._mask_parts = [leaf.path for leaf in action.leaves if leaf.counts]
        self._bind(count or 1)

    def _bind(self, rows: int) -> None:
        width = len(self.memory)
        self._inputs = (c.Input * (rows * width))()
        self.structs = (c.Observation * rows)()
        self.masked_structs = (c.Observation * rows)()
        for i in range(rows):
            for place, (memory, leaf) in enumerate(zip(self.memory, self.spaces.leaves)):
                given = self._inputs[i * width + place]
                given.size = ctypes.sizeof(c.Input)
                given.element = leaf.element if leaf.kind == c.BOX else c.INT32
                given.name = leaf.name.encode() if self.spaces.nested else None
                given.values, given.count = _address(memory, i), leaf.size
            first = ctypes.pointer(self._inputs[i * width])
            for struct in (self.structs[i], self.masked_structs[i]):
                struct.size = ctypes.sizeof(c.Observation)
                struct.inputs, struct.input_count = first, width
            self.masked_structs[i].allowed = _address(self.mask, i)
            self.masked_structs[i].allowed_count = self.mask_bytes

    def write(self, value: Any) -> None:
        for path, write in self.writers:
            write(at(value, path, self._what))

    def write_mask(self, value: Any, mask: Any) -> bool:
        """The mask given, or the one in the observation; False: there is none."""
        if mask is None:
            if not self.spaces.masked:
                return False
            mask = at(value, (MASK_KEY,))
        given = array_of(self._flat(mask), "the action mask")
        if given.shape != self.mask.shape:
            raise InvalidArgument(
                f"the action mask has the shape {given.shape} where {self.mask.shape} was expected: one entry for each"
                " choice of each discrete variable"
            )
        np.not_equal(given, 0, out=self.mask, casting="unsafe")
        return True

    def _flat(self, mask: Any) -> Any:
        """A mask in parts, as Gymnasium's `sample(mask)` takes them, put together."""
        if isinstance(mask, dict):
            mask = tuple(at(mask, path, "the action mask") for path in self._mask_parts)
        if isinstance(mask, tuple):
            return np.concatenate([array_of(self._flat(part), "the action mask") for part in mask], axis=-1)
        return mask


class Actions:
    """What agents do."""

    def __init__(self, spaces: Spaces, count: int | None) -> None:
        lead = () if count is None else (count,)
        self.spaces, self._lead = spaces, lead
        sizes = [sum(leaf.size for leaf in spaces.leaves if leaf.continuous is kind) for kind in (False, True)]
        self.choices = np.zeros((*lead, sizes[0]), np.int32)
        self.numbers = np.zeros((*lead, sizes[1]), np.float32)
        self.readers: list[Callable[[], Any]] = []
        self._writers: list[Write] = []
        first = [0, 0]
        for leaf in spaces.leaves:
            kind = int(leaf.continuous)
            memory = (self.choices, self.numbers)[kind][..., first[kind] : first[kind] + leaf.size]
            first[kind] += leaf.size
            self.readers.append(self._reader(leaf, memory.reshape(lead + leaf.shape)))
            self._writers.append(_writer(memory.reshape(lead + leaf.shape), leaf, "the action"))
        rows = count or 1
        self.structs = (c.Action * rows)()
        for i in range(rows):
            struct = self.structs[i]
            struct.size = ctypes.sizeof(c.Action)
            struct.choices, struct.choice_count = _address(self.choices, i) if sizes[0] else None, sizes[0]
            struct.numbers, struct.number_count = _address(self.numbers, i) if sizes[1] else None, sizes[1]

    def _reader(self, leaf: Leaf, memory: Any) -> Callable[[], Any]:
        dtype, start, low, high = leaf.dtype, leaf.start, leaf.low, leaf.high
        if leaf.kind == c.DISCRETE and leaf.shape == () and not self._lead:
            return lambda: memory.item() + start
        if not leaf.continuous:
            return (lambda: memory.astype(dtype) + start) if np.any(start) else lambda: memory.astype(dtype)
        # What murmurate leaves to the environment: whole numbers, bounds on some of them, and bounds
        # that float32 has not got (0.1 as float32 is a little more).
        if dtype.kind in "iu":
            return lambda: np.asarray(np.rint(np.clip(memory, low, high)), dtype)
        kept = as_float32(low), as_float32(high)
        finite = [np.isfinite(bound) for bound in kept]
        if np.array_equal(kept, (low, high)) and (np.all(finite) or not np.any(finite)):
            return lambda: memory.astype(dtype)
        return lambda: np.asarray(np.clip(memory.astype(dtype), low, high), dtype)

    def read(self) -> Any:
        """A copy, as the environment's space has it."""
        return self._build(self.spaces.tree)

    def _build(self, tree: Any) -> Any:
        if isinstance(tree, int):
            return self.readers[tree]()
        if isinstance(tree, dict):
            return {key: self._build(inner) for key, inner in tree.items()}
        return tuple(self._build(inner) for inner in tree)

    def write(self, value: Any) -> None:
        for leaf, write in zip(self.spaces.leaves, self._writers):
            write(at(value, leaf.path, "the action"))
