"""Text that is almost XML, or in another encoding: its meaning, and its line numbers."""

import pytest

from mbt.errors import ParseError
from mbt.parsing.xml_reader import parse_xml
from mbt.parsing.xml_tree import Document


def read(data, *, strict=False):
    document = Document("f.xml", strict)
    return parse_xml(data if isinstance(data, bytes) else data.encode(), document), document.warnings


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("R&D", "R&D"),
        ("a & b", "a & b"),
        ("p?a=1&b=2", "p?a=1&b=2"),
        ("&", "&"),
        ("&;", "&;"),
        ("&nosuch;", "&nosuch;"),
        ("a&nbsp;b", "a\u00a0b"),
        ("&eacute;&Omega;", "éΩ"),
        ("&lt;&#65;&#x42; & &amp;", "<AB & &"),
    ],
)
def test_ampersands(written, meant):
    root, warnings = read(f'<a>\n<b x="{written}">{written}</b>\n<c/></a>')
    assert root.children[0].attributes["x"] == meant
    assert root.children[0].text == meant.strip()
    assert root.children[1].line == 3
    assert {warning.line for warning in warnings} == {2}


def test_what_needs_no_repair_is_left_alone():
    text = '<a x="&#38;">&<!-- & -- &nbsp; --><![CDATA[ & -- &nbsp; <!-- ]]><?p & -- ?></a>'
    root, warnings = read(text)
    assert root.text == "& & -- &nbsp; <!--"
    assert [warning.text for warning in warnings] == [
        "'&' stands alone: it is read as &amp;",
        "'--' stands in a comment: read as one",
    ]


@pytest.mark.parametrize(
    "comment", ["<!-- a -- b -->", "<!--- a --->", "<!-----><!----->", "<!-- <!-- \n\n-- -->"]
)
def test_comments(comment):
    root, warnings = read(f"<a>\n{comment}\n<b/></a>")
    assert [child.tag for child in root.children] == ["b"]
    assert root.children[0].line == 3 + comment.count("\n")
    assert [warning.line for warning in warnings] == [2]


@pytest.mark.parametrize(
    "more",
    [
        "</a>",
        "<a/>",
        "<//",
        "</a",
        "<b>\n</b>",
        "<a>",
        "</b></c>",
        "<!-- a -- b --></a>",
        "<c",
        "<!DOCTYPE a>",
    ],
)
@pytest.mark.parametrize("root", ["<a>\n<b x='>'/></a>", "<a\n/>", "<a\n></a>"])
def test_what_is_behind_the_root_element_is_left_out(root, more):
    element, warnings = read(f"{root}\n{more}")
    assert (element.tag, [child.tag for child in element.children]) == ("a", ["b"] if "<b" in root else [])
    told = [(warning.text, warning.line) for warning in warnings]
    assert told[-1] == ("there is more after the root element: it is left out", 3)
    with pytest.raises(ParseError, match="f\\.xml:3: "):
        read(f"{root}\n{more}", strict=True)


@pytest.mark.parametrize("more", ["text", "text<b/>", "]]>"])
def test_text_behind_the_root_element_is_refused(more):
    with pytest.raises(ParseError, match="not well-formed XML"):
        read(f"<a/>{more}")


TEXT = '<a>\n<b x="gelenk_ä"/></a>'


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be"])
def test_encodings_with_a_mark_are_no_fault(encoding):
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    root, warnings = read(mark + TEXT.encode(encoding), strict=True)
    assert (root.children[0].attributes["x"], root.children[0].line, warnings) == ("gelenk_ä", 2, [])


@pytest.mark.parametrize("encoding", ["iso-8859-1", "windows-1252", "cp437", "mac-roman", "utf-7"])
def test_declared_encodings_are_no_fault(encoding):
    declared = f'<?xml version="1.0" encoding="{encoding}"?>\n'
    root, warnings = read((declared + TEXT).encode(encoding), strict=True)
    assert (root.children[0].attributes["x"], root.children[0].line, warnings) == ("gelenk_ä", 3, [])


@pytest.mark.parametrize("encoding", ["gbk", "shift_jis", "euc-kr", "big5"])
def test_encodings_of_several_bytes(encoding):
    text = f"<?xml version='1.0' encoding='{encoding}' ?><a x='中'/>"
    root, warnings = read(text.encode(encoding), strict=True)
    assert (root.attributes["x"], warnings) == ("中", [])


