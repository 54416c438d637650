#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tests of the Python package with one version of PyTorch, without a GPU: ranks that talk over gloo, and the four schedules of
# torch.distributed.pipelining on 2 and on 3 ranks, whose losses and weights are bit-equal with Lull and without.
#   scripts/test_torch.sh 2.15.0    that version
#   scripts/test_torch.sh 2.15      the latest of its fixes
# Installs it by pip into build/torch-VERSION: the CPU build where the package index has one, else the build for CUDA, of 6 GB. Takes
# the library that LULL_LIBRARY names, else builds it into build/torch. The last line is the sum: N passed, N failed, N skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
environment=build/torch-${1:-}
source scripts/torch_environment.sh

torch_wanted "$@"
install_torch "$1"
prepare_library
"$python" -c 'import torch; print("torch", torch.__version__)'
try 'each way to send and receive' tests/apps/python/torch_gloo_test.py
try 'parts of side steps' tests/apps/python/torch_side_parts_test.py
try 'a rank that is killed' tests/apps/python/torch_killed_test.py
try 'the script that measures' tests/bench/lab/pipeline_test.py
for ranks in 2 3; do
  try "schedules on $ranks ranks" tests/apps/python/torch_schedules_test.py "$ranks"
done
if "$python" -c 'from torch.distributed import config; config.pipeline_per_edge_p2p' 2> /dev/null; then
  TORCH_DISTRIBUTED_PIPELINE_PER_EDGE_P2P=1 try 'schedules on 3 ranks, with a group for each edge' tests/apps/python/torch_schedules_test.py 3
fi
sum_up
