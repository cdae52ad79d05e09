"""Spaces: Gymnasium's, as the learner takes them: named leaves of a few kinds, no nesting.

A space is asked for what it is by its class's name, so that Gymnasium is needed only by who makes
spaces, and old Gym or a subclass serves as well.

  Gymnasium              observation                          action
  Box                    float32 numbers                      numbers, clipped to the bounds
  Box uint8, 0..255      bytes, an image (h, w, channels)     numbers
  Discrete(n, start)     a category                           one choice
  MultiDiscrete          categories                           a choice for each
  MultiBinary            flags                                switches
  Dict, Tuple            leaves named by their keys, or place, joined by "_" where they nest
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _library as c
from ._errors import InvalidArgument

Path = tuple[Any, ...]
MASK_KEY = "action_mask"


@dataclass(frozen=True)
class Box:
    """So many float32 numbers, or bytes; bounds are an action's. For programs without Gymnasium, whose
    own order (low, high, shape) is refused: name the arguments where both are used."""

    shape: tuple[int, ...]
    low: Any = -np.inf
    high: Any = np.inf
    dtype: Any = np.float32

    def __post_init__(self) -> None:
        if isinstance(self.shape, (int, np.integer)) and self.shape > 0:
            object.__setattr__(self, "shape", (int(self.shape),))
        if not isinstance(self.shape, (tuple, list)) or not all(
            isinstance(n, (int, np.integer)) and n > 0 for n in self.shape
        ):
            raise InvalidArgument(
                f"Box: got the shape {self.shape!r}, expected a tuple of sizes such as (8,): murmurate.Box(shape, low, high)"
            )


@dataclass(frozen=True)
class Discrete:
    n: int
    start: int = 0


@dataclass(frozen=True)
class MultiDiscrete:
    nvec: Any
    start: Any = 0


@dataclass(frozen=True)
class MultiBinary:
    n: Any


@dataclass(frozen=True)
class Dict:
    spaces: dict[str, Any]


@dataclass(frozen=True)
class Leaf:
    """One leaf as murmurate has it, and how a value of the environment's space becomes it."""

    path: Path  # where in a value of the space
    kind: int
    shape: tuple[int, ...]  # of the environment's value; () for a Discrete
    dtype: Any
    sent_shape: tuple[int, ...]  # of a box as sent
    order: tuple[int, ...] | None = None  # axes of `shape` in the order sent; None: as they are
    element: int = c.FLOAT32
    counts: tuple[int, ...] = ()  # choices of each variable
    start: Any = 0
    low: Any = None  # of each number of a box
    high: Any = None
    name: str = ""

    @property
    def size(self) -> int:
        """Numbers, choices or flags."""
        return int(np.prod(self.sent_shape, dtype=np.int64))

    @property
    def continuous(self) -> bool:
        return self.kind == c.BOX


@dataclass(frozen=True)
class Spaces:
    """The leaves of one side, and the shape they are put together to: a leaf, a dict or a tuple."""

    leaves: tuple[Leaf, ...]
    tree: Any  # int (a leaf) | dict of trees | tuple of trees
    masked: bool = False  # an observation whose Dict has an action_mask

    @property
    def nested(self) -> bool:
        return len(self.leaves) > 1

    @property
    def plain(self) -> bool:
        """One float32 box."""
        leaf = self.leaves[0]
        return not self.nested and leaf.kind == c.BOX and leaf.element == c.FLOAT32


def _kind(space: Any) -> str:
    for base in type(space).__mro__:
        if base.__name__ in ("Box", "Discrete", "MultiDiscrete", "MultiBinary", "Dict", "Tuple"):
            return base.__name__
    raise InvalidArgument(
        f"the space {space} is a {type(space).__name__}: use Box, Discrete, MultiDiscrete, MultiBinary, Dict or Tuple"
        " (gymnasium.wrappers can turn one space into another)"
    )


