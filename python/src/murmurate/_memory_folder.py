"""MemoryFolder: the temporary folder of a pool, in memory where there is room."""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import tempfile
from pathlib import Path

from ._errors import ResourceError

_MEMORY = Path("/dev/shm")
_LEAST_FREE_BYTES = 256 << 20
_PREFIX = "murmurate-pool-"
_LOCK = "lock"

log = logging.getLogger("murmurate")


class MemoryFolder:
    """A folder in /dev/shm, or on disk where that has less than 256 MiB free (a warning says so). It
    holds a lock while its process lives. A process that was killed leaves its folder behind: the next
    MemoryFolder of the same user removes it."""

    def __init__(self, parent: str | os.PathLike[str] | None = None) -> None:
        place = Path(parent) if parent is not None else _place()
        remove_abandoned(place)
        try:
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place.absolute()))
            self._lock = _locked(self.path)
        except OSError as error:
            raise ResourceError(
                f"{place}: no folder can be made there ({error.strerror}); give another by Pool(folder=...)"
            ) from None

    def remove(self) -> None:
        """May be called again."""
        shutil.rmtree(self.path, ignore_errors=True)
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)


def _locked(folder: Path) -> int:
    """The descriptor of the lock. The file has its name once it is locked: remove_abandoned never sees
    the lock of a living process open."""
    unnamed = folder / "unlocked"
    lock = os.open(unnamed, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    unnamed.rename(folder / _LOCK)
    return lock


def _place() -> Path:
    try:
        room = os.statvfs(_MEMORY)
        free = room.f_bavail * room.f_frsize if os.access(_MEMORY, os.W_OK) else 0
    except OSError:
        free = 0
    if free >= _LEAST_FREE_BYTES:
        return _MEMORY
    place = Path(tempfile.gettempdir())
    log.warning("%s has %d MiB free, so a pool keeps its runs in %s", _MEMORY, free >> 20, place)
    return place


def remove_abandoned(place: Path) -> None:
    """Removes the folders of this user's processes that were killed."""
    for lock in place.glob(f"{_PREFIX}*/{_LOCK}"):
        try:
            if lock.stat().st_uid != os.getuid():
                continue
            held = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue  # it was removed since
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)
        except OSError:
            pass  # its process lives
        finally:
            os.close(held)
