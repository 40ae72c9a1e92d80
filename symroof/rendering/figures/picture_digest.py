"""What a picture says of itself: a digest of its own bytes. Whoever changes it, changes that; a picture of somebody else has none."""

from __future__ import annotations

import hashlib
import re
import zlib
from xml.sax.saxutils import escape, quoteattr

# Where the digest stands in a file of each format: how many bytes of the picture are behind it.
BEHIND = {"svg": 0, "pdf": 0, "png": 12, "html": 0}


def _mark(digest: str, form: str) -> bytes:
    """A comment, which no viewer shows; of a PNG a chunk of text in front of its last one."""
    if form in ("svg", "html"):
        return f"<!-- symroof {digest} -->\n".encode()
    if form == "pdf":
        return f"% symroof {digest}\n".encode()
    body = b"tEXt" + f"symroof\0{digest}".encode()
    return (len(body) - 4).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")


def with_description(svg: bytes, title: str, description: str, lang: str) -> bytes:
    """The picture with a title and a description for those who do not see it."""
    tongue = "" if lang == "en" else f'xml:lang="{lang}" lang="{lang}" '
    head = f'<svg role="img" {tongue}aria-label={quoteattr(title)} '
    text = re.sub(r"<svg ", lambda _: head, svg.decode(), count=1)
    elements = f"\\1\n <title>{escape(title)}</title>\n <desc>{escape(description)}</desc>"
    return re.sub(r"(<svg [^>]*>)", lambda svg: elements.replace("\\1", svg[1], 1), text, count=1).encode()


def sign(picture: bytes, form: str) -> bytes:
    """The picture with the digest of its bytes.

    >>> sign(b"<svg/>\\n", "svg")
    b'<svg/>\\n<!-- symroof cd1fafe3cc7f06f5 -->\\n'
    """
    place = len(picture) - BEHIND[form]
    return picture[:place] + _mark(hashlib.sha256(picture).hexdigest()[:16], form) + picture[place:]


def is_own(picture: bytes, form: str) -> bool:
    """Whether these are the bytes of a picture as it was drawn here.

    >>> own = sign(b"<svg/>\\n", "svg")
    >>> is_own(own, "svg"), is_own(own.replace(b"svg/", b"g/"), "svg"), is_own(b"<svg/>\\n", "svg")
    (True, False, False)
    """
    if form not in BEHIND:
        return False
    end = len(picture) - BEHIND[form]
    start = end - len(_mark("0" * 16, form))
    return start >= 0 and sign(picture[:start] + picture[end:], form) == picture
