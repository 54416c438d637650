#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds, tests and measures on a machine with a GPU. Offline; each step, of measure each section on one GPU, ends within nine
# minutes.
#   scripts/gpu.sh build [tests]    release build for sm_90 into build/gpu; tests: what those that need a device need, without benches
#   scripts/gpu.sh test [--within SECONDS] [NAME…]
#                                   every test that needs a device, or those of a program or file: cuda_runtime, python.torch_side_step.
#                                   A process runs a group of them. What does not end within 540 s is counted as not run
#   scripts/gpu.sh sanitize [memcheck|racecheck]
#                                   compute-sanitizer's memcheck, racecheck or both over the contract suite, within eight minutes
#   scripts/gpu.sh pack             build/gpu-tests.tar.xz: what `test` and `sanitize` need of a build. They unpack it where there is no
#                                   build/gpu, so that another machine of the same Linux can run what this one has built
#   scripts/gpu.sh measure [--within SECONDS] [NAME…]
#                                   records into docs/results (or $LULL_RESULTS). NAME: a section, or a prefix such as stage; NAME@ROW,…:
#                                   of a section of graphs or connections these rows alone. `python3 bench/lab list` has them all, with
#                                   what each needs; those of trainings on several GPUs, too
#   scripts/gpu.sh lanes SECONDS 'NAME…' 'NAME…'
#                                   such records at the same time, an argument on each GPU, those that fit into it
set -euo pipefail
cd "$(dirname "$0")/.."
build=${LULL_BUILD:-build/gpu}
results=${LULL_RESULTS:-docs/results}
export CUDA_MODULE_LOADING=EAGER PATH=$PATH:/usr/local/cuda/bin

usage() {
  sed -n '/^set -e/q;3,$p' "$0" | cut -c3- >&2
  exit 2
}

build() {
  local targets=()
  [[ ${1:-} != tests ]] || targets=(--target lull_gpu_tests)
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLULL_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES="${LULL_ARCH:-90}"
  cmake --build "$build" --parallel "$(nproc)" "${targets[@]}"
}

# Without what a debugger wants.
pack() {
  local -r folder=$(mktemp -d) from=$(cd "$build" && pwd -P)
  local file
  cp "$build/gpu_tests.json" "$folder"
  for file in $(cd "$from" && ls -d bin/lull bin/tests/libraries/* 2> /dev/null; grep -o "\"$from/[^\"]*" gpu_tests.json | sed "s,^\"$from/,," | sort -u); do
    [[ -f $build/$file ]] || continue # a path of the source
    mkdir -p "$folder/$(dirname "$file")"
    strip -o "$folder/$file" "$build/$file" 2> /dev/null || cp "$build/$file" "$folder/$file"
  done
  tar -C "$folder" -cJf build/gpu-tests.tar.xz .
  rm -r "$folder"
  ls -l build/gpu-tests.tar.xz
}

# gpu_tests ARGUMENT…: on this build, or on one that was packed elsewhere
gpu_tests() {
  local carried=()
  if [[ ! -e $build/gpu_tests.json && -e build/gpu-tests.tar.xz ]]; then
    mkdir -p "$build"
    tar -C "$build" -xJf build/gpu-tests.tar.xz
    touch "$build/carried"
  fi
  [[ ! -e $build/carried ]] || carried=(--carried)
  python3 -B tests/run/gpu_tests.py --build "$build" "${carried[@]}" "$@"
}

tests() {
  local within=540
  if [[ ${1:-} == --within ]]; then
    within=${2:?seconds are missing}
    shift 2
  fi
  gpu_tests --within "$within" "$@"
}

# sanitizer TOOL SECONDS: the contract suite under it, in several processes
sanitizer() {
  echo "== compute-sanitizer $1: the contract suite"
  gpu_tests --within "$2" --limit "$2" --shards 3 --under "compute-sanitizer --tool $1 --error-exitcode 9" contract_cuda
}

sanitize() {
  local failed=0
  export LULL=on # a runtime is off beside such tools
  [[ ${1:-memcheck} != memcheck ]] || sanitizer memcheck 220 || failed=1
  [[ ${1:-racecheck} != racecheck ]] || LULL_CONTRACT=brief sanitizer racecheck 240 || failed=1
  return $failed
}

measure() {
  mkdir -p "$results"
  python3 bench/lab measure --build "$build" --results "$results" "$@"
}

lanes() {
  (($# > 1)) || usage
  local -r within=$1
  local names lanes=() failed=0
  for names in "${@:2}"; do
    # shellcheck disable=SC2086
    CUDA_VISIBLE_DEVICES=${#lanes[@]} measure --within "$within" $names &
    lanes+=($!)
  done
  for names in "${lanes[@]}"; do wait "$names" || failed=1; done
  return $failed
}

case ${1:-} in
  build) build "${2:-}" ;;
  test) shift; tests "$@" ;;
  sanitize) sanitize "${@:2}" ;;
  pack) pack ;;
  measure) shift; measure "$@" ;;
  lanes) shift; lanes "$@" ;;
  *) usage ;;
esac
