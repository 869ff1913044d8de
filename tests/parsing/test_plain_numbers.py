"""Numbers read where they stand in plain text: what is taken is what Python makes of the same text."""

from __future__ import annotations

import math
import random
import struct

import numpy as np
import pytest

import mbt
from mbt._core.door.body_numbers import (
    make_pose_of_placement,
    move_inertia_to_body,
    move_plain_inertia_to_body,
    take_plain_inertia,
    take_plain_placement,
)
from mbt._core.door.xml_elements import XmlElement
from mbt.parsing.numbers import take_number, take_pose
from mbt.parsing.xml_tree import Document, Element, parse_xml

NUMBERS = [
    *("0", "-0", "+1", "1.", ".5", "-.5e1", "007", "1e22", "1e23", "9007199254740993", "0.1", "1E-5", " 2 "),
    *(
        "123456789012345678901234567890",
        "2.2250738585072011e-308",
        "4.9e-324",
        "1e-400",
        "1.7976931348623157e308",
    ),
    *("0.30000000000000004", "179.99999999999997", "8.41e21", "9007199254740992e22", "1e+0"),
]
NO_NUMBERS = [
    *("", " ", "+", "-", ".", "e1", "1e", "1e+", "1.5kg", "1,5", "0x10", "nan", "inf", "1_0", "--1", "1e400"),
    *("1 2", "1e5.0", "infinity", "1..2", "1d3"),
]


def element_of(text: str) -> Element:
    """Return an element of plain text."""
    element = parse_xml(f"<robot>{text}</robot>".encode(), Document("file")).children[0]
    assert isinstance(element, Element)
    return element


def bits(number: float) -> bytes:
    return struct.pack("d", number)


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_is_that_of_python(text: str) -> None:
    number = element_of(f'<a b="{text}"/>').take_plain_number("b")
    assert number is not None
    assert bits(number) == bits(float(text))


def test_random_numbers_are_those_of_python() -> None:
    chance = random.Random(3)
    texts = []
    for _ in range(4000):
        digits = "".join(chance.choice("0123456789") for _ in range(chance.randrange(1, 24)))
        point = chance.randrange(len(digits) + 1)
        exponent = chance.choice(("", f"e{chance.randrange(-40, 40)}", f"E+{chance.randrange(30)}"))
        texts.append(f"{chance.choice(('', '-', '+'))}{digits[:point]}.{digits[point:]}{exponent}")
    texts += [repr(chance.uniform(-1, 1) * 10 ** chance.randrange(-9, 9)) for _ in range(2000)]
    for text in texts:
        number = element_of(f'<a b="{text}"/>').take_plain_number("b")
        assert number is not None, text
        assert bits(number) == bits(float(text)), text


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number_is_left_where_it_is(text: str) -> None:
    element = element_of(f'<a b="{text}" c="1"/>')
    assert element.take_plain_number("b") is None
    assert element.take_plain_numbers("b", 1) is None
    assert element.take_each_plain_number(("c", "b")) is None
    assert element.attributes == {"b": text, "c": "1"}
    with pytest.raises(mbt.ParseError, match="expected a number"):
        take_number(element, "b")


def test_what_is_taken_is_gone() -> None:
    element = element_of('<a name="n" b="1" c="1 2 3" d="4" e="5" f="x"/>')
    assert element.take_plain_number("missing") is None
    assert element.take_plain_number("b") == 1.0
    assert element.take_plain_number("b") is None
    assert element.take_plain_numbers("c", 2) is None
    assert element.take_plain_numbers("c", 9) is None
    assert element.take_plain_numbers("c", -1) is None
    assert element.take_plain_numbers("c", 3) == [1.0, 2.0, 3.0]
    assert element.take_each_plain_number(("d", "b")) is None
    assert element.take_each_plain_number(("d", "e")) == [4.0, 5.0]
    assert element.take_each_plain_number(("a",) * 9) is None
    assert (element.peek("f"), element.take("f"), element.take("f"), element.peek("f")) == (
        "x",
        "x",
        None,
        None,
    )
    assert element.attributes == {"name": "n"}
    element.attributes["g"] = "2"
    assert (element.peek("g"), element.take_plain_number("g"), element.take("g")) == ("2", None, "2")


def test_an_element_that_nobody_made_has_nothing() -> None:
    element = XmlElement.__new__(XmlElement)
    assert element.take("a") is None
    assert element.take_plain_number("a") is None
    assert element.attributes == {}


