#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts a program once a rank on this machine, with the names that torchrun uses.

    scripts/ranks.py [--limit SECONDS] RANKS PROGRAM [ARGUMENT…]

Ends them all when one fails, or when the time is over; then exits with that one's code, or 124. A program that lacks
GPUs says so and exits with 77, which CTest counts as not run."""

import argparse
import os
import signal
import socket
import subprocess
import sys
import time


def free_port():
    """One whose successor is free, too: the program's own rendezvous listens there."""
    for _ in range(100):
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port
    sys.exit("ranks.py: no two neighbouring ports are free")


def launch(ranks, command, limit):
    """The first exit code that is not 0; 124 when the time was over. No rank outlives this."""
    common = {
        **os.environ,
        "WORLD_SIZE": str(ranks),
        "LOCAL_WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
    }
    running = {}
    try:
        for rank in range(ranks):
            running[rank] = subprocess.Popen(command, env={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)})
        return watch(running, time.monotonic() + limit, limit)
    except OSError as reason:
        print(f"ranks.py: {reason}", file=sys.stderr)
        return 127
    finally:
        for process in running.values():
            process.kill()
            process.wait()


def watch(running, give_up, limit):
    """Takes out of `running` what has ended, until one has failed or all have ended."""
    while running:
        time.sleep(0.05)
        ended = {rank: process.returncode for rank, process in running.items() if process.poll() is not None}
        for rank in ended:
            del running[rank]
        for rank, code in ended.items():
            if code:
                worst = code if code > 0 else 128 - code
                print(f"ranks.py: rank {rank} ended with {worst}", file=sys.stderr)
                patience = time.monotonic() + 5  # the others may have a reason of their own to tell
                while any(process.poll() is None for process in running.values()) and time.monotonic() < patience:
                    time.sleep(0.05)
                return worst
        if running and time.monotonic() >= give_up:
            print(f"ranks.py: ranks {', '.join(map(str, running))} not done within {limit:g} s", file=sys.stderr)
            return 124
    return 0


def main():
    parser = argparse.ArgumentParser(description="Starts a program once a rank on this machine.")
    parser.add_argument("--limit", type=float, default=100, help="seconds until all are ended (default 100)")
    parser.add_argument("ranks", type=int)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if given.ranks < 1 or not given.command:
        parser.error("RANKS and PROGRAM are needed")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # by way of the ranks' end
    sys.exit(launch(given.ranks, given.command, given.limit))


if __name__ == "__main__":
    main()
