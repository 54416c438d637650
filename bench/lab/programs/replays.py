# SPDX-License-Identifier: Apache-2.0
"""The other process of the program `compare`: replays of a model's step, without pause while they are asked for.

A line on standard input starts or stops them, its end ends the process."""

import json
import select
import sys

from lab import torch
from lab.compare.process import cpu_ms
from lab.models import captured, plain_ms, step_of

LIMIT_S = 480


def say(what):
    print(json.dumps(what), flush=True)


def measure(build, model="resnet18"):
    step, (_, adam) = step_of(model)
    stream = torch.cuda.Stream()
    with captured(step, adam, stream) as graph, torch.cuda.stream(stream):
        say({"plain_ms": plain_ms(graph, stream, 10)})
        while sys.stdin.readline():  # start
            began_ms, steps = cpu_ms(), 0
            ends = [torch.cuda.Event(blocking=True) for _ in range(2)]
            while not (steps and select.select([sys.stdin], [], [], 0)[0]):
                ends[steps % 2].synchronize()  # of the replay before the last: two are queued at most
                graph.replay()
                ends[steps % 2].record()
                steps += 1
                if steps == 1:
                    stream.synchronize()
                    say({"started": True})
            stream.synchronize()
            if not sys.stdin.readline():  # stop
                break
            say({"steps": steps, "cpu_ms": cpu_ms() - began_ms})