def _image_order(shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Axes that put the channels of a pixel together, or None when they are, or it is no image."""
    if len(shape) == 3 and shape[0] < min(shape[1:]) and shape[0] <= 16:
        return (1, 2, 0)  # channels first
    if len(shape) == 4 and shape[0] <= 16 and shape[3] <= 16:
        return (1, 2, 0, 3)  # frames, then pictures
    return None


def _image_shape(shape: tuple[int, ...], order: tuple[int, ...] | None) -> tuple[int, ...]:
    if len(shape) == 2:
        return (*shape, 1)
    turned = tuple(shape[axis] for axis in order) if order else shape
    return (*turned[:2], turned[2] * turned[3]) if order and len(shape) == 4 else turned


def as_float32(bound: Any) -> Any:
    """As murmurate has it: infinite where float32 has no such number."""
    with np.errstate(over="ignore"):
        return np.asarray(bound, np.float32)


def _box(space: Any, path: Path, action: bool) -> Leaf:
    shape = tuple(int(n) for n in space.shape)
    dtype = np.dtype(space.dtype)
    low = np.broadcast_to(np.asarray(space.low, np.float64), shape)
    high = np.broadcast_to(np.asarray(space.high, np.float64), shape)
    if action:
        return Leaf(path, c.BOX, shape, dtype, shape or (1,), low=low, high=high)
    if dtype == np.uint8 and bool(np.all(high == 255)):
        order = _image_order(shape)
        return Leaf(path, c.BOX, shape, dtype, _image_shape(shape, order) or (1,), order, c.UINT8)
    return Leaf(path, c.BOX, shape, dtype, shape or (1,))


def _leaf(space: Any, path: Path, action: bool) -> Leaf:
    kind = _kind(space)
    if kind == "Box":
        return _box(space, path, action)
    if kind == "Discrete":
        start = int(getattr(space, "start", 0))
        return Leaf(path, c.DISCRETE, (), np.dtype(np.int64), (1,), counts=(int(space.n),), start=start)
    if kind == "MultiBinary":
        shape = (int(space.n),) if np.ndim(space.n) == 0 else tuple(int(n) for n in space.n)
        dtype = np.dtype(getattr(space, "dtype", None) or np.int8)
        return Leaf(path, c.MULTI_BINARY, shape, dtype, (int(np.prod(shape)),))
    nvec = np.asarray(space.nvec)
    dtype = np.dtype(getattr(space, "dtype", None) or np.int64)
    counts = tuple(int(n) for n in nvec.ravel())
    starts = np.broadcast_to(np.asarray(getattr(space, "start", 0)), nvec.shape)
    one = c.DISCRETE if len(counts) == 1 else c.MULTI_DISCRETE
    return Leaf(path, one, nvec.shape, dtype, (len(counts),), counts=counts, start=starts)


@dataclass
class _Gathering:
    action: bool
    masked: bool = False
    leaves: list[Leaf] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def name_for(self, path: Path) -> str:
        """Of [a-z0-9_]{1,32}, each once."""
        plain = re.sub("[^a-z0-9_]", "_", "_".join(str(key) for key in path).lower())[:32] or "_"
        name, again = plain, 2
        while name in self.names:
            end = f"_{again}"
            name, again = plain[: 32 - len(end)] + end, again + 1
        return name

    def walk(self, space: Any, path: Path) -> Any:
        kind = _kind(space)
        if kind == "Tuple":
            return tuple(self.walk(inner, (*path, place)) for place, inner in enumerate(space.spaces))
        if kind == "Dict":
            tree = {}
            for key, inner in space.spaces.items():
                if key == MASK_KEY and not path and not self.action:
                    self.masked = True
                else:
                    tree[key] = self.walk(inner, (*path, key))
            return tree
        self.names.append(self.name_for(path))
        self.leaves.append(_leaf(space, path, self.action))
        return len(self.leaves) - 1


def spaces_of(space: Any, *, action: bool) -> Spaces:
    """What one of Gymnasium's spaces, or one of this module's, is to murmurate."""
    gathering = _Gathering(action)
    tree = gathering.walk(space, ())
    if not gathering.leaves:
        raise InvalidArgument(f"the space {space} has nothing in it: give it at least one leaf")
    named = zip(gathering.leaves, gathering.names)
    leaves = tuple(Leaf(**{**leaf.__dict__, "name": name}) for leaf, name in named)
    return Spaces(leaves, tree, gathering.masked)


class CSpace:
    """A side as an mmr_space; keeps what it points at."""

    def __init__(self, spaces: Spaces) -> None:
        self._kept: list[Any] = []
        if not spaces.nested:
            self.space = self._leaf(spaces.leaves[0])
            return
        leaves = (c.Space * len(spaces.leaves))(*(self._leaf(leaf) for leaf in spaces.leaves))
        for made, leaf in zip(leaves, spaces.leaves):
            made.name = leaf.name.encode()
        self._kept.append(leaves)
        self.space = c.sized(c.Space)
        self.space.kind, self.space.leaves, self.space.leaf_count = c.DICT, leaves, len(leaves)

    def _leaf(self, leaf: Leaf) -> Any:
        space = c.sized(c.Space)
        space.kind, space.element = leaf.kind, leaf.element
        if leaf.kind == c.BOX:
            self._box(space, leaf)
        elif leaf.kind == c.MULTI_DISCRETE:
            choices = (ctypes.c_int32 * len(leaf.counts))(*leaf.counts)
            self._kept.append(choices)
            space.choices, space.choice_count = choices, len(choices)
        else:
            space.n = leaf.counts[0] if leaf.kind == c.DISCRETE else leaf.size
        return space

    def _box(self, space: Any, leaf: Leaf) -> None:
        space.dimensions = len(leaf.sent_shape)
        for axis, size in enumerate(leaf.sent_shape[:8]):
            space.shape[axis] = size
        if leaf.low is None:
            return
        low, high = (as_float32(bound).ravel() for bound in (leaf.low, leaf.high))
        if not (np.all(np.isfinite(low)) and np.all(np.isfinite(high))):
            return
        if np.all(low == low[0]) and np.all(high == high[0]):
            space.bounds, space.low_all, space.high_all = c.BOUNDED_ALL, float(low[0]), float(high[0])
            return
        space.bounds = c.BOUNDED_EACH
        space.low = low.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        space.high = high.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        self._kept += [low, high]


def parse_spaces(lines: list[str]) -> tuple[Any, Any]:
    """The observation and action space in a policy file's metadata (spaces.h says how they are
    written), as this module's spaces."""
    sides: dict[str, dict[str, Any]] = {"observation": {}, "action": {}}
    for line in lines:
        place, *words = line.split()
        side, _, name = place.partition(".")
        if side in sides and len(words) >= 2:
            sides[side][name] = _parse_leaf(words)
    observation, action = (
        leaves[""] if "" in leaves else Dict(leaves) for leaves in (sides["observation"], sides["action"])
    )
    return observation, action


def _parse_leaf(words: list[str]) -> Any:
    form, numbers = words[0], words[1:]
    if form == "binary":
        return MultiBinary(int(numbers[0]))
    if form in ("discrete", "categories"):
        counts = [int(n) for n in numbers]
        return Discrete(counts[0]) if len(counts) == 1 else MultiDiscrete(counts)
    if "low" not in numbers:
        shape = tuple(int(n) for n in numbers)
        return Box(shape, 0, 255, np.uint8) if form == "uint8" else Box(shape)
    low, high = numbers.index("low"), numbers.index("high")
    shape = tuple(int(n) for n in numbers[:low])
    bounds = (np.array(part, np.float32).reshape(shape) for part in (numbers[low + 1 : high], numbers[high + 1 :]))
    return Box(shape, *bounds)
