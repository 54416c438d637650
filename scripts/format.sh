#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Formats the tree in place; with --check it changes nothing, lists the files that it would change and fails if there are any.
#   C++ and CUDA  clang-format, as .clang-format says      Python  ruff format, as pyproject.toml says
# Both are installed once, in these versions, into a virtual environment in the user's cache folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools=(clang-format==16.0.6 ruff==0.17.6)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/lull/$(IFS=-; echo "${tools[*]//==/-}")
if [[ ! -x $folder/bin/ruff || ! -x $folder/bin/clang-format ]]; then
  echo "format: installing ${tools[*]} into $folder"
  python3 -m venv "$folder"
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary=:all: "${tools[@]}"
fi
[[ ${1:-} != --install ]] || exit 0

sources() { git ls-files -z '*.hpp' '*.cpp' '*.h' '*.c' '*.cuh' '*.cu'; }
failed=0
case ${1:-} in
  "")
    sources | xargs -0 "$folder/bin/clang-format" -i
    "$folder/bin/ruff" format --quiet .
    ;;
  --check)
    sources | xargs -0 "$folder/bin/clang-format" --dry-run --Werror || failed=1
    "$folder/bin/ruff" format --check --quiet . || failed=1
    ((failed == 0)) || echo "format: run scripts/format.sh" >&2
    ;;
  *) sed -n '3,5p' "${BASH_SOURCE[0]}" | cut -c3- >&2; exit 2 ;;
esac
exit $failed
