# SPDX-License-Identifier: Apache-2.0
"""Side work in the idle gaps of pipeline-parallel training.

First see which bubbles there are, then fill them::

    with lull.observe():
        train()
    with lull.harvest(tasks=["pagerank:graph=web.el"]):
        train()
"""

from .binding import ArgumentError, Error, InputError, Status, TimedOut
from .captured_step import SideStep
from .job import GraphJob, Job, OffStep
from .options import Options, Tuning
from .profiles import choose, profile
from .queue import Queue
from .queue_job import JobFailed, QueueJob
from .reserved_groups import ExchangeNeed, measure_reserved_groups
from .runtime import Runtime, tasks
from .session import Session, attach, bubble, harvest, named_waits, observe
from .side_step import StepJob, side_step
from .stalls import stalls
from .step_outputs import Outputs
from .threads_stream import ThreadsStream

__version__ = "0.2.0"  # of the whole of Lull, as in CMakeLists.txt

__all__ = ["attach", "bubble", "harvest", "named_waits", "observe", "side_step", "stalls", "tasks"]
__all__ += ["Options", "Runtime", "Session", "ThreadsStream", "Tuning", "__version__"]
__all__ += ["GraphJob", "Job", "OffStep", "Outputs", "SideStep", "StepJob"]
__all__ += ["JobFailed", "Queue", "QueueJob"]
__all__ += ["ExchangeNeed", "choose", "measure_reserved_groups", "profile"]
__all__ += ["ArgumentError", "Error", "InputError", "Status", "TimedOut"]
