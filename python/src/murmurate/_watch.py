"""Watch: what an Actor does beside playing."""

from __future__ import annotations

import os
import sys
import threading
import time

from ._client import Client
from ._errors import Error

SILENCE_S = 3.0
_WATCH_S = 0.25


class Watch:
    """A thread that says once when nobody answers, and passes the library's lines on while `act` may
    be waiting. A forked child has none."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._ended, self._process = threading.Event(), os.getpid()
        client._watched = True
        self._thread = threading.Thread(target=self._look, name="murmurate-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        if os.getpid() != self._process:
            return  # the thread is the parent's, and may have held the event's lock
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        since, told = time.monotonic(), False
        while not self._ended.wait(_WATCH_S):
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
