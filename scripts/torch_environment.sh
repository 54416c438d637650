# SPDX-License-Identifier: Apache-2.0
# What test_torch.sh and test_trainers.sh share. Source it in the root of the repository, with `environment` set to a folder of
# build/; it makes a virtual environment there, and counts tests.
python=$environment/bin/python
passed=0 failed=0 skipped=0

# torch_wanted ARGUMENT…: checks the version that the script was called with, such as 2.15 or 2.15.0
torch_wanted() {
  if [[ ! ${1:-} =~ ^[0-9]+\.[0-9]+(\.[0-9]+)?$ ]]; then
    echo "usage: $0 VERSION, as 2.15 or 2.15.0" >&2
    exit 2
  fi
}

# install_torch VERSION [PACKAGE…]: the CPU build where the package index has one, else the build for CUDA, of 6 GB
install_torch() {
  local wanted=$1 cpu
  shift
  [[ $wanted == *.*.* ]] || wanted=$wanted.*
  cpu=$wanted+cpu
  [[ $wanted != *\* ]] || cpu=  # pip takes no local version with a star
  # Schedules send objects, for which torch needs numpy. Of an install that was interrupted, torch has no version.
  if ! "$python" -c 'import numpy, torch; torch.__version__' 2> /dev/null; then
    python3 -m venv --clear "$environment"
    if [[ -z $cpu ]] || ! "$python" -m pip install -q numpy "torch==$cpu" 2> /dev/null; then
      "$python" -m pip install -q numpy "torch==$wanted"
    fi
  fi
  (($# == 0)) || "$python" -m pip install -q "$@"
}

# prepare_library: the library that LULL_LIBRARY names, else one that is built into build/torch
prepare_library() {
  if [[ -z ${LULL_LIBRARY:-} ]]; then
    cmake -S . -B build/torch -DCMAKE_BUILD_TYPE=Release -DLULL_CUDA=OFF -DLULL_TESTS=OFF -DLULL_BENCH=OFF -DLULL_PROGRAM=OFF > /dev/null
    cmake --build build/torch --target lull_c --parallel "$(nproc)"
    LULL_LIBRARY=$PWD/build/torch/apps/c/liblull.so
  fi
  export LULL_LIBRARY LULL='' LULL_REPORT='' PYTHONPATH=apps/python:tests/apps/python PYTHONDONTWRITEBYTECODE=1
}

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

# sum_up: the last line, and whether all is well
sum_up() {
  echo "$passed passed, $failed failed, $skipped skipped"
  ((passed > 0 && failed == 0))
}
