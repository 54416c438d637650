#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/test.sh          the tests that a change needs: part dev without the benches, the models and the projects outside
#                          the tree
# scripts/test.sh --all    every test that this machine can run:
#   dev    all tests; where nvcc is found all device code is compiled, and GPU tests run if a device answers
#   tsan   the tests labelled `host` of programs that make threads, under ThreadSanitizer
#   asan   the tests labelled `host` under AddressSanitizer and UndefinedBehaviorSanitizer, compiled by clang
#   clang  the project's warnings as errors, on each C++ file that asan does not compile; counts as one test
#   format each file as scripts/format.sh leaves it, which counts as one test
# What cannot run here is said and counted as skipped. The last line is the sum: N passed, N failed, N skipped.
set -euo pipefail
all=$#
if [[ $# -gt 1 || ${1:---all} != --all ]]; then
  echo "test.sh: unknown: $*; the only option is --all, which adds the benches, the sanitizers, clang, the models and the projects outside the tree" >&2
  exit 2
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ((all)); then
  echo "test.sh: takes about 40 minutes on two cores without a compiler cache, half of it with one"
else
  echo "test.sh: takes about 15 minutes on two cores without a compiler cache, a few with one; --all runs everything, in 40"
fi
scripts/setup.sh

jobs=$(nproc)
tests_at_once=$((2 * jobs)) # tests wait more than they compute, and one that depends on time runs alone
passed=0 failed=0 skipped=0
failures_by_part=() # once more at the end: a long log may be cut in the middle
benches=() # what is said of them to CMake; without a word, as the preset says

# ThreadSanitizer needs its addresses where it expects them, which some kernels' address randomisation spoils.
fixed_addresses=()
if setarch "$(uname -m)" -R true 2> /dev/null; then
  fixed_addresses=(setarch "$(uname -m)" -R)
fi

# part NAME: heads one part of the run, and begins its time
part() {
  echo
  echo "== $1"
  part_started=$SECONDS
}

# cannot WHAT LOG: a part that ends early, with the end of what it wrote. Counts as one failure.
cannot() {
  tail -n 60 "$2"
  echo "== FAILED to $1"
  failed=$((failed + 1))
  failures_by_part+=("$1")
}

# configuration PRESET COMPILER [CTEST_OPTION…]: configures, builds and tests it, and adds to the sums. What is done is in
# build/PRESET.log. The compiler is empty for g++, or a clang++.
configuration() {
  local preset=$1 compiler=$2 log=build/$1.log status=0 tests failures absent names compilers=() configured built
  shift 2
  part "$preset, see $log"
  if [[ -n $compiler ]]; then
    grep -qs "^CMAKE_CXX_COMPILER:[A-Z]*=$compiler\$" "build/$preset/CMakeCache.txt" || rm -rf "build/$preset"
    compilers=(-DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_C_COMPILER="${compiler/clang++/clang}")
  fi
  if ! cmake --preset "$preset" "${benches[@]}" "${compilers[@]}" > "$log" 2>&1; then
    cannot "configure $preset" "$log"
    return
  fi
  grep -F 'lull: ' "$log"
  configured=$SECONDS
  if ! cmake --build --preset "$preset" -j "$jobs" >> "$log" 2>&1; then
    cannot "build $preset" "$log"
    return
  fi
  built=$SECONDS
  echo "configured in $((configured - part_started)) s, built in $((built - configured)) s"
  rm -f "build/$preset.xml"
  "${fixed_addresses[@]}" ctest --preset "$preset" -j "$tests_at_once" "$@" --output-junit "$PWD/build/$preset.xml" >> "$log" 2>&1 ||
    status=$?
  if ! read -r tests failures absent names < <(tests/run/test_results.py "build/$preset.xml"); then
    tests=0 failures=0 absent=0 names=
  fi
  if ((status != 0 && failures == 0)); then
    tail -n 60 "$log"
    tests=$((tests + 1)) failures=1 # ctest misses something: an executable that is not there, or any test at all
  fi
  ((failures == 0)) || failures_by_part+=("$preset: ${names:-see $log}")
  passed=$((passed + tests - failures - absent)) failed=$((failed + failures)) skipped=$((skipped + absent))
  echo "== $preset: $((tests - failures - absent)) passed, $failures failed${names:+ ($names)}, $absent not run; configured in $((configured - part_started)) s," \
    "built in $((built - configured)) s, tested in $((SECONDS - built)) s"
}

# clang_warnings COMPILER: checks each C++ file as clang reads it, but for those that asan has compiled. One test.
clang_warnings() {
  local log=build/clang.log
  part "clang: the other C++ files, warnings are errors"
  if ! cmake --preset dev -B build/clang -DCMAKE_CXX_COMPILER="$1" > "$log" 2>&1; then
    cannot "configure clang" "$log"
    return
  fi
  if python3 -B scripts/check_clang.py build/clang --but-for build/asan; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    failures_by_part+=("clang: see $log")
  fi
  echo "== clang: done after $((SECONDS - part_started)) s"
}

formatting() {
  part format
  if scripts/format.sh --check; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    failures_by_part+=(format)
  fi
  echo "== format: done after $((SECONDS - part_started)) s"
}

mkdir -p build
if ! PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin:/usr/local/cuda/bin command -v nvcc > /dev/null; then
  echo "NOT RUN: there is no nvcc here, so no device code is compiled and no GPU test is built"
elif ! nvidia-smi -L > /dev/null 2>&1; then
  echo "NOT RUN: no GPU answers here: device code is compiled, GPU tests are skipped"
fi
if ((all)); then
  clang=$(scripts/clang.sh)
  formatting
  configuration dev ""
  configuration tsan ""
  configuration asan "$clang"
  clang_warnings "$clang"
else
  benches=(-DLULL_BENCH=OFF)
  configuration dev "" --label-exclude '^(consumer|model)$'
fi

echo
((${#failures_by_part[@]} == 0)) || printf 'failed in %s\n' "${failures_by_part[@]}"
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0 && passed > 0))
