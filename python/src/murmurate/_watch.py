"""Watch: what an Actor does beside playing."""

from __future__ import annotations

import select
import signal
import socket
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from ._client import Client, State
from ._errors import Error

SILENCE_S = 3.0
_WATCH_S = 0.25
_GRACE_S = 0.5  # for a step that is only slow


class Watch:
    """A thread that says once when nobody answers, passes the library's lines on while `act` may be
    waiting, and ends that wait on Ctrl+C: Python raises KeyboardInterrupt only between its own steps,
    and `act` may be waiting in C. It ends with its client, which it does not keep."""

    def __init__(self, client: Client) -> None:
        self._client = weakref.ref(client)
        self._wake, self._signals = socket.socketpair()
        for end in (self._wake, self._signals):
            end.setblocking(False)
        self._ended, self._began, self._told = False, time.monotonic(), False
        self._lock = threading.Lock()  # of the next two
        self._playing = False  # a loop that Ctrl+C is to end; of one that has ended it means nothing here
        self._interrupted_at = 0.0
        self._heard = False  # the learner answered
        self._absent_since: float | None = None  # and when it was first seen not to, since then
        client._watched = True
        self._thread = threading.Thread(target=self._look, name="murmurate-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        if self._ended:
            return
        self._ended = True
        self._signals.send(b"\0")
        self._thread.join()
        self._close_sockets()

    def __del__(self) -> None:
        self._close_sockets()

    def _close_sockets(self) -> None:
        self._wake.close()
        self._signals.close()

    def absent_s(self, state: State) -> float:
        """How long a learner that once answered has been seen not to, every quarter of a second and
        now in `state`; 0: it answers."""
        if state.in_session:
            self._heard, self._absent_since = True, None
        elif self._heard and self._absent_since is None:
            self._absent_since = time.monotonic()
        since = self._absent_since
        return 0.0 if since is None else time.monotonic() - since

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
            self._play(True)
            yield
        finally:
            signal.set_wakeup_fd(-1)
            self._play(False)

    def _play(self, playing: bool) -> None:
        with self._lock:
            self._was_interrupted()  # a signal of the loop before
            self._playing, self._interrupted_at = playing, 0.0

    def _look(self) -> None:
        going_on = True
        while going_on:
            select.select([self._wake], [], [], _WATCH_S)
            client = self._client()
            going_on = not self._ended and client is not None and self._look_once(client)
            del client

    def _look_once(self, client: Client) -> bool:
        """False: nothing will come any more."""
        self._end_wait(client)
        try:
            state = client.state()
        except Error:
            return False
        self.absent_s(state)
        if state.state != "no learner":
            self._told = self._told or state.in_session
        elif not self._told and time.monotonic() - self._began >= SILENCE_S:
            print(
                f"no learner answers at {client.address}; start one with `murmurate serve` (waiting for it)",
                file=sys.stderr,
                flush=True,
            )
            self._told = True
        return True

    def _end_wait(self, client: Client) -> None:
        """Of a loop that Ctrl+C has not ended by itself."""
        with self._lock:
            if self._was_interrupted() and self._playing and not self._interrupted_at:
                self._interrupted_at = time.monotonic()
            if self._interrupted_at and time.monotonic() - self._interrupted_at >= _GRACE_S:
                client.hang_up()

    def _was_interrupted(self) -> bool:
        try:
            return signal.SIGINT in self._wake.recv(64)
        except BlockingIOError:
            return False
