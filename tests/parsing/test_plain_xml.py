"""Plain XML, read without expat: what is accepted is what expat accepts, and it finds the same."""

from __future__ import annotations

import random
from xml.parsers import expat

import pytest

import mbt
from mbt._core.door.plain_xml import parse_plain_xml
from mbt._core.door.xml_elements import XmlElement
from mbt.parsing import xml_tree
from mbt.parsing.xml_tree import MAX_NESTING, Document, Element, parse_xml

PLAIN = [
    b"<robot/>",
    b"<robot name='a' ></robot >\n",
    b'<?xml version="1.0"?>\n<!-- 1 -->\r\n<robot\n name="a"\n\tb =  "c">\r\n  <link/></robot>\n<!-- 2 -->',
    b'<?xml version="1.0" encoding="UTF-8"?><robot>text<link a="1 > 0" b=\'"\'/>more ><!-- <no> --></robot>',
    b"<robot><transmission><type> k/Simple </type><type/><type>\n</type></transmission></robot>",
    b"<robot><gazebo a='1'><type>x</type><gazebo/><b c='d'>t</b></gazebo><gazebo/><link/>\n<link/></robot>",
    b"<mujoco model='m'>\n  text<worldbody><body><geom size='1'/><type>x</type></body></worldbody></mujoco>",
    b'<robot><drake:joint xmlns:drake="u" drake:a="1"/><a.b-c_1/></robot>',
]
NOT_PLAIN = [
    b'<robot name="&amp;"/>',
    b"<robot>&#65;</robot>",
    b'<robot name="a\nb"/>',
    b"<robot>\r</robot>",
    b"<robot><![CDATA[x]]></robot>",
    b"<robot><?pi x?></robot>",
    b"<robot><type>a<!-- b --></type></robot>",
    b"<robot><type><b/></type></robot>",
    '<robot name="ä"/>'.encode(),
    b"\xef\xbb\xbf<robot/>",
    b'<?xml version="1.1"?><robot/>',
    b'<?xml version="1.0" standalone="yes"?><robot/>',
    b"<sdf><type>x</type></sdf>",
    b"<mujocoinclude/>",
]
FAULTY = [
    b"<robot>",
    b"<robot",
    b"<robot a",
    b"<robot a=",
    b"<robot a='",
    b"<robot a='1'b='2'/>",
    b"<robot a='1' a='2'/>",
    b"<robot a='<'/>",
    b"<robot a=1/>",
    b"<robot></robo>",
    b"<robot><a></robot></a>",
    b"<robot/><robot/>",
    b"<robot/>text",
    b"</robot>",
    b"<robot>]]></robot>",
    b"<robot><!-- a -- b --></robot>",
    b"<robot><!-- a",
    b"<robot><!--->",
    b"<robot>text",
    b"<robot>\x00</robot>",
    b"<robot/ >",
    b"< robot/>",
    b"<1/>",
    b"<!DOCTYPE robot><robot/>",
    b' <?xml version="1.0"?><robot/>',
]
EDITS = [
    *(b"<", b">", b"/", b'"', b"'", b"&", b"--", b"-->", b"<!--", b"]]>", b" ", b"\n", b"\r\n", b"\r", b"\t"),
    *(b"=", b'a="b"', b"<gazebo>", b"</gazebo>", b"<type>", b"</type>", b"\0", b"\xc3\xa9", b"<a>", b"</a>"),
]


def contents(element: Element) -> object:
    """Return all that an element holds."""
    children = [contents(child) for child in element.children]
    return element.tag, element.attributes, element.line, element.text, element.is_read, children


def parse_both(data: bytes) -> tuple[Element | None, Element | Exception]:
    """Return what is found without expat and with it."""
    document = Document("file")
    try:
        wanted: Element | Exception = xml_tree._parse(data, document, None)
    except (expat.ExpatError, mbt.ParseError, LookupError, ValueError) as error:
        wanted = error
    return xml_tree._parse_plain(data, document), wanted


@pytest.mark.parametrize("data", PLAIN)
def test_plain_text_is_read_as_by_expat(data: bytes) -> None:
    found, wanted = parse_both(data)
    assert found is not None
    assert isinstance(wanted, Element)
    assert contents(found) == contents(wanted)
    assert all(type(element) is Element for element in (found, *found.children))
    assert found.document is not None


@pytest.mark.parametrize("data", [*NOT_PLAIN, *FAULTY])
def test_what_is_not_plain_is_left_to_expat(data: bytes) -> None:
    assert xml_tree._parse_plain(data, Document("file")) is None


@pytest.mark.parametrize("data", FAULTY)
def test_faults_are_faults_to_expat(data: bytes) -> None:
    assert isinstance(parse_both(data)[1], Exception)


def test_edited_text_is_read_as_by_expat() -> None:
    chance = random.Random(4)
    num_read = 0
    for _ in range(6000):
        data = bytearray(chance.choice(PLAIN))
        for _ in range(chance.choice((1, 1, 2, 3))):
            i = chance.randrange(len(data) + 1)
            if chance.random() < 0.5:
                data[i:i] = chance.choice(EDITS)
            else:
                del data[i : i + chance.choice((1, 1, 2, 5))]
        found, wanted = parse_both(bytes(data))
        if found is not None:
            num_read += 1
            assert isinstance(wanted, Element), data
            assert contents(found) == contents(wanted), data
    assert num_read > 500


def test_bounds_are_those_of_expat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_tree, "MAX_ELEMENTS", 10)
    for num_inside, deepest in ((9, MAX_NESTING - 1), (10, MAX_NESTING)):
        many = b"<robot>" + b"<a/>" * num_inside + b"</robot>"
        found, wanted = parse_both(many)
        assert (found is None) == isinstance(wanted, Exception) == (num_inside == 10)
        monkeypatch.setattr(xml_tree, "MAX_ELEMENTS", 1000)
        for inner in (b"<a>", b"<gazebo>"):
            end = inner.replace(b"<", b"</")
            found, wanted = parse_both(b"<robot>" + inner * deepest + end * deepest + b"</robot>")
            assert (found is None) == isinstance(wanted, Exception) == (deepest == MAX_NESTING)
        monkeypatch.setattr(xml_tree, "MAX_ELEMENTS", 10)


def test_text_in_a_string_takes_the_same_way() -> None:
    root = parse_xml(b"<robot>\n<link/></robot>", Document("file"), "utf-8")
    assert [(child.tag, child.line) for child in root.children] == [("link", 2)]


def test_wrong_arguments_give_nothing() -> None:
    nothing: frozenset[str] = frozenset()
    for start, kind, nesting in (
        (-1, XmlElement, 64),
        (99, XmlElement, 64),
        (0, int, 64),
        (0, XmlElement, 9999),
    ):
        arguments = start, kind, None, "robot", nothing, nothing, nesting, 100
        assert parse_plain_xml(b"<robot/>", *arguments) is None  # type: ignore[type-var]
    with pytest.raises(TypeError):
        parse_plain_xml("<robot/>", 0, XmlElement, None, "robot", nothing, nothing, 64, 100)  # type: ignore[arg-type]
