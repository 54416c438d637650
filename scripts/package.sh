#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a wheel and a .deb, installs each away from the tree, and runs what is in it on CPU threads.
#   scripts/package.sh               builds build/package first; the packages are then in build/package/packages
#   scripts/package.sh BUILD FOLDER  packs a build that is there into a folder, instead of older packages; fetches nothing
# Without dpkg or the wheel's backend (scripts/setup.sh installs it) the packages cannot be made: exits with 77.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

for tool in cpack dpkg-deb dpkg-shlibdeps file; do
  if ! command -v $tool > /dev/null; then
    echo "not run: there is no $tool here"
    exit 77
  fi
done
if ! python=$("$root/scripts/python.sh" tests); then
  echo "not run: there is no Python that makes wheels"
  exit 77
fi

if (($# == 0)); then
  set -- "$root/build/package" "$root/build/package/packages"
  cd "$root"
  cmake --preset release -B "$1" -DCMAKE_INSTALL_PREFIX=/usr -DLULL_TESTS=OFF -DLULL_BENCH=OFF
  cmake --build "$1" -j "$(nproc)"
elif (($# != 2)); then
  sed -n '4,6p' "${BASH_SOURCE[0]}" | cut -c3- >&2
  exit 2
fi
build=$(cd "$1" && pwd)
mkdir -p "$2"
packages=$(cd "$2" && pwd)
rm -f "$packages"/lull_*.deb "$packages"/lull-*.whl
library=$build/apps/c/liblull.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset LULL_DATA LULL_LIBRARY PYTHONPATH

echo "package: the .deb"
(cd "$work" && cpack --config "$build/CPackConfig.cmake" -B "$work/deb" > "$work/log" 2>&1) || {
  tail -n 40 "$work/log" >&2
  exit 1
}
cp "$work"/deb/lull_*.deb "$packages"

echo "package: the wheel"
(cd "$work" && LULL_PREBUILT=$library "$python" -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps --no-index \
  -C build-dir="$work/wheel" -w "$packages" "$root")

# works PROGRAM: it runs a task with its default input
works() { (cd "$work" && "$1" run --executor threads --task mlp:hidden=16,epochs=1 | grep -q "held-out accuracy"); }

dpkg-deb -x "$packages"/lull_*.deb "$work/tree"
works "$work/tree/usr/bin/lull"
"$work/tree/usr/bin/lull" new task my_task --in "$work/my_task" | grep -qF "PREFIX_PATH=$work/tree/usr"
cmake -S "$root/tests/consumer/c_project" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$work/tree/usr" > "$work/log"
cmake --build "$work/consumer" >> "$work/log"
"$work/consumer/consumer" > /dev/null

"$python" -m venv --without-pip "$work/environment"
"$python" -m pip --python "$work/environment/bin/python" install -q --disable-pip-version-check --no-index --no-deps "$packages"/lull-*.whl
works "$work/environment/bin/lull"
(cd "$work" && environment/bin/python -c 'import lull; lull.tasks()')

echo "package: $(ls "$packages"/lull_*.deb) $(ls "$packages"/lull-*.whl)"
