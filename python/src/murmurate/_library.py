"""The C interface (murmurate.h) as ctypes sees it: found, checked, declared. Nothing else here.

libmurmurate.so is looked for in MURMURATE_LIBRARY, beside this file (where a wheel has it), then
where the system keeps libraries (where a Debian package has it).
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, Structure, c_char, c_char_p, c_double, c_float, c_int32, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from ._errors import Closed, error_of

ABI = 4
"""What this package is written for; a library of a later one has it too."""
SONAME = "libmurmurate.so.1"

BOX, DISCRETE, MULTI_DISCRETE, MULTI_BINARY, DICT = 1, 2, 3, 4, 5
FLOAT32, UINT8, INT32 = 0, 1, 2
UNBOUNDED, BOUNDED_ALL, BOUNDED_EACH = 0, 1, 2
TERMINATED, TRUNCATED = 0, 1
NOT_SAID, FAILURE, SUCCESS = 0, 1, 2
UNAVAILABLE = -5


class Space(Structure):
    pass


Space._fields_ = [
    ("size", c_uint32), ("kind", c_int32), ("element", c_int32), ("n", c_int32), ("dimensions", c_int32),
    ("shape", c_int32 * 8), ("bounds", c_int32), ("low_all", c_float), ("high_all", c_float),
    ("low", POINTER(c_float)), ("high", POINTER(c_float)), ("choices", POINTER(c_int32)),
    ("choice_count", c_uint64), ("name", c_char_p), ("leaves", POINTER(Space)), ("leaf_count", c_uint64),
]  # fmt: skip


class ClientOptions(Structure):
    _fields_ = [
        ("size", c_uint32), ("pace", c_int32), ("name", c_char_p), ("without_policy", c_int32),
        ("accept_reset", c_int32), ("updates", c_int32), ("deterministic", c_int32), ("policy_path", c_char_p),
        ("policy_bytes", c_char_p), ("policy_size", c_uint64), ("log", c_void_p), ("log_user", c_void_p),
        ("max_wait_ms", c_int32), ("quiet", c_int32), ("models", c_char_p),
    ]  # fmt: skip


class State(Structure):
    _fields_ = [
        ("size", c_uint32), ("state", c_int32), ("in_session", c_int32), ("should_stop", c_int32),
        ("reason", c_char * 496),
    ]  # fmt: skip


class Stats(Structure):
    _fields_ = [("size", c_uint32), ("reserved", c_uint32)] + [
        (name, c_uint64)
        for name in (
            "steps", "trajectories_sent", "trajectories_dropped", "steps_dropped", "steps_given_up",
            "trajectories_refused", "weights_received", "version", "reconnects",
            "trajectories_committed", "steps_committed", "trajectories_lost", "rewards_not_finite",
        )
    ]  # fmt: skip


class Action(Structure):
    _fields_ = [
        ("size", c_uint32), ("reserved", c_uint32), ("choices", c_void_p), ("choice_count", c_uint64),
        ("numbers", c_void_p), ("number_count", c_uint64),
    ]  # fmt: skip


class Input(Structure):
    _fields_ = [
        ("size", c_uint32), ("element", c_int32), ("name", c_char_p), ("values", c_void_p), ("count", c_uint64),
    ]  # fmt: skip


class Observation(Structure):
    _fields_ = [
        ("size", c_uint32), ("reserved", c_uint32), ("inputs", POINTER(Input)), ("input_count", c_uint64),
        ("allowed", c_void_p), ("allowed_count", c_uint64),
    ]  # fmt: skip


class AgentOptions(Structure):
    _fields_ = [
        ("size", c_uint32), ("reserved", c_uint32), ("observation", POINTER(Space)),
        ("action", POINTER(Space)), ("model", c_char_p), ("default_action", POINTER(Action)),
        ("privileged", POINTER(Space)),
    ]  # fmt: skip


def sized(kind: Any) -> Any:
    """A zeroed struct that says how large it is, as each must."""
    made = kind()
    made.size = ctypes.sizeof(kind)
    return made


_DECLARATIONS: dict[str, tuple[Any, list[Any]]] = {
    "mmr_abi_version": (c_uint32, []),
    "mmr_version": (c_char_p, []),
    "mmr_last_error": (c_char_p, []),
    "mmr_last_status": (c_int32, []),
    "mmr_connect": (c_void_p, [c_char_p, POINTER(ClientOptions)]),
    "mmr_open": (c_void_p, [POINTER(ClientOptions)]),
    "mmr_close": (c_int32, [c_void_p]),
    "mmr_get_state": (c_int32, [c_void_p, POINTER(State)]),
    "mmr_state_name": (c_char_p, [c_int32]),
    "mmr_get_stats": (c_int32, [c_void_p, POINTER(Stats)]),
    "mmr_setting": (c_double, [c_void_p, c_char_p, c_double]),
    "mmr_update": (c_int32, [c_void_p]),
    "mmr_save": (c_int32, [c_void_p, c_char_p, c_char_p]),
    "mmr_next_log": (c_int32, [c_void_p, c_char_p, c_uint64, POINTER(c_int32)]),
    "mmr_agent_new": (c_void_p, [c_void_p, POINTER(AgentOptions)]),
    "mmr_agent_close": (c_int32, [c_void_p]),
    "mmr_act": (c_int32, [c_void_p, c_void_p, c_uint64]),
    "mmr_act_masked": (c_int32, [c_void_p, c_void_p, c_uint64, c_void_p, c_uint64]),
    "mmr_act_continuous": (c_int32, [c_void_p, c_void_p, c_uint64, c_void_p, c_uint64]),
    "mmr_act_any": (c_int32, [c_void_p, POINTER(Observation), POINTER(Action)]),
    "mmr_reward": (c_int32, [c_void_p, c_double]),
    "mmr_privileged_any": (c_int32, [c_void_p, POINTER(Observation)]),
    "mmr_end_any": (c_int32, [c_void_p, c_int32, c_int32, POINTER(Observation)]),
    "mmr_took_any": (c_int32, [c_void_p, POINTER(Action)]),
    "mmr_took_any_log_prob": (c_int32, [c_void_p, POINTER(Action), c_float]),
    "mmr_record_samples": (
        c_int32,
        [c_void_p, POINTER(Observation), POINTER(Action), c_uint64, POINTER(c_uint64), POINTER(c_double)],
    ),
    "mmr_discard": (c_int32, [c_void_p]),
    "mmr_report": (c_int32, [c_void_p, c_char_p, c_double]),
    "mmr_set_mode": (c_int32, [c_void_p, c_int32]),
    "mmr_group_new": (c_void_p, [c_void_p, POINTER(AgentOptions), c_int32]),
    "mmr_group_close": (c_int32, [c_void_p]),
    "mmr_group_agent": (c_void_p, [c_void_p, c_int32]),
    "mmr_group_act_playing": (c_int32, [c_void_p, POINTER(Observation), POINTER(Action), c_void_p, c_uint64]),
    "mmr_group_privileged": (c_int32, [c_void_p, POINTER(Observation), c_void_p, c_uint64]),
    "mmr_group_reward": (c_int32, [c_void_p, c_void_p, c_void_p, c_uint64]),
}


def _open() -> tuple[ctypes.CDLL, str]:
    """The library and where it came from; an ImportError says which package is missing."""
    named = os.environ.get("MURMURATE_LIBRARY")
    inside = Path(__file__).with_name(SONAME)
    path = named or (str(inside) if inside.exists() else SONAME)
    try:
        return ctypes.CDLL(path), path
    except OSError as error:
        reason = str(error)
    if "libzmq" in reason:
        raise ImportError(f"murmurate needs libzmq, which is not installed: apt install libzmq5 ({reason})")
    if path is not SONAME:
        raise ImportError(f"murmurate: {path} cannot be loaded: {reason}; install the package again")
    raise ImportError(
        f"murmurate: no {SONAME} in {inside.parent} nor where the system keeps libraries: pip install ./python in a"
        " clone of murmurate, or apt install the libmurmurate package that was built with it"
    )


def _load() -> tuple[ctypes.CDLL, str]:
    library, path = _open()
    try:
        library.mmr_abi_version.restype = c_uint32
        found = library.mmr_abi_version()
    except AttributeError:
        raise ImportError(f"murmurate: {path} is another library: unset MURMURATE_LIBRARY or name the right one")
    if found < ABI:
        raise ImportError(
            f"murmurate: {path} has interface {found} where this package needs {ABI} or later: update the library, or"
            " install the package that came with it"
        )
    for name, (result, arguments) in _DECLARATIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library, path


library, library_path = _load()


def text(given: bytes | None) -> str:
    return (given or b"").decode("utf-8", "replace")


library_version = text(library.mmr_version())


def fail() -> Any:
    """Raises what this thread's last failing call said."""
    status, said = library.mmr_last_status(), text(library.mmr_last_error())
    if status == Closed.status:  # C sees no more than a NULL
        said = f"{said.partition(' is ')[0]} is closed: make another"
    raise error_of(status, said)


