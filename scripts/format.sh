#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Formats the tree in place; with --check it changes nothing, lists the files that it would change and fails if there are any.
#   C++ and CUDA  clang-format, as .clang-format says      Python  ruff format, as pyproject.toml says
# scripts/python.sh installs both once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=$(scripts/python.sh --install format)
tools=${python%/*}

sources() { git ls-files -z '*.hpp' '*.cpp' '*.h' '*.c' '*.cuh' '*.cu'; }
failed=0
case ${1:-} in
  "")
    sources | xargs -0 "$tools/clang-format" -i
    "$tools/ruff" format --quiet .
    ;;
  --check)
    sources | xargs -0 "$tools/clang-format" --dry-run --Werror || failed=1
    "$tools/ruff" format --check --quiet . || failed=1
    ((failed == 0)) || echo "format: run scripts/format.sh" >&2
    ;;
  *) sed -n '3,5p' "${BASH_SOURCE[0]}" | cut -c3- >&2; exit 2 ;;
esac
exit $failed
