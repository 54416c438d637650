# SPDX-License-Identifier: Apache-2.0
"""Names of sites, as the C library takes them."""

from __future__ import annotations

from .binding import log

MAX_BYTES = 255
_UNNAMED = b"unnamed"
_MAX_KNOWN = 65_536  # names that are checked once; those beyond are checked each time, and without a word

_known: dict[str, bytes] = {}


def site_of(name: object) -> bytes:
    """A name's bytes. Never raises: a name that cannot be as it is is changed, with one warning. Thread-safe."""
    text = name if isinstance(name, str) else _text_of(name)
    site = _known.get(text)
    return _checked(name, text) if site is None else site


def _text_of(name):
    try:
        return name.decode(errors="replace") if isinstance(name, bytes) else str(name)
    except Exception:  # whatever the program's object raises
        return ""


def _checked(name, text):
    site = text.encode(errors="replace").replace(b"\0", b" ")[:MAX_BYTES].decode(errors="ignore").encode() or _UNNAMED
    if len(_known) < _MAX_KNOWN:
        _known[text] = site
        if site.decode() != name:
            log.warning("a site is a text of 1 to %d bytes: %.80s is called %.80s", MAX_BYTES, ascii(name), site)
    return site
