"""XML within bounds: what is well-formed, what is refused, and which line is blamed."""

import gc

import pytest

import mbt
from mbt.errors import ParseError
from mbt.parsing import xml_reader
from mbt.parsing.xml_tree import Document


def parse_xml(data, file, **options):
    return xml_reader.parse_xml(data, Document(file), **options)


def test_elements_know_their_lines_and_texts():
    root = parse_xml(b'<a>\n  <b x="1"/>\n  <c> some\n text </c>\n</a>', "f.xml")
    assert (root.tag, root.line, [child.tag for child in root.children]) == ("a", 1, ["b", "c"])
    assert [child.line for child in root.children] == [2, 3]
    assert root.children[1].text == "some\n text"
    assert str(root.children[0]) == "<b>"


def test_what_was_not_read_is_known():
    root = parse_xml(b'<a><b x="1" y="2" xmlns:z="z"><c/></b><b x="1"/><d><e/></d></a>', "f.xml")
    for child in root.take_children("b"):
        child.take("x")
    assert [path for path, _ in root.unread()] == ["b@y", "b/c", "d"]
    root.children[0].dismiss()
    assert [path for path, _ in root.unread()] == ["d"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (b"", None, "the text is empty"),
        (b"  \n ", None, "the text is empty"),
        (b"<a>\n<b>\n</a>", 3, "mismatched tag"),
        (b"<a>\n<b/>", 2, "no element found"),
        (b"<a/>text", 1, "junk after document element"),
        (b'<a x="1" x="2"/>', 1, "duplicate attribute"),
        (b'<a x="&#0;"/>', 1, "invalid character"),
        (b"<a>\n<b c=d/></a>", 2, "invalid token"),
        (b"plain text", 1, "syntax error|invalid token"),
        (b"\x00\x01\x02", 1, "well-formed"),
    ],
    ids=str,
)
def test_ill_formed_documents(text, line, message):
    with pytest.raises(ParseError, match=message) as caught:
        parse_xml(text, "f.xml")
    assert caught.value.file == "f.xml"
    if line is not None:
        assert caught.value.line == line


BOMB = b"""<!DOCTYPE a [<!ENTITY x "xxxxxxxxxx"><!ENTITY y "&x;&x;&x;&x;">]>
<a>&y;</a>"""


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        b'<!DOCTYPE a SYSTEM "file:///etc/hostname"><a/>',
        b'<!DOCTYPE a [<!ENTITY x SYSTEM "/etc/hostname">]><a>&x;</a>',
    ],
)
def test_document_types_are_refused(text):
    with pytest.raises(ParseError, match="document type") as caught:
        parse_xml(text, "f.xml")
    assert caught.value.line == 1


def test_nesting_is_bounded():
    def nested(depth):
        return b"<a>" * depth + b"</a>" * depth

    parse_xml(nested(xml_reader.MAX_NESTING), "f.xml")
    with pytest.raises(ParseError, match="nested deeper than 64"):
        parse_xml(nested(xml_reader.MAX_NESTING + 1), "f.xml")
    with pytest.raises(ParseError, match="nested deeper than 64"):
        parse_xml(b"<a>" * 1_000_000, "f.xml")


@pytest.mark.parametrize("root", [b"mujoco", b"mujocoinclude"])
def test_bodies_of_mjcf_may_be_nested_deeper(root):
    def nested(depth):
        return b"<%b>" % root + b"<body>" * (depth - 1) + b"</body>" * (depth - 1) + b"</%b>" % root

    parse_xml(nested(400), "f.xml")
    with pytest.raises(ParseError, match="nested deeper than 400 levels"):
        parse_xml(nested(401), "f.xml")


def test_size_and_number_of_elements_are_bounded(monkeypatch):
    monkeypatch.setattr(xml_reader, "MAX_BYTES", 100)
    monkeypatch.setattr(xml_reader, "MAX_ELEMENTS", 5)
    parse_xml(b"<a>" + b"<b/>" * 4 + b"</a>", "f.xml")
    with pytest.raises(ParseError, match="more than 5 elements"):
        parse_xml(b"<a>" + b"<b/>" * 5 + b"</a>", "f.xml")
    with pytest.raises(ParseError, match="101 bytes are more"):
        parse_xml(b"<a>" + b" " * 94 + b"</a>", "f.xml")


def test_nothing_is_kept_inside_opaque_elements():
    plugin = b"<plugin><geometry><link/><type>text</type></geometry></plugin>"
    root = parse_xml(b"<sdf><link>" + plugin + b"<mass/></link><t><type>a</type></t></sdf>", "f.xml")
    link, other = root.children
    assert [(child.tag, list(child.children)) for child in link.children] == [("plugin", []), ("mass", [])]
    assert other.children[0].text == "a"
    # As the root, the element keeps everything.
    assert len(parse_xml(plugin, "f.xml").children[0].children) == 2


def test_text_ends_with_its_element_whatever_is_inside():
    inside = b"<type>a<gazebo>x</gazebo>b<type>c</type></type><joint>d</joint><type>e</type><link>f</link>"
    root = parse_xml(b"<robot><t>" + inside + b"</t></robot>", "f.xml")
    outer, *others = root.children[0].children
    assert outer.text == "ab"
    assert outer.children[1].text == "c"
    assert [(child.tag, child.text) for child in others] == [("joint", ""), ("type", "e"), ("link", "")]


def test_bounds_hold_inside_opaque_elements(monkeypatch):
    def nested(depth):
        return b"<robot><gazebo>\n" + b"<a>" * depth + b"</a>" * depth + b"</gazebo><b/></robot>"

    assert len(parse_xml(nested(xml_reader.MAX_NESTING - 2), "f.xml").children) == 2
    with pytest.raises(ParseError, match="<a>: elements are nested deeper than 64") as caught:
        parse_xml(nested(xml_reader.MAX_NESTING - 1), "f.xml")
    assert caught.value.line == 2
    monkeypatch.setattr(xml_reader, "MAX_ELEMENTS", 5)
    parse_xml(nested(2), "f.xml")
    for depth in (3, 4):
        with pytest.raises(ParseError, match="more than 5 elements"):
            parse_xml(nested(depth), "f.xml")


def test_elements_go_with_the_root():
    gc.disable()
    try:
        gc.collect()
        for _ in range(10):
            parse_xml(b"<robot>" + b"<link><inertial/></link>" * 500 + b"</robot>", "f.xml")
        assert gc.collect() < 1000
    finally:
        gc.enable()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "iso-8859-1"])
def test_encodings(encoding):
    declaration = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>'
    root = parse_xml(f'{declaration}<a name="gelenk_ä"/>'.encode(encoding), "f.xml")
    assert root.attributes["name"] == "gelenk_ä"


def test_long_names_are_shortened_in_messages():
    root = parse_xml(b'<a name="' + b"n" * 1000 + b'"/>', "f.xml")
    assert len(str(root)) < 100


@pytest.mark.exhaustive
def test_a_hundred_thousand_joints_are_read():
    inertia = (
        '<mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/><origin xyz="0 0 1"/>'
    )
    count = 100_000
    links = (f'<link name="l{i}"><inertial>{inertia}</inertial></link>' for i in range(count + 1))
    joints = (
        f'<joint name="j{i}" type="revolute"><parent link="l{i}"/><child link="l{i + 1}"/><axis xyz="0 1 0"/>'
        '<origin xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint>'
        for i in range(count)
    )
    tree = mbt.load_model(f'<robot name="chain">{"".join(links)}{"".join(joints)}</robot>')
    assert tree.num_positions == count
