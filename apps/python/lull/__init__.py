# SPDX-License-Identifier: Apache-2.0
"""Side work in the idle gaps of pipeline-parallel training.

First see which bubbles there are, then fill them::

    with lull.observe():
        train()
    with lull.harvest(tasks=["pagerank:graph=web.el"]):
        train()
"""

from .binding import Error, Status
from .rooms import RoomNeed, measure_rooms
from .runtime import Job, Runtime, ThreadsStream, tasks
from .session import Session, bubble, harvest, observe

__version__ = "0.2.0"  # of the whole of Lull, as in CMakeLists.txt

__all__ = [
    "Error",
    "Job",
    "RoomNeed",
    "Runtime",
    "Session",
    "Status",
    "ThreadsStream",
    "__version__",
    "bubble",
    "harvest",
    "measure_rooms",
    "observe",
    "tasks",
]
