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

version=${1:-}
if [[ ! $version =~ ^[0-9]+\.[0-9]+(\.[0-9]+)?$ ]]; then
  echo "usage: scripts/test_torch.sh VERSION, as 2.15 or 2.15.0" >&2
  exit 2
fi
wanted=$version
[[ $version == *.*.* ]] || wanted=$version.*

environment=build/torch-$version
python=$environment/bin/python
# Schedules send objects, for which torch needs numpy. Of an install that was interrupted, torch has no version.
if ! "$python" -c 'import numpy, torch; torch.__version__' 2> /dev/null; then
  python3 -m venv --clear "$environment"
  cpu=$wanted+cpu
  [[ $wanted != *\* ]] || cpu=  # pip takes no local version with a star
  if [[ -z $cpu ]] || ! "$python" -m pip install -q numpy "torch==$cpu" 2> /dev/null; then
    "$python" -m pip install -q numpy "torch==$wanted"
  fi
fi

if [[ -z ${LULL_LIBRARY:-} ]]; then
  cmake -S . -B build/torch -DCMAKE_BUILD_TYPE=Release -DLULL_CUDA=OFF -DLULL_TESTS=OFF -DLULL_BENCH=OFF -DLULL_PROGRAM=OFF > /dev/null
  cmake --build build/torch --target lull_c --parallel "$(nproc)"
  LULL_LIBRARY=$PWD/build/torch/apps/c/liblull.so
fi
export LULL_LIBRARY LULL='' LULL_REPORT='' PYTHONPATH=apps/python:tests/apps/python PYTHONDONTWRITEBYTECODE=1

"$python" -c 'import torch; print("torch", torch.__version__)'
passed=0 failed=0 skipped=0

# try NAME COMMAND…: one test; one that says that this torch cannot run it is skipped
try() {
  local name=$1 status=0
  shift
  echo "== $name"
  timeout 600 "$python" -W ignore "$@" 2> "$environment/stderr.txt" || status=$?
  case $status in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)) ;;
    *)
      tail -n 80 "$environment/stderr.txt"
      echo "== $name FAILED"
      failed=$((failed + 1))
      ;;
  esac
}

try 'each way to send and receive' tests/apps/python/torch_gloo_test.py
try 'parts of side steps' tests/apps/python/torch_side_parts_test.py
for ranks in 2 3; do
  try "schedules on $ranks ranks" tests/apps/python/torch_schedules_test.py "$ranks"
done
if "$python" -c 'from torch.distributed import config; config.pipeline_per_edge_p2p' 2> /dev/null; then
  TORCH_DISTRIBUTED_PIPELINE_PER_EDGE_P2P=1 try 'schedules on 3 ranks, with a group for each edge' tests/apps/python/torch_schedules_test.py 3
fi
echo "$passed passed, $failed failed, $skipped skipped"
((passed > 0 && failed == 0))
