# SPDX-License-Identifier: Apache-2.0
"""The library's log lines, from the C callback to the logger `lull`.

The callback comes on a thread of the library's own, and at the end of a runtime on the thread that ends it, which waits
for a line that is being said. A handler of a logger may do anything: write to a disk, wait for its lock, call Lull, end
a runtime. So the callback only keeps the line, and a thread says it. Otherwise a runtime that is collected inside a
handler would wait for ever: for its last line, which waits for the handler."""

import collections
import collections.abc
import os
import queue
import threading
import traceback

from . import binding
from .binding import log

_WAIT_S = 5  # for lines that another thread is saying

_lines: collections.deque[bytes] = collections.deque()
# One None a line; `put` takes no lock of Python's, so it may come inside anything.
_bell: queue.SimpleQueue[None] = queue.SimpleQueue()
_saying = threading.RLock()
_speaker = None
after_lines: collections.abc.Callable[[], None] = lambda: None  # called after lines, by the thread that said them


def _hear(_, line):
    _lines.append(line)
    _bell.put(None)


CALLBACK = binding.LogFunction(_hear)  # outlives every runtime


def say():
    """Logs what was heard so far. A line that another thread is saying is waited for, but not for ever."""
    saying = _saying  # a handler may fork, and then the child has another
    if not saying.acquire(timeout=_WAIT_S):
        return
    is_said = False
    try:
        while _lines:
            line = _lines.popleft().decode(errors="replace")
            is_said = True
            try:
                log.info("%s", line)
            except Exception:  # of a handler: it must not end this thread, or what the caller was doing
                traceback.print_exc()
    finally:
        saying.release()
    try:
        if is_said:
            after_lines()
    except Exception:  # of a handler, as above
        traceback.print_exc()


def _speak():
    while True:
        _bell.get()
        say()


def listen():
    """Before a runtime is made: starts the thread that says what comes, if there is none."""
    global _speaker
    if _speaker is None or not _speaker.is_alive():
        _speaker = threading.Thread(target=_speak, name="lull log", daemon=True)
        _speaker.start()


def _after_fork():
    """In a child process the thread is not there, and what was heard is the parent's to say."""
    global _bell, _saying, _speaker
    _lines.clear()
    _bell, _saying, _speaker = queue.SimpleQueue(), threading.RLock(), None


os.register_at_fork(after_in_child=_after_fork)
