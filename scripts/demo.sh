#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds what this machine can run and harvests the bubbles of a pipeline schedule with PageRank on the graph that is
# shipped: on the GPU if one answers and there is an nvcc, else on CPU threads, whose times are CPU times.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup.sh

cuda=OFF
if ! nvidia-smi -L > /dev/null 2>&1; then
  echo "demo: no GPU answers here: CPU threads stand for it"
elif ! PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin:/usr/local/cuda/bin command -v nvcc > /dev/null; then
  echo "demo: there is a GPU, but no nvcc to build for it: CPU threads stand for it"
else
  cuda=ON
fi

mkdir -p build/demo
echo "demo: building (build/demo/build.log)"
if ! { cmake --preset release -DLULL_CUDA=$cuda && cmake --build --preset release --target lull -j "$(nproc)"; } \
  > build/demo/build.log 2>&1; then
  tail -n 40 build/demo/build.log >&2
  exit 1
fi

build/release/bin/lull harvest --task pagerank --verify \
  --report build/demo/report.json --trace build/demo/harvest.trace.json

echo
echo "demo: the timeline, without and with side work: open https://ui.perfetto.dev in a browser and drop on it"
echo "  $PWD/build/demo/harvest.trace.json"
echo "demo: the report: $PWD/build/demo/report.json"