def test_elements_of_any_number_of_attributes_are_read() -> None:
    for count in (63, 64, 65, 200):
        text = " ".join(f'a{i}="{i}"' for i in range(count))
        element = element_of(f"<x {text}/>")
        assert element.take(f"a{count - 1}") == str(count - 1)
        assert list(element.attributes) == [f"a{i}" for i in range(count - 1)]


def test_what_is_unread_is_found_however_attributes_were_taken() -> None:
    text = '<link name="l"><a b="1" c="2"/><d name="e"/><f xmlns:g="h" i="j"/><k/></link>'
    for touch in (False, True):
        link = element_of(text)
        for child in link.children[:3]:
            child.is_read = True
            assert not touch or child.attributes
        assert take_number(link.children[0], "b") == 1.0
        found = [(path, child.tag) for path, child in link.unread()]
        assert found == [("a@c", "a"), ("f@i", "f"), ("k", "k")]


def test_poses_are_taken_as_they_were_written() -> None:
    element = element_of('<origin xyz="1 -2 3.5" rpy="0.1 -0.2 0.3" other="x"/>')
    X = take_pose(element)
    assert element.attributes == {"other": "x"}
    np.testing.assert_allclose(X, mbt.math.make_pose([1, -2, 3.5], rpy=[0.1, -0.2, 0.3]), atol=1e-16, rtol=0)
    assert not X.flags.writeable
    slow = element_of('<origin xyz="1 -2 3.5" rpy="0.1 -0.2 0.3"/>')
    assert slow.attributes  # No longer as it is written.
    assert take_pose(slow) is X
    assert take_pose(element_of("<origin/>")) is take_pose(None)
    assert math.copysign(1.0, take_pose(element_of('<origin xyz="0 0 -0"/>'))[2, 3]) == -1.0
    for odd in ('xyz="1 2"', 'xyz="1 2 x"', 'rpy="1 2 3" quat_xyzw="0 0 0 1"'):
        left = element_of(f"<origin {odd}/>")
        assert take_plain_placement(left) is None
        assert " ".join(f'{name}="{value}"' for name, value in left.attributes.items()) == odd
        with pytest.raises(mbt.ParseError):
            take_pose(left)


def test_inertias_are_taken_whole_or_not_at_all() -> None:
    mass, origin = '<mass value="2"/>', '<origin xyz="1 2 3" rpy="0.5 0 0"/>'
    inertia = '<inertia ixx="1" iyy="2" izz="2.5" ixy="0.1" ixz="-0.2" iyz="0.3"/>'

    def take(*texts: str) -> tuple[bytes | None, list[Element]]:
        elements = [element_of(text) for text in texts]
        return take_plain_inertia(elements[0], elements[1], elements[2]), elements

    numbers, elements = take(mass, inertia, origin)
    assert numbers is not None
    assert [element.attributes for element in elements] == [{}, {}, {}]
    m, *moved = move_plain_inertia_to_body(numbers)
    assert m == 2.0
    X_BI = mbt.math.make_pose([1, 2, 3], rpy=[0.5, 0, 0])
    for one, other in zip(moved, move_inertia_to_body(2.0, X_BI, [1, 2, 2.5, 0.1, -0.2, 0.3]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)
    p, G, moment, is_possible = moved
    R = X_BI[:3, :3]
    I = R @ np.array([[1, 0.1, -0.2], [0.1, 2, 0.3], [-0.2, 0.3, 2.5]]) @ R.T  # noqa: E741
    I_Bo = I + 2.0 * (14.0 * np.eye(3) - np.outer([1, 2, 3], [1, 2, 3]))
    np.testing.assert_allclose(p, [1, 2, 3])
    np.testing.assert_allclose(2.0 * mbt.UnitInertia(*G).as_matrix(), I_Bo, rtol=1e-13)
    assert moment >= abs(I_Bo).max()
    assert is_possible

    for odd in (
        (mass.replace("2", "x"), inertia, origin),
        (mass.replace("2", "-2"), inertia, origin),
        (mass, inertia.replace("2.5", "2,5"), origin),
        (mass, inertia.replace('iyz="0.3"', ""), origin),
        (mass, inertia, origin.replace("3", "z")),
    ):
        numbers, elements = take(*odd)
        assert numbers is None
        assert [element.attributes for element in elements] == [element_of(text).attributes for text in odd]


def test_sizes_are_checked() -> None:
    with pytest.raises(ValueError, match="six doubles"):
        make_pose_of_placement(b"")
    with pytest.raises(ValueError, match="13 doubles"):
        move_plain_inertia_to_body(b"")
    with pytest.raises(mbt.ShapeError):
        move_inertia_to_body(1.0, np.eye(3), [0] * 6)
