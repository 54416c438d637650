#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every test that this machine can run:
#   dev    all tests; where nvcc is found all device code is compiled, and GPU tests run if a device answers
#   tsan   the host tests under ThreadSanitizer
#   asan   the host tests under AddressSanitizer and UndefinedBehaviorSanitizer
#   clang  the project's warnings as errors, on each C++ file, which counts as one test; nothing is built
#   format each file as scripts/format.sh leaves it, which counts as one test
# What cannot run here is said and counted as skipped. The last line is the sum: N passed, N failed, N skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup.sh

jobs=$(nproc)
passed=0 failed=0 skipped=0

# ThreadSanitizer needs its addresses where it expects them, which some kernels' address randomisation spoils.
fixed_addresses=()
if setarch "$(uname -m)" -R true 2> /dev/null; then
  fixed_addresses=(setarch "$(uname -m)" -R)
fi

# counts FILE: the tests of one run as ctest wrote them down: all, failed, not run
counts() {
  python3 - "$1" << 'PYTHON'
import sys
import xml.etree.ElementTree as tree
suite = tree.parse(sys.argv[1]).getroot()
number = lambda name: int(suite.get(name, 0))
print(number("tests"), number("failures"), number("skipped") + number("disabled"))
PYTHON
}

# configuration PRESET: configures, builds and tests it, and adds to the sums. A build that fails counts as one failure.
configuration() {
  local preset=$1 started=$SECONDS log=build/$1.log status=0 tests failures absent
  echo
  echo "== $preset: build"
  if ! cmake --preset "$preset" > "$log" 2>&1; then
    tail -n 40 "$log"
    echo "== $preset: FAILED to configure"
    failed=$((failed + 1))
    return
  fi
  grep -F 'lull: ' "$log"
  if ! cmake --build --preset "$preset" -j "$jobs"; then
    echo "== $preset: FAILED to build"
    failed=$((failed + 1))
    return
  fi
  echo "== $preset: built after $((SECONDS - started)) s; tests"
  rm -f "build/$preset.xml"
  "${fixed_addresses[@]}" ctest --preset "$preset" -j "$jobs" --output-junit "$PWD/build/$preset.xml" || status=$?
  if ! read -r tests failures absent < <(counts "build/$preset.xml"); then
    tests=0 failures=0 absent=0
  fi
  if ((status != 0 && failures == 0)); then
    tests=$((tests + 1)) failures=1 # ctest misses something: an executable that is not there, or any test at all
  fi
  passed=$((passed + tests - failures - absent)) failed=$((failed + failures)) skipped=$((skipped + absent))
  echo "== $preset: $failures failed, $absent not run, done after $((SECONDS - started)) s"
}

# clang_warnings: checks each C++ file as clang reads it. One test.
clang_warnings() {
  local started=$SECONDS log=build/clang.log
  echo
  echo "== clang: every C++ file, warnings are errors"
  if ! cmake --preset dev -B build/clang -DCMAKE_CXX_COMPILER="$(scripts/clang.sh)" > "$log" 2>&1; then
    tail -n 40 "$log"
    echo "== clang: FAILED to configure"
    failed=$((failed + 1))
    return
  fi
  if python3 -B scripts/check_clang.py build/clang; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
  echo "== clang: done after $((SECONDS - started)) s"
}

formatting() {
  local started=$SECONDS
  echo
  echo "== format"
  if scripts/format.sh --check; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
  echo "== format: done after $((SECONDS - started)) s"
}

mkdir -p build
if ! PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin:/usr/local/cuda/bin command -v nvcc > /dev/null; then
  echo "NOT RUN: there is no nvcc here, so no device code is compiled and no GPU test is built"
elif ! nvidia-smi -L > /dev/null 2>&1; then
  echo "NOT RUN: no GPU answers here: device code is compiled, GPU tests are skipped"
fi
formatting
for preset in dev tsan asan; do
  configuration "$preset"
done
clang_warnings

echo
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0 && passed > 0))
