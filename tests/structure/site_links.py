# SPDX-License-Identifier: Apache-2.0
"""site_links.py SITE: follows each link of a built site to its file and its anchor.

documents.py follows the links of the Markdown; here are those that only the site has: its navigation, and the pages
that Doxygen makes. A link out of the site is not followed, because a test must not depend on the network or on other
people's servers; its address must be https and name a host."""

import html
import pathlib
import re
import sys
import urllib.parse

import tree

SCRIPT = re.compile(r"<script\b[^>]*>.*?</script>|<!--.*?-->", re.DOTALL)
LINK = re.compile(r'<[^>]*?\s(?:href|src)="([^"]*)"')
ANCHOR = re.compile(r'\s(?:id|name)="([^"]*)"')
DOXYGENS_OWN = "#nested-classes"  # Doxygen 1.9.4 writes it for private types, too, which it does not list


def fault(site, page, link, anchors):
    """What is wrong with a link of a page, or nothing."""
    address = urllib.parse.urlsplit(link)
    if address.scheme in ("data", "javascript") or link == DOXYGENS_OWN:
        return None
    if address.scheme or address.netloc:
        good = address.scheme == "https" and re.fullmatch(r"[\w-]+(\.[\w-]+)+", address.netloc)
        return None if good else "no https address of a host (it is not fetched, so its form is all that is checked)"
    target = (page.parent / urllib.parse.unquote(address.path)).resolve() if address.path else page
    if not target.is_file() or not target.is_relative_to(site):
        return "leads to no file of the site"
    if address.fragment and urllib.parse.unquote(address.fragment) not in anchors.get(target, ()):
        return "leads to no such anchor"
    return None


def check(site):
    site = pathlib.Path(site).resolve()
    texts = {page: SCRIPT.sub("", page.read_text(encoding="utf-8")) for page in sorted(site.rglob("*.html"))}
    anchors = {page: set(ANCHOR.findall(text)) for page, text in texts.items()}
    findings, checked = [], 0
    for page, text in texts.items():
        for link in sorted(set(LINK.findall(text))):
            checked += 1
            if wrong := fault(site, page, html.unescape(link), anchors):
                findings.append(f"{page.relative_to(site)}: {link}: {wrong}")
    return findings, checked


if __name__ == "__main__":
    tree.report(*check(sys.argv[1]))
