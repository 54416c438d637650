#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the Python that has the packages for one purpose; says so and fails where they are not installed.
#   scripts/python.sh [--install] tests|format|docs|recipes
# With --install they are installed first, in these versions, into a virtual environment in the user's cache folder.
set -euo pipefail

install=
if [[ ${1:-} == --install ]]; then
  install=yes
  shift
fi
case ${1:-} in
  tests) packages=(fastjsonschema==2.22.3 numpy==2.4.6 pillow==13.0.0 safetensors==0.8.0 scikit-build-core==1.1.2 mypy==2.4.1) ;;
  format) packages=(clang-format==16.0.6 ruff==0.17.6) ;;
  recipes) packages=(kubernetes-validate==1.37.0) ;; # 140 MB; scripts/setup.sh leaves it out
  docs) packages=(sphinx==9.0.4 myst-parser==5.2.0 furo==2025.12.19) ;;
  *) sed -n '4p' "${BASH_SOURCE[0]}" | cut -c3- >&2; exit 2 ;;
esac
folder=${XDG_CACHE_HOME:-$HOME/.cache}/lull/$1-$(IFS=-; echo "${packages[*]//==/-}")
if [[ ! -e $folder/whole ]]; then
  if [[ -z $install ]]; then
    echo "python.sh: not installed yet: scripts/python.sh --install $1" >&2
    exit 1
  fi
  echo "python: installing ${packages[*]} into $folder" >&2
  python3 -m venv "$folder"
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary=:all: "${packages[@]}"
  touch "$folder/whole"
fi
echo "$folder/bin/python"
