"""Watch: what a client does beside playing."""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref

from typing import TYPE_CHECKING

from ._errors import Error

if TYPE_CHECKING:
    from ._client import Client, State

SILENCE_S = 3.0
_WATCH_S = 0.25


class Watch:
    """A thread that passes the library's lines on, also while `act` waits; if it `speaks`, it says
    once when no learner answers. A forked child has no such thread. The thread ends with its client,
    to which it has a weak reference."""

    def __init__(self, client: Client, speaks: bool) -> None:
        self._client = weakref.ref(client)
        self._ended, self._process = threading.Event(), os.getpid()
        self._began, self._told = time.monotonic(), not speaks
        self._heard = False  # the learner answered
        self._absent_since: float | None = None  # and when it was first seen not to, since then
        self._thread = threading.Thread(target=self._look, name="murmurate-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        if os.getpid() != self._process:
            return  # the thread is the parent's, and may have held the event's lock
        self._ended.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def absent_s(self, state: State) -> float:
        """How long a learner that once answered has been seen not to, every quarter of a second and
        now in `state`; 0: it answers."""
        if state.in_session:
            self._heard, self._absent_since = True, None
        elif self._heard and self._absent_since is None:
            self._absent_since = time.monotonic()
        since = self._absent_since
        return 0.0 if since is None else time.monotonic() - since

    def _look(self) -> None:
        going_on = True
        while going_on and not self._ended.wait(_WATCH_S):
            client = self._client()
            going_on = client is not None and self._look_once(client)
            del client

    def _look_once(self, client: Client) -> bool:
        """False: nothing will come any more."""
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
