"""Errors derive from MbtError and from a fitting built-in, and have a helpful message."""

import copy
import pickle

import pytest

from mbt import errors
from mbt.models import model_path


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.ShapeError, ValueError),
        (errors.ArgumentTypeError, TypeError),
        (errors.ArgumentValueError, ValueError),
        (errors.TopologyError, ValueError),
        (errors.InvalidInertiaError, ValueError),
        (errors.NotFinalizedError, RuntimeError),
        (errors.AlreadyFinalizedError, RuntimeError),
        (errors.ForeignElementError, ValueError),
        (errors.ContextMismatchError, ValueError),
        (errors.StaleCacheError, RuntimeError),
        (errors.FrozenContextError, RuntimeError),
        (errors.ConcurrentUseError, RuntimeError),
        (errors.SingularityError, ArithmeticError),
        (errors.UnknownNameError, KeyError),
        (errors.ElementIndexError, IndexError),
        (errors.MissingPackageError, ImportError),
        (errors.ParseError, ValueError),
    ],
)
def test_every_error_is_an_mbt_error_and_a_builtin(error, builtin):
    assert issubclass(error, errors.MbtError)
    assert issubclass(error, builtin)
    assert str(error("what is wrong")) == "what is wrong"


def test_all_lists_every_class():
    classes = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and value.__module__ == errors.__name__
    }
    assert classes == set(errors.__all__)


def test_unknown_name_is_not_quoted_twice_and_offers_the_nearest():
    error = errors.unknown_name_error(
        "joint", "elbwo", ["shoulder", "elbow", "elbow_2"], "in model instance 'arm'"
    )
    assert (
        str(error)
        == "There is no joint named 'elbwo' in model instance 'arm'. Did you mean 'elbow' or 'elbow_2'?"
    )


def test_unknown_name_without_anything_near_lists_the_names():
    assert str(errors.unknown_name_error("body", "qqq", ["b", "a", "a"])) == (
        "There is no body named 'qqq'. The names are 'a', 'b'."
    )
    many = str(errors.unknown_name_error("body", "qqq", [f"link{i:02}" for i in range(13)]))
    assert "'link09' and 3 more." in many
    assert (
        str(errors.unknown_name_error("frame", "x", []))
        == "There is no frame named 'x'. There are none at all."
    )


def test_long_texts_keep_their_beginning_and_end():
    assert errors.shorten("elbow") == "elbow"
    assert errors.shorten("a" * 60) == "a" * 60
    assert errors.shorten("left_" + "a" * 3000 + "_elbow", 20) == "left_aaaa...aa_elbow"
    assert len(errors.quote("a" * 3000)) == 60
    assert len(str(errors.unknown_name_error("body", "x" * 3000, [f"{i}" * 3000 for i in range(20)]))) < 500


def test_what_cannot_be_shown_is_named_by_its_type():
    class Mute:
        def __repr__(self):
            raise RuntimeError

    assert errors.quote(Mute()) == "<Mute>"
    assert errors.quote(10**5000) == "<int>"


@pytest.mark.parametrize("name", [None, 3, b"arm", (), 1.5, lambda: 0])
def test_what_is_no_text_is_no_name(name):
    """This used to end in a TypeError of difflib."""
    with pytest.raises(errors.ArgumentTypeError, match="expected the name of a body, got"):
        errors.unknown_name_error("body", name, ["arm"])
    with pytest.raises(errors.ArgumentTypeError, match="expected the name of a model, got"):
        model_path(name)


def test_shape_error_text():
    assert str(errors.shape_error("q", (7,), (6,))) == "q: expected shape (7,), got (6,)"
    assert str(errors.shape_error("q", (..., 7), ())) == "q: expected shape (..., 7), got ()"
    assert str(errors.shape_error("p", (3, None), (4, 2))) == "p: expected shape (3, n), got (4, 2)"


def test_parse_error_names_the_place():
    error = errors.ParseError(
        "no mass", file="arm.urdf", line=12, element='<link name="a">', hint="add <mass>"
    )
    assert str(error) == 'arm.urdf:12: <link name="a">: no mass\n  Hint: add <mass>'
    assert (error.file, error.line) == ("arm.urdf", 12)
    assert str(errors.ParseError("no mass", line=3)) == "line 3: no mass"


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_parse_error_survives_pickling(clone):
    error = clone(errors.ParseError("no mass", file="arm.urdf", line=12))
    assert type(error) is errors.ParseError
    assert str(error) == "arm.urdf:12: no mass"