def check(status: int) -> int:
    """A number that is not negative, or raises."""
    if status < 0:
        fail()
    return status


def patiently(call: Any, *arguments: Any) -> int:
    """The answer of a call that plays, which may wait: between two of its slices Python hears Ctrl+C."""
    while (answer := call(*arguments)) == UNAVAILABLE:
        pass
    return check(answer)


class Handle:
    """What C made. Whoever calls C with it holds it, and C frees it when nobody does any more. Closed
    before that it is NULL for all who hold it: C refuses that, and touches nothing.

    `closer` frees it; without, it is freed with `of`, which lives as long."""

    def __init__(self, address: int | None = None, closer: Any = None, of: Handle | None = None) -> None:
        self.pointer = self._as_parameter_ = c_void_p(address)
        self._closer, self._of = closer, of

    def take(self) -> int | None:
        """What is to be closed; NULL from now on."""
        address, self.pointer.value = self.pointer.value, None
        return address

    def close(self) -> None:
        address = self.take()
        if address is not None and self._closer is not None:
            check(self._closer(address))

    def fail(self) -> None:
        """As the function: the call was with it."""
        fail()

    def __del__(self) -> None:
        address = self.take()
        if address is not None and self._closer is not None:
            self._closer(address)


def made(address: int | None, closer: Any = None, of: Handle | None = None) -> Handle:
    """What a function that makes something gave, or raises."""
    if not address:
        fail()
    return Handle(address, closer, of)
