"""What goes wrong, in one sentence that says what to do.

Every exception of this package is an `Error`; those about what was passed are `ValueError`s too.
"""

from __future__ import annotations


class Error(RuntimeError):
    """Something murmurate could not do. `status` is the number of the C interface."""

    status = -8


class InvalidArgument(Error, ValueError):
    """What was passed cannot be used: a space, an action, an address."""

    status = -1


class InvalidData(Error, ValueError):
    """A policy file that cannot be used."""

    status = -2


class SecurityError(Error):
    """Keys or permissions."""

    status = -3


class ResourceError(Error):
    """Memory, disk, threads, file descriptors."""

    status = -4


class Unavailable(Error):
    """Not now: try again."""

    status = -5


class Closed(Error, ValueError):
    """It was closed before."""

    status = -6


class Forked(Error):
    """It belongs to the process that forked this one: connect anew here."""

    status = -7


class Refused(Error):
    """The learner will not have this actor; the sentence says why."""

    status = -1


class LearnerGone(Error):
    """The learner answered once and has not for a long time."""

    status = -5


_BY_STATUS: dict[int, type[Error]] = {
    kind.status: kind
    for kind in (InvalidArgument, InvalidData, SecurityError, ResourceError, Unavailable, Closed, Forked)
}


def error_of(status: int, sentence: str) -> Error:
    """The exception for a status of the C interface."""
    return _BY_STATUS.get(status, Error)(sentence)
