#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the documentation site out of the tree's Markdown, its installed headers and the Python package, and checks it.
#   scripts/docs.sh [FOLDER]   into build/site, or into a folder that is empty or has an older site
#   scripts/docs.sh figures    makes no site: writes the records' values into the documents and draws their plots (after a new record)
# Fails on any warning of Sphinx or Doxygen, and on a link in the site that leads nowhere. Fetches nothing. Without the
# tools (scripts/setup.sh installs them) it makes no site: exits with 77.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [[ ${1:-} == figures ]]; then
  exec python3 -B "$root/tests/structure/write_figures.py" "$root"
fi
site=$(realpath -m "${1:-$root/build/site}")

if ! command -v doxygen > /dev/null; then
  echo "not run: there is no doxygen here"
  exit 77
fi
if ! python=$("$root/scripts/python.sh" docs); then
  echo "not run: there is no Python with Sphinx"
  exit 77
fi
if [[ -e $site && ! -e $site/.lull-site && (! -d $site || -n $(ls -A "$site")) ]]; then
  echo "docs.sh: $site is something else than a site that this script made" >&2
  exit 2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$root" "$work/lull"
rm -rf "$site"
mkdir -p "$site"
touch "$site/.lull-site"
failed=0
(cd "$work" && { cat lull/docs/site/Doxyfile; echo "OUTPUT_DIRECTORY = \"$site\""; } | doxygen -) || failed=1
"$python" -B -m sphinx -q -W --keep-going -d "$work/pages" -c "$root/docs/site" "$root" "$site" || failed=1
# What a browser or a server opens first.
cp "$site/README.html" "$site/index.html"
"$python" -B "$root/tests/structure/site_links.py" "$site" || failed=1
((failed)) || echo "docs: $site/index.html"
exit $failed