def test_stray_bytes_are_latin_1_and_the_rest_is_utf_8():
    root, warnings = read("<a x='é".encode() + b"\xe9\xff' y='1'/>")
    assert root.attributes == {"x": "ééÿ", "y": "1"}
    assert [str(warning) for warning in warnings] == [
        "line 1: a byte is not UTF-8: such bytes are read as Latin-1"
    ]


def test_an_encoding_that_the_bytes_are_not():
    root, warnings = read(b"<?xml version='1.0' encoding='ascii'?>\n<a x='\xe9'/>")
    assert root.attributes == {"x": "é"}
    assert [warning.line for warning in warnings] == [1, 2]


@pytest.mark.parametrize(
    "name",
    [
        "idna",
        "punycode",
        "unicode_escape",
        "raw-unicode-escape",
        "charmap",
        "rot13",
        "zlib",
        "undefined",
        "x" * 50,
    ],
)
def test_codecs_that_are_no_encodings(name):
    text = f"<?xml version='1.0' encoding='{name}'?><a x='\\d é'/>"
    root, warnings = read(text)
    assert root.attributes == {"x": "\\d é"}
    assert f"the declared encoding {name!r} is not known: UTF-8 is taken" in str(warnings[0])
    with pytest.raises(ParseError, match="is not known") as caught:
        read(text, strict=True)
    assert caught.value.message == f"the declared encoding {name!r} is not known"


@pytest.mark.parametrize(
    "declaration",
    [
        "<?xml verzion='7'?>",
        "<?xml ?>",
        "<?xml encoding='utf-8'?>",
        "<?xml version='1.0' encoding='utf 8'?>",
        "<?xml version='1.0' encoding=''?>",
        "<?xml version='1.0' encoding='é'?>",
    ],
)
def test_malformed_declarations(declaration):
    root, warnings = read(declaration + "<a/>")
    assert root.tag == "a"
    assert str(warnings[-1]) == "line 1: the XML declaration is malformed: it is ignored"
    with pytest.raises(ParseError, match=r"the XML declaration is malformed|encoding '.?' is not known"):
        read(declaration + "<a/>", strict=True)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("declared", [None, "utf-16", "unicode_escape", "hex", "k" * 5000, "{}"])
def test_wide_characters_whatever_they_declare(encoding, declared):
    declaration = f"<?xml version='1.0' encoding='{declared.format(encoding)}'?>" if declared else ""
    root, warnings = read((declaration + TEXT).encode(encoding), strict=True)
    assert (root.children[0].attributes["x"], root.children[0].line, warnings) == ("gelenk_ä", 2, [])


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"\n<?xml version='1.0'?>\n<a>\n<b></a>", 4),
        (b"<a>\n&nbsp;\n<b></a>", 3),
        (b"<a>\n<!-- -- -->\n<b", 3),
        (b"<a>\n<!-- -- ", 2),
        (b"<a>\xe9\n&#0;</a>", 2),
        (b"\xff\xfe<\x00a", None),
        (b"\x00\x01", 1),
    ],
)
def test_what_cannot_be_repaired_keeps_its_line(data, line):
    with pytest.raises(ParseError) as caught:
        read(data)
    assert caught.value.line == line


@pytest.mark.parametrize(
    "text",
    [
        "\n<?xml version='1.0'?><!DOCTYPE a [<!ENTITY x 'xxxxxxxx'><!ENTITY y '&x;&x;&x;'>]><a>&y;</a>",
        "<!-- -- --><!DOCTYPE a SYSTEM 'file:///etc/hostname'><a>& &x;</a>",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_document_types_stay_refused(text, encoding):
    with pytest.raises(ParseError, match="document type"):
        read(text.encode(encoding))


@pytest.mark.parametrize(
    "piece", ["<!--", "<![CDATA[", "<?", "&", "&amp", "<?xml ", "&nbsp;", "<!-- -- -->", "]]>", "--"]
)
def test_the_repair_takes_linear_time(piece):
    """With many open comments and references; quadratic time would take minutes."""
    with pytest.raises(ParseError):
        read("<a>&" + piece * (200_000 // len(piece)))
