"""Watch: what an Actor does beside playing."""

from __future__ import annotations

import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ._client import Client
from ._errors import Error

SILENCE_S = 3.0
_WATCH_S = 0.25
_GRACE_S = 0.5  # for a step that is only slow


class Watch:
    """A thread that says once when nobody answers, passes the library's lines on while `act` may be
    waiting, and ends that wait on Ctrl+C: Python raises KeyboardInterrupt only between its own steps,
    and `act` may be waiting in C."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._wake, self._signals = socket.socketpair()
        for end in (self._wake, self._signals):
            end.setblocking(False)
        self._ended, self._interrupted_at = False, 0.0
        client._watched = True
        self._thread = threading.Thread(target=self._look, name="murmurate-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        if self._ended:
            return
        self._ended = True
        self._signals.send(b"\0")
        self._thread.join()
        self._wake.close()
        self._signals.close()

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """While a loop plays on the main thread, and nobody else listens for signals."""
        if (
            threading.current_thread() is not threading.main_thread()
            or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        ):
            yield
            return
        before = signal.set_wakeup_fd(self._signals.fileno(), warn_on_full_buffer=False)
        if before != -1:
            signal.set_wakeup_fd(before)
            yield
            return
        try:
            yield
        finally:
            signal.set_wakeup_fd(-1)
            self._interrupted_at = 0.0

    def _look(self) -> None:
        since, told = time.monotonic(), False
        while True:
            select.select([self._wake], [], [], _WATCH_S)
            self._read_signals()
            if self._ended:
                return
            if self._interrupted_at and time.monotonic() - self._interrupted_at >= _GRACE_S:
                self._client.hang_up()
            try:
                state = self._client.state()
            except Error:
                return
            if state.state != "no learner":
                told = told or state.in_session
            elif not told and time.monotonic() - since >= SILENCE_S:
                print(
                    f"no learner answers at {self._client.address}; start one with `murmurate serve` (waiting for it)",
                    file=sys.stderr,
                    flush=True,
                )
                told = True

    def _read_signals(self) -> None:
        try:
            if signal.SIGINT in self._wake.recv(64):
                self._interrupted_at = self._interrupted_at or time.monotonic()
        except BlockingIOError:
            pass
