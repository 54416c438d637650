# SPDX-License-Identifier: Apache-2.0
"""A trainer of which each rank shares its bubbles; on CPU threads, which stand for a GPU.

    with_agents.sh 2 --executor threads -- torchrun --nproc-per-node 2 train.py --steps 1000

Exit code 3: the kill switch ended it before its last step."""

import argparse
import os
import pathlib
import sys

import lull

HERE = {"executor": "threads"}  # on a GPU leave it out


def main():
    asked = argparse.ArgumentParser()
    asked.add_argument("--steps", type=int, required=True)
    asked.add_argument("--kill-switch", type=pathlib.Path, help="the training ends when this file is there")
    asked = asked.parse_args()
    share = f"unix:{os.environ['LULL_SOCKETS']}/rank{os.environ['LOCAL_RANK']}"
    stream = lull.ThreadsStream()
    with lull.harvest(share=share, bracket_waits=False, **HERE):
        for _ in range(asked.steps):
            if asked.kill_switch is not None and asked.kill_switch.exists():
                return 3
            with lull.bubble("recv_forward", stream):
                stream.sleep(0.005)
            stream.synchronize()
    return 0


if __name__ == "__main__":
    sys.exit(main())
