#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what Lull is built and tested with, on Debian 12 or Ubuntu 24.04. Where all of it is there already, it
# changes nothing and needs no network. CUDA is never installed: an nvcc on PATH or in /usr/local/cuda/bin is used.
set -euo pipefail

# package: the file or command that shows it is installed
needed=(
  g++:g++ cmake:cmake ninja-build:ninja ccache:ccache git:git dpkg-dev:dpkg-shlibdeps file:file python3:python3 spin:spin pkg-config:pkg-config doxygen:doxygen
  libgtest-dev:/usr/include/gtest/gtest.h
  libbenchmark-dev:/usr/include/benchmark/benchmark.h
  libcli11-dev:/usr/include/CLI/CLI.hpp
  nlohmann-json3-dev:/usr/include/nlohmann/json.hpp
  zlib1g-dev:/usr/include/zlib.h
  libpng-dev:/usr/include/png.h
  libjpeg-dev:/usr/include/jpeglib.h
  libpq-dev:/usr/include/postgresql/libpq-fe.h
  'postgresql:/usr/lib/postgresql/*/bin/initdb' # for tests, which start servers of their own
)

there() {
  case $1 in
    /*) compgen -G "$1" > /dev/null || compgen -G "${1/#\/usr\//\/usr\/local\/}" > /dev/null ;;
    *) command -v "$1" > /dev/null ;;
  esac
}

# at_least WANTED FOUND: whether the version FOUND will do
at_least() { [[ $(printf '%s\n' "$1" "$2" | sort -V | head -n 1) == "$1" ]]; }

folder=$(dirname "${BASH_SOURCE[0]}")
missing=()
for entry in "${needed[@]}"; do
  there "${entry#*:}" || missing+=("${entry%%:*}")
done
if clang=$("$folder/clang.sh" 2> /dev/null); then # any from 16 on will do; both have 16
  version=$("$clang" -dumpversion)
  echo 'int main() {}' | "$clang" -fsanitize=address -x c++ - -o /dev/null 2> /dev/null || missing+=("libclang-rt-${version%%.*}-dev")
else
  missing+=(clang-16 libclang-rt-16-dev)
fi
python3 -c 'import ensurepip' > /dev/null 2>&1 || missing+=(python3-venv)

if ((${#missing[@]})); then
  echo "setup: missing: ${missing[*]}"
  if ! command -v apt-get > /dev/null; then
    echo "setup: this is no Debian or Ubuntu (no apt-get): install the packages above by hand" >&2
    exit 1
  fi
  privilege=()
  if ((EUID != 0)); then
    if ! command -v sudo > /dev/null; then
      echo "setup: not root, and there is no sudo. As root: apt-get install ${missing[*]}" >&2
      exit 1
    fi
    privilege=(sudo)
  fi
  apt=("${privilege[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=3)
  echo "setup: installing them with apt-get"
  "${apt[@]}" update
  "${apt[@]}" install -y --no-install-recommends "${missing[@]}"
fi

for purpose in format tests docs; do
  "$folder/python.sh" --install "$purpose" > /dev/null ||
    echo "setup: warning: the Python packages for $purpose are not installed: tests that need them are skipped, and the format test fails" >&2
done

cmake_version=$(cmake --version | sed -n '1s/[^0-9]*//p')
gcc_version=$(g++ -dumpfullversion)
if ! at_least 3.25 "$cmake_version" || ! at_least 12 "$gcc_version"; then
  echo "setup: cmake $cmake_version and g++ $gcc_version are here; Lull needs cmake 3.25 and g++ 12 or later" \
    "(Debian 12 and Ubuntu 24.04 have them)" >&2
  exit 1
fi

nvcc=$(PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin:/usr/local/cuda/bin command -v nvcc || true)
echo "setup: all there: g++ $gcc_version, clang $("$("$folder/clang.sh")" -dumpversion), cmake $cmake_version, ${nvcc:-no nvcc (the threads executor is built alone)}"
if [[ -n $nvcc && -e /usr/include/thrust/version.h ]]; then
  echo "setup: warning: libthrust-dev is installed and shadows the CUDA toolkit's own Thrust: apt-get remove it" >&2
fi
