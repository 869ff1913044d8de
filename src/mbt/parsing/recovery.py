"""Repairs text that is almost XML, so that a parser reads it, and keeps every line where it was.

Such files come with robots, and other readers accept them. Only faults with a single possible meaning are
repaired: where the text of an element or the nesting would be a guess, the parser's error stands.
"""

from __future__ import annotations

import codecs
import re
from html.entities import name2codepoint
from xml.parsers import expat

from mbt.errors import ParseError, quote
from mbt.parsing.xml_declaration import DECLARED_ENCODING, XML_DECLARATION

__all__ = ["recover"]

_DECLARATION = re.compile(r"\s*(<\?xml\s[^<>]*\?>)")
_OPENING = re.compile(r"<!--|<!\[CDATA\[|<\?|&")
_CLOSING = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>"}
_REFERENCE = re.compile(r"&(?:#[0-9]+|#x[0-9a-fA-F]+|([A-Za-z][A-Za-z0-9]*));")
_OF_XML = {"amp", "lt", "gt", "quot", "apos"}

# Beginnings of texts of wide characters: a byte order mark or '<'. UTF-32 begins as UTF-16 does.
_WIDE = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"<\0\0\0", "utf-32-le"),
    (b"\0\0\0<", "utf-32-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
# Python codecs that are not character sets.
_NO_CHARACTER_SETS = {"charmap", "idna", "punycode", "raw_unicode_escape", "unicode_escape", "undefined"}
# The fault, the remedy, and the line.
Repair = tuple[str, str, int]
# Maps what surrogateescape makes of a byte to the character that the byte is in Latin-1.
_LATIN_1 = {0xDC00 + byte: chr(byte) for byte in range(0x80, 0x100)}
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")


def recover(data: bytes, file: str, encoding: str | None = None) -> tuple[str, list[Repair]]:
    """Return the text of a document without an XML declaration, and what was repaired.

    Each kind of repair is reported once, with the line of its first place. Decoding a text by its declared
    encoding is not a repair.

    Parameters
    ----------
    data : bytes
        The document.
    file : str
        The name of the document in errors.
    encoding : str, optional
        The encoding where it is known; it overrides the declaration.

    Raises
    ------
    ParseError
        When the bytes are not text in the encoding that their first bytes indicate.
    """
    repairs = _Repairs()
    text = _decode(data, file, encoding, repairs).lstrip("\ufeff")
    declaration = _DECLARATION.match(text)
    if declaration is not None:
        in_front = declaration.group()
        start = declaration.start(1)
        if start > 0:
            repairs.note("there are blanks before <?xml", "read without them", text, start)
        if not XML_DECLARATION.fullmatch(declaration.group(1)):
            repairs.note("the XML declaration is malformed", "it is ignored", text, start)
        text = _blank(in_front) + text[declaration.end() :]
    text = _repair_markup(text, repairs)
    end = _find_end_of_root(text)
    behind = text[end:].lstrip()
    if behind.startswith("<"):
        place = len(text) - len(behind)
        repairs.note("there is more after the root element", "it is left out", text, place)
        text = text[:end]
    return text, repairs.collect()


class _Repairs:
    """Repairs: for each kind how often, and the line of the first place."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str], tuple[int, int]] = {}

    def note(self, fault: str, remedy: str, text: str, position: int) -> None:
        """Count a repair at a position in a text."""
        count, line = self._places.get((fault, remedy), (0, 0))
        self._places[fault, remedy] = count + 1, line or text.count("\n", 0, position) + 1

    def collect(self) -> list[Repair]:
        """Return one of each kind."""
        return [
            (fault if count == 1 else f"{fault} ({count} times)", remedy, line)
            for (fault, remedy), (count, line) in self._places.items()
        ]


def _decode(data: bytes, file: str, encoding: str | None, repairs: _Repairs) -> str:
    """Decode by the first bytes, else as declared, else as UTF-8 with stray bytes of Latin-1."""
    for beginning, name in () if encoding is not None else _WIDE:
        if data.startswith(beginning):
            try:
                return data.decode(name)
            except UnicodeDecodeError as error:
                raise ParseError(
                    f"the text begins as {name}, but is not valid: {error.reason}", file=file
                ) from None
    declared = DECLARED_ENCODING.match(data)
    if encoding is None and declared is not None:
        text = _decode_as_declared(data, declared.group(1).decode("utf-8", "replace"), repairs)
        if text is not None:
            return text
    text = data.decode("utf-8", "surrogateescape")
    stray = _ESCAPED_BYTE.search(text)
    if stray is None:
        return text
    repairs.note("a byte is not UTF-8", "such bytes are read as Latin-1", text, stray.start())
    return text.translate(_LATIN_1)


def _decode_as_declared(data: bytes, declared: str, repairs: _Repairs) -> str | None:
    """Return the text in the declared encoding; None where that is wrong or unknown."""
    reason = "is not known"
    try:
        name = codecs.lookup(declared).name.replace("-", "_")
        if name == "utf_8":
            return None
        if name.startswith(("utf_16", "utf_32")):
            reason = "is not that of this text"
        elif name not in _NO_CHARACTER_SETS:
            return data.decode(name)
    except UnicodeDecodeError:
        reason = "is not that of this text"
    except (LookupError, ValueError):
        pass
    line = data[: data.index(b"encoding")].decode("latin-1")
    repairs.note(f"the declared encoding {quote(declared)} {reason}", "UTF-8 is taken", line, len(line))
    return None


def _repair_markup(text: str, repairs: _Repairs) -> str:
    """Return the text with its comments and its references at '&' repaired."""
    parts, position = [], 0
    opening = _OPENING.search(text)
    while opening is not None:
        start, token = opening.span()[0], opening.group()
        if token == "&":
            end, replacement = _resolve_reference(text, start, repairs)
        else:
            end = text.find(_CLOSING[token], opening.end())
            if end < 0:
                break  # The parser reports it.
            replacement = None
            end += len(_CLOSING[token])
            if token == "<!--" and "--" in text[start + 4 : end - 2]:
                repairs.note("'--' stands in a comment", "read as one", text, start)
                replacement = f"<!--{_blank(text[start + 4 : end - 3])}-->"
        if replacement is not None:
            parts += [text[position:start], replacement]
            position = end
        opening = _OPENING.search(text, end)
    return "".join([*parts, text[position:]])


def _find_end_of_root(text: str) -> int:
    """Return where the root element ends, if something follows that XML does not allow there."""
    parser = expat.ParserCreate("utf-8")
    depth = count = 0
    closed = -1

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, count
        depth += 1
        count += 1

    def end(tag: str) -> None:
        nonlocal depth, closed
        depth -= 1
        if depth == 0:
            closed = parser.CurrentByteIndex
            # The position is behind a self-closing tag, but in front of an end tag.
            if count > 1 or data[closed - 2 : closed] != b"/>":
                closed = data.find(b">", closed) + 1

    def refuse(*_: object) -> None:
        raise ValueError

    data = text.encode("utf-8", "replace")
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except ValueError:
        pass
    except expat.ExpatError:
        if closed > 0:
            return len(data[:closed].decode("utf-8"))
    return len(text)


def _resolve_reference(text: str, start: int, repairs: _Repairs) -> tuple[int, str | None]:
    """Return where a reference at '&' ends and what replaces it, if anything."""
    reference = _REFERENCE.match(text, start)
    name = None if reference is None else reference.group(1)
    if reference is not None and (name is None or name in _OF_XML):
        return reference.end(), None
    if reference is not None and name in name2codepoint:
        repairs.note(f"&{name}; is an entity of HTML, not of XML", "the character is taken", text, start)
        return reference.end(), f"&#{name2codepoint[name]};"
    repairs.note("'&' stands alone", "it is read as &amp;", text, start)
    return start + 1, "&amp;"


def _blank(text: str) -> str:
    """Return a text as blank lines."""
    return "\n" * text.count("\n")
