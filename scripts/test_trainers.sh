#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tests of the Python package with Megatron core and DeepSpeed, without a GPU: two stages of a GPT over gloo, whose losses and
# weights are bit-equal with Lull and without, and whose bubbles are named by micro-batch. And with Lightning and transformers, whose
# loaders and checkpoints are stalls.
#   scripts/test_trainers.sh 2.15    with the latest PyTorch 2.15
# Installs them by pip into build/trainers-VERSION, 6 GB where the package index has no CPU build of PyTorch. DeepSpeed compiles an
# operation at its first start, for which it needs g++. Takes the library that LULL_LIBRARY names, else builds it into build/torch.
# The last line is the sum: N passed, N failed, N skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
environment=build/trainers-${1:-}
source scripts/torch_environment.sh

torch_wanted "$@"
install_torch "$1" megatron-core==0.16.1 deepspeed==0.19.8 lightning==2.6.6 transformers==5.24.0 accelerate==1.15.0
prepare_library
export PATH=$PWD/$environment/bin:$PATH TORCH_EXTENSIONS_DIR=$PWD/$environment/extensions DS_ACCELERATOR=cpu
"$python" -c 'import torch; print("torch", torch.__version__)'
for schedule in megatron megatron_interleaved deepspeed; do
  for dtype in float32 bfloat16; do
    try "$schedule, $dtype" tests/apps/python/trainers_test.py "$schedule" "$dtype"
  done
done
try lightning tests/apps/python/torch_lightning_test.py
try transformers tests/apps/python/torch_transformers_test.py
sum_up
