#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures Lull in Megatron core and DeepSpeed on two GPUs, each training a GPT in two stages, and writes
docs/results/trainers_SIZE.json.

    scripts/measure_trainers.py --results docs/results [--size fp32] [--schedules megatron,deepspeed]
        [--work observe+compute+streaming+equal]

Options and record are those of measure_torch.py: slowdown against the same process without Lull, bubbles by name under
`sites`, and whether losses and weights are equal to the bit. scripts/test_trainers.sh tells which versions of the
trainers are known."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import measure_torch  # noqa: E402
import trainer_pipelines  # noqa: E402

SIZES = {  # large enough that the GPUs set the pace, not the hosts
    "bf16": {"width": 8192, "layers": 4, "rows": 2048, "microbatches": 4, "dtype": "bfloat16"},
    "fp32": {"width": 4096, "layers": 4, "rows": 512, "microbatches": 4, "dtype": "float32"},
}

if __name__ == "__main__":
    measure_torch.main("trainers", trainer_pipelines.SCHEDULES, SIZES)
