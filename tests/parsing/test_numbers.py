"""Numbers are whole tokens; poses follow URDF's fixed-axis angles."""

import numpy as np
import pytest

from mbt.errors import ParseError
from mbt.math import make_pose
from mbt.parsing.description import ModelDescription
from mbt.parsing.inertias import make_spatial_inertia
from mbt.parsing.numbers import take_number, take_numbers, take_pose
from mbt.parsing.report import ParseReport
from mbt.parsing.xml_tree import Document, Element


def element(**attributes):
    return Element("origin", attributes, 7, Document("f.urdf"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        (" -1.5 ", -1.5),
        ("+.5", 0.5),
        ("5.", 5.0),
        ("1e-3", 1e-3),
        ("1.E+3", 1e3),
        ("-0", 0.0),
        ("1e-400", 0.0),
    ],
)
def test_numbers(text, value):
    assert take_number(element(value=text), "value") == value


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("1.5kg", "without units"),
        ("1,5", "decimal point"),
        ("0x10", "without units"),
        ("1_000", "without units"),
        ("nan", "finite"),
        ("-inf", "finite"),
        ("Infinity", "finite"),
        ("1e999", "too large"),
        ("", "nothing is given"),
        ("  ", "nothing is given"),
        ("1 2", "2 are given"),
        ("abc", "'abc' is not a number"),
        ("--1", "is not a number"),
        ("1e", "without units"),
        (".", "is not a number"),
        ("e5", "is not a number"),
        ("\u0661", "is not a number"),
        ("\uff11", "is not a number"),
        ("${mass}", "xacro"),
        ("$(arg", "xacro"),
        ("1\u00a02", "without units"),
        ("1" * 400, "too large"),
        ("x" * 400, "is not a number"),
    ],
)
def test_what_is_no_number(text, hint):
    with pytest.raises(ParseError, match=r"value=.*: expected a number") as caught:
        take_number(element(value=text), "value")
    assert hint in caught.value.hint
    assert (caught.value.file, caught.value.line, caught.value.element) == ("f.urdf", 7, "<origin>")
    assert len(str(caught.value)) < 300


def test_defaults_and_missing_attributes():
    assert take_number(element(), "value", 3.0) == 3.0
    assert take_number(element(), "value", None) is None
    with pytest.raises(ParseError, match="the attribute 'value' is missing"):
        take_number(element(), "value")
    with pytest.raises(ParseError, match="the attribute 'xyz' is missing"):
        take_numbers(element(), "xyz", 3)


@pytest.mark.parametrize(
    ("text", "given"), [("1 2", "2 are given"), ("1 2 3 4", "4 are given"), ("1", "1 is given")]
)
def test_vectors_have_their_length(text, given):
    assert take_numbers(element(xyz="1\t2 \n 3"), "xyz", 3) == [1, 2, 3]
    with pytest.raises(ParseError, match="expected 3 numbers") as caught:
        take_numbers(element(xyz=text), "xyz", 3)
    assert given in caught.value.hint


def test_poses():
    np.testing.assert_array_equal(take_pose(None), np.eye(4))
    np.testing.assert_array_equal(take_pose(element()), np.eye(4))
    pose = take_pose(element(xyz="1 2 3", rpy="0.1 0.2 0.3"))
    np.testing.assert_array_equal(pose, make_pose([1, 2, 3], rpy=[0.1, 0.2, 0.3]))
    quaternion = take_pose(element(quat_xyzw="0 0 1 1"))
    np.testing.assert_allclose(quaternion[:3, :3] @ [1, 0, 0], [0, 1, 0], atol=1e-15)


def test_the_same_numbers_are_the_same_read_only_pose():
    X = take_pose(element(xyz="1 -2 3.5", rpy="0.1 -0.2 0.3"))
    assert take_pose(element(xyz="1.0 -2 3.5", rpy=".1 -.2 .3")) is X
    assert not X.flags.writeable
    assert take_pose(element()) is take_pose(None)
    # A zero keeps its sign.
    assert np.signbit(take_pose(element(xyz="0 0 -0"))[2, 3])


def test_what_is_taken_is_gone():
    origin = element(xyz="1 2 3", rpy="0 0 0", other="x")
    take_pose(origin)
    assert origin.attributes == {"other": "x"}


def test_inertias_are_moved_to_the_body():
    X_BI = make_pose([1, 2, 3], rpy=[0.5, -0.3, 2.0])
    link = Element("link", {"name": "l"}, 1, Document("f.urdf"))
    moments = (1.0, 2.0, 2.5, 0.1, -0.2, 0.3)
    model = ModelDescription("m", ParseReport("m"))
    M_BBo_B, moment = make_spatial_inertia(link, 1, model, 2.0, X_BI, moments)
    R = X_BI[:3, :3]
    I_SScm_B = R @ [[1, 0.1, -0.2], [0.1, 2, 0.3], [-0.2, 0.3, 2.5]] @ R.T
    I_SBo_B = I_SScm_B + 2.0 * (14.0 * np.eye(3) - np.outer([1, 2, 3], [1, 2, 3]))
    np.testing.assert_array_equal(M_BBo_B.com, [1, 2, 3])
    np.testing.assert_allclose(M_BBo_B.calc_rotational_inertia(), I_SBo_B, rtol=1e-14)
    assert moment >= abs(I_SBo_B).max()


def test_poses_have_one_rotation():
    with pytest.raises(ParseError, match="both 'rpy' and 'quat_xyzw'"):
        take_pose(element(rpy="0 0 0", quat_xyzw="0 0 0 1"))
    with pytest.raises(ParseError, match="quat_xyzw is zero"):
        take_pose(element(quat_xyzw="0 0 0 0"))


@pytest.mark.parametrize(("attribute", "is_limit"), [("value", False), ("upper", True), ("effort", True)])
def test_only_a_limit_may_be_left_out(attribute, is_limit):
    with pytest.raises(ParseError, match="numbers must be finite") as caught:
        take_number(element(**{attribute: "nan"}), attribute)
    assert ("leave a limit out" in str(caught.value)) is is_limit
