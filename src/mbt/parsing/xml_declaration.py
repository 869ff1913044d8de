"""The declaration of an XML document, and the encoding in it."""

from __future__ import annotations

import re

__all__ = ["DECLARED_ENCODING", "XML_DECLARATION"]

#: A well-formed XML declaration.
XML_DECLARATION = re.compile(
    r"""<\?xml\s+version\s*=\s*(["'])[\w.:-]+\1(\s+encoding\s*=\s*(["'])[A-Za-z][A-Za-z0-9._-]*\3)?"""
    r"""(\s+standalone\s*=\s*(["'])(yes|no)\5)?\s*\?>"""
)
#: The name of an encoding in the declaration, which a byte order mark may precede.
DECLARED_ENCODING = re.compile(
    rb"""(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*<\?xml\s[^<>]*?\bencoding\s*=\s*["']([^"'<>]*)["'][^<>]*\?>"""
)
