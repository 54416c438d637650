#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the path of a clang++ of version 16 or newer, whatever its name is; says so and fails where there is none.
set -euo pipefail

for name in clang++ clang++-{16..24}; do
  compiler=$(command -v "$name") || continue
  version=$("$compiler" -dumpversion)
  if ((${version%%.*} >= 16)); then
    echo "$compiler"
    exit
  fi
done
echo "clang.sh: there is no clang++ of version 16 or newer (Debian 12 and Ubuntu 24.04: clang-16)" >&2
exit 1
