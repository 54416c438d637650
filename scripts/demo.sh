#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds what this machine can run and harvests the bubbles of a pipeline schedule with PageRank: on the GPU if one
# answers and there is an nvcc, else on CPU threads, whose times are CPU times.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup.sh

cuda=OFF
task=pagerank # on the graph that is shipped
if ! nvidia-smi -L > /dev/null 2>&1; then
  echo "demo: no GPU answers here: CPU threads stand for it"
elif ! PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin:/usr/local/cuda/bin command -v nvcc > /dev/null; then
  echo "demo: there is a GPU, but no nvcc to build for it: CPU threads stand for it"
else
  cuda=ON
  task=pagerank:kronecker=22 # the shipped graph is ranked within a millisecond
fi

# progress: reads a build's output, keeps it in build/demo/build.log and says how far the build is: on a terminal in one
# line, else at each quarter.
progress() {
  local line done all said=0 started=$SECONDS
  while IFS= read -r line; do
    echo "$line" >> build/demo/build.log
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
    if [[ -t 1 ]]; then
      printf '\rdemo: %d of %d files, about %d s left  ' "$done" "$all" $(((SECONDS - started) * (all - done) / done))
    elif ((done * 4 / all > said)); then
      said=$((done * 4 / all))
      echo "demo: $((said * 25)) % after $((SECONDS - started)) s"
    fi
  done
  if [[ -t 1 ]]; then echo; fi
}

mkdir -p build/demo
: > build/demo/build.log
echo "demo: building the program lull: a minute and a half on two cores, seconds the next time (build/demo/build.log)"
if ! cmake --preset release -DLULL_CUDA=$cuda -DLULL_PRECOMPILE=ON >> build/demo/build.log 2>&1 ||
  ! cmake --build --preset release --target lull -j "$(nproc)" 2>&1 | progress; then
  tail -n 40 build/demo/build.log >&2
  exit 1
fi

echo "demo: harvesting: a quarter of a minute"
build/release/bin/lull harvest --task "$task" --verify \
  --report build/demo/report.json --trace build/demo/harvest.trace.json
scripts/draw_timeline.py build/demo/harvest.trace.json build/demo/report.json build/demo/timeline.svg

echo
echo "demo: one iteration without and with side work, for a browser: $PWD/build/demo/timeline.svg"
echo "demo: all of them: open https://ui.perfetto.dev in a browser and drop on it"
echo "  $PWD/build/demo/harvest.trace.json"
echo "demo: the report: $PWD/build/demo/report.json"
