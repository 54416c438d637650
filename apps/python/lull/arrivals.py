# SPDX-License-Identifier: Apache-2.0
"""Whether anything from another process can arrive in a bubble.

Workers keep off some SMs, since the kernel that receives needs room while they work: without it, the bubble would
not end before their lease. Where nothing can arrive, those SMs can work, too."""

import os
import sys

from .binding import log
from .ranks import process_group

# Modules that receive without a process group of torch.distributed. Its symmetric memory is not among them: it works in
# process groups.
_TRANSPORTS = ("nvshmem", "nccl", "mpi4py", "cupyx.distributed", "horovod")
# What launchers tell a program of how many it is one.
_COUNTS = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")


def why_any():
    """Why something may arrive, now or later; empty: nothing can."""
    if process_group(sys.modules.get("torch")) is not None:
        return "a process group is initialised"
    for name in _TRANSPORTS:
        if sys.modules.get(name) is not None:
            return f"{name} is imported"
    for name in _COUNTS:
        if os.environ.get(name, "1") not in ("", "0", "1"):
            return f"{name} is {os.environ[name]}"
    return ""


def reserved_groups_for(asked):
    """The reserved groups, chosen where none were asked for, and what is to be said if something does arrive."""
    reserved_groups, too_late = asked, ""
    if reserved_groups is not None:
        why = "as asked for"
    else:
        why = why_any()
        if not why:
            reserved_groups = 0
            why = "no process group is initialised, and nothing else is there that receives"
            too_late = (
                "no SMs are kept off for this wait: when the scope was opened no process group was initialised. "
                "What arrives may have to"
                " wait for workers; open the scope after init_process_group, or say reserved_groups=2"
            )
    log.info(
        "%s SMs are kept off workers: %s",
        {None: "two groups of", 0: "no"}.get(reserved_groups, f"{reserved_groups} group(s) of"),
        why,
    )
    return reserved_groups, too_late
