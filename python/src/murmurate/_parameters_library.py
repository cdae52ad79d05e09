"""The C interface of the parameter server (murmurate_parameters.h) as ctypes sees it. Nothing else here.

libmurmurate-parameters.so is looked for in MURMURATE_PARAMETERS_LIBRARY, beside this file (where a wheel of a clone
with a learner has it), then where the system keeps libraries (where a Debian package has it).
"""

from __future__ import annotations

import ctypes
import functools
import os
from ctypes import POINTER, Structure, c_char, c_char_p, c_double, c_int32, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from ._errors import error_of
from ._library import text

SONAME = "libmurmurate-parameters.so.1"

LOG = ctypes.CFUNCTYPE(None, c_void_p, c_int32, c_char_p)


class Array(Structure):
    _fields_ = [
        ("size", c_uint32), ("dimensions", c_int32), ("name", c_char_p), ("shape", POINTER(c_int32)),
        ("values", c_void_p),
    ]  # fmt: skip


class Options(Structure):
    _fields_ = [
        ("size", c_uint32), ("worker", c_uint32), ("model", c_char_p), ("optimizer", c_char_p),
        ("max_grad_norm", c_double), ("overlap", c_int32), ("messages_only", c_int32), ("log", LOG),
        ("log_user", c_void_p),
    ]  # fmt: skip


class Report(Structure):
    _fields_ = [
        ("size", c_uint32), ("window", c_int32), ("version", c_uint64), ("pushes", c_uint64), ("late", c_uint64),
        ("kept", c_uint64), ("staleness", c_double), ("staleness_mean", c_double), ("staleness_max", c_double),
        ("wait_s", c_double), ("rule", c_char * 16), ("waits", c_char * 240),
    ]  # fmt: skip


_DECLARATIONS: dict[str, tuple[Any, list[Any]]] = {
    "mmr_parameters_open": (c_void_p, [c_char_p, POINTER(Array), c_uint64, POINTER(Options)]),
    "mmr_parameters_close": (c_int32, [c_void_p]),
    "mmr_parameters_pull": (c_int32, [c_void_p]),
    "mmr_parameters_push": (c_int32, [c_void_p, POINTER(c_void_p), c_uint64, c_double]),
    "mmr_parameters_exchange": (c_int32, [c_void_p, c_int32]),
    "mmr_parameters_wait": (c_int32, [c_void_p, c_int32]),
    "mmr_parameters_get_report": (c_int32, [c_void_p, POINTER(Report)]),
    "mmr_parameters_interrupt": (c_int32, [c_void_p]),
    "mmr_parameters_last_error": (c_char_p, []),
}


@functools.cache
def library() -> ctypes.CDLL:
    """Opened when it is first used: playing needs none of it."""
    named = os.environ.get("MURMURATE_PARAMETERS_LIBRARY")
    inside = Path(__file__).with_name(SONAME)
    path = named or (str(inside) if inside.exists() else SONAME)
    try:
        opened = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"murmurate: {path} cannot be loaded ({error}); in a clone run ./run --no-train, then pip install ./python"
            " again, or apt install libmurmurate-parameters1"
        ) from None
    for name, (result, arguments) in _DECLARATIONS.items():
        function = getattr(opened, name)
        function.restype, function.argtypes = result, arguments
    return opened


def check(status: int) -> int:
    """A number that is not negative, or raises what this thread's last failing call said."""
    if status < 0:
        raise error_of(status, text(library().mmr_parameters_last_error()))
    return status
