#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the Python that tests make wheels with and hold Lull's files against; says so and fails where it is not installed.
# With --install it is installed first, in these versions, into a virtual environment in the user's cache folder.
set -euo pipefail

packages=(numpy==2.4.6 pillow==13.0.0 safetensors==0.8.0 scikit-build-core==1.1.2)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/lull/python-$(IFS=-; echo "${packages[*]//==/-}")
if [[ ! -e $folder/whole ]]; then
  if [[ ${1:-} != --install ]]; then
    echo "python.sh: not installed yet: scripts/python.sh --install" >&2
    exit 1
  fi
  echo "python: installing ${packages[*]} into $folder" >&2
  python3 -m venv "$folder"
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary=:all: "${packages[@]}"
  touch "$folder/whole"
fi
echo "$folder/bin/python"
