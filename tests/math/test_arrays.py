"""The slow path of argument conversion: what is converted, what is refused, and with what message."""

import decimal
import fractions

import numpy as np
import pytest

from mbt.errors import ArgumentTypeError, ArgumentValueError, ElementIndexError, ShapeError
from mbt.math.arrays import (
    as_finite_array,
    as_float,
    as_float_array,
    as_index,
    as_nonnegative,
    check_out,
    shared_array,
)


class Subclass(np.ndarray):
    pass


class ArrayLike:
    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        if isinstance(self.array, Exception):
            raise self.array
        return np.asarray(self.array, dtype)


VALUES = np.array([1.0, 2.0, -3.0])


@pytest.mark.parametrize(
    "value",
    [
        VALUES,
        [1, 2, -3],
        (1.0, np.float32(2), -3),
        VALUES.astype(np.float32),
        VALUES.astype(np.float16),
        VALUES.astype(np.longdouble),
        VALUES.astype(np.int8),
        VALUES.astype(">f8"),
        VALUES.astype(">i4"),
        np.repeat(VALUES, 2)[::2],
        VALUES[::-1].copy()[::-1],
        ArrayLike(VALUES),
        ArrayLike([1, 2, -3]),
        np.frombuffer(b"x" + VALUES.tobytes(), np.uint8)[1:].view(np.float64),
    ],
    ids=lambda value: f"{type(value).__name__}-{getattr(value, 'dtype', '')}",
)
def test_real_arrays_are_converted_with_the_same_values(value):
    array = as_float_array(value, "q", (3,))
    assert type(array) is np.ndarray
    assert array.dtype == np.float64
    assert array.dtype.isnative
    assert array.flags.c_contiguous
    assert array.flags.aligned
    np.testing.assert_array_equal(array, VALUES)


def test_booleans_and_fortran_order_are_converted():
    np.testing.assert_array_equal(as_float_array([True, False], "x"), [1.0, 0.0])
    for one in (True, np.False_, np.array(True)):
        with pytest.raises(ArgumentTypeError, match=f"^x: expected a number, got {bool(one)}$"):
            as_float_array(one, "x")
    matrix = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    array = as_float_array(matrix, "x", (2, 3))
    assert array.flags.c_contiguous
    np.testing.assert_array_equal(array, matrix)


def test_integers_that_numpy_has_no_type_for():
    np.testing.assert_array_equal(
        as_float_array([2**70, -(2**64), 0.5, 3], "x"), [2.0**70, -(2.0**64), 0.5, 3]
    )
    assert as_float_array(2**70, "x") == 2.0**70
    for value in (10**400, [0.0, -(10**400)], [[1, 10**400]]):
        with pytest.raises(ArgumentTypeError, match=r"^x: .*an int that is too large$"):
            as_float_array(value, "x")


def test_a_fitting_array_is_not_copied():
    assert as_float_array(VALUES, "q", (3,)) is VALUES


def test_subclasses_come_out_as_plain_arrays():
    array = as_float_array(VALUES.view(Subclass), "x")
    assert type(array) is np.ndarray


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (np.array([1 + 2j]), "complex128"),
        ([1.0, 2j], "complex128"),
        ("1 2 3", "str '1 2 3'"),
        (b"123", "bytes"),
        (["1", "2"], "list with the entry '1'"),
        (None, "None"),
        ([1.0, None], "list with the entry None: None is not a number$"),
        (np.array([1.0, 2.0], dtype=object), "object"),
        ([fractions.Fraction(1, 2)], r"list with the entry Fraction\(1, 2\)"),
        ([[1.0, 2.0], [3.0]], "list with entries of different lengths$"),
        ([[1.0], [None]], "list: None is not a number$"),
        ([decimal.Decimal(1)], r"list with the entry Decimal\('1'\); if that is meant, convert it"),
        (np.array([10**400, 1], dtype=object), "object$"),
        ({"a": 1.0}, "dict"),
        ({1.0, 2.0}, "set"),
        ((x for x in [1.0]), "generator"),
        (np.array(["2020-01-01"], "M8[D]"), "datetime64"),
        (ArrayLike(np.array([1j])), "complex128"),
        (ArrayLike(RuntimeError("on another device")), "on another device"),
        (np.ma.masked_array([1.0, 2.0], [0, 1]), "masked"),
        (object(), "object"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_anything_else_is_refused_with_its_type(value, got):
    with pytest.raises(ArgumentTypeError, match=rf"^q: expected real numbers.*{got}"):
        as_float_array(value, "q")


@pytest.mark.parametrize(
    ("shape", "wanted", "text"),
    [
        ((6,), (7,), r"q: expected shape \(7,\), got \(6,\)"),
        ((7, 1), (7,), r"q: expected shape \(7,\), got \(7, 1\)"),
        ((), (7,), r"q: expected shape \(7,\), got \(\)"),
        ((5, 6), (..., 7), r"q: expected shape \(\.\.\., 7\), got \(5, 6\)"),
        ((), (..., 7), r"q: expected shape \(\.\.\., 7\), got \(\)"),
        ((2, 4), (3, None), r"q: expected shape \(3, n\), got \(2, 4\)"),
    ],
)
def test_wrong_shapes_are_refused(shape, wanted, text):
    with pytest.raises(ShapeError, match=rf"^{text}$"):
        as_float_array(np.zeros(shape), "q", wanted)


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        ((7,), (7,)),
        ((), ()),
        ((0,), (0,)),
        ((7,), (..., 7)),
        ((2, 5, 7), (..., 7)),
        ((3, 4), (3, None)),
        ((2,), (...,)),
    ],
)
def test_right_shapes_pass(shape, wanted):
    assert as_float_array(np.zeros(shape), "q", wanted).shape == shape


def test_ndim():
    assert as_float_array(np.zeros((2, 3)), "q", ndim=2).shape == (2, 3)
    with pytest.raises(ShapeError, match=r"q: expected shape \(n, n\), got \(3,\)"):
        as_float_array(np.zeros(3), "q", ndim=2)


def test_nan_passes_as_float_array_and_is_refused_where_numbers_must_be_finite():
    assert np.isnan(as_float_array([np.nan], "q")[0])
    with pytest.raises(ArgumentValueError, match=r"p: expected finite numbers, got \[0.0, inf\]"):
        as_finite_array([0, np.inf], "p")
    many = np.zeros((4, 5))
    many[2, 3] = np.nan
    with pytest.raises(ArgumentValueError, match=r"p: expected finite numbers, got nan at index \(2, 3\)"):
        as_finite_array(many, "p")


def test_as_finite_array_is_a_copy():
    values = np.zeros(3)
    assert not np.shares_memory(as_finite_array(values, "p"), values)


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int64(2), np.array(2.0), np.array(2, ">i4")])
def test_as_float(value):
    assert as_float(value, "mass") == 2.0
    assert type(as_float(value, "mass")) is float


def test_as_float_refuses():
    with pytest.raises(ArgumentTypeError, match=r"^mass: expected real numbers .* got str '2'"):
        as_float("2", "mass")
    with pytest.raises(ArgumentTypeError, match=r"^mass: .* got None"):
        as_float(None, "mass")
    with pytest.raises(ShapeError, match=r"mass: expected one number, got shape \(1,\)"):
        as_float([2.0], "mass")


@pytest.mark.parametrize("value", [-1e-300, np.nan, np.inf, -np.inf])
def test_as_nonnegative(value):
    assert as_nonnegative(0, "damping") == 0.0
    with pytest.raises(ArgumentValueError, match=r"damping: expected a finite number >= 0, got"):
        as_nonnegative(value, "damping")


def test_check_out_returns_the_array():
    out = np.empty((2, 3))
    assert check_out(out, "out", (2, 3)) is out


def _readonly():
    array = np.zeros(3)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("out", "error", "got"),
    [
        ([0.0, 0.0, 0.0], ArgumentTypeError, "got list"),
        (None, ArgumentTypeError, "got None"),
        (np.zeros(3, np.float32), ArgumentTypeError, "got dtype float32"),
        (np.zeros(3, ">f8"), ArgumentTypeError, "got dtype >f8"),
        (np.zeros(3).view(Subclass), ArgumentTypeError, "got Subclass"),
        (np.zeros(6)[::2], ArgumentTypeError, "not C-contiguous"),
        (np.zeros(25, np.uint8)[1:].view(np.float64), ArgumentTypeError, "not aligned"),
        (_readonly(), ArgumentTypeError, "read-only"),
        (np.zeros(4), ShapeError, r"expected shape \(3,\), got \(4,\)"),
        (np.zeros((1, 3)), ShapeError, r"expected shape \(3,\), got \(1, 3\)"),
    ],
)
def test_check_out_refuses(out, error, got):
    with pytest.raises(error, match=rf"^out: .*{got}"):
        check_out(out, "out", (3,))


@pytest.mark.parametrize("value", [0, 4, np.int32(3), np.uint8(2), np.array(1)])
def test_as_index(value):
    index = as_index(value, "body_index", 5, "body")
    assert type(index) is int
    assert index == value


@pytest.mark.parametrize("value", [True, np.bool_(False), 1.0, "1", None, [1], np.array([1, 2])])
def test_as_index_refuses_what_is_no_integer(value):
    with pytest.raises(ArgumentTypeError, match=r"^body_index: expected the index of a body"):
        as_index(value, "body_index", 5, "body")


@pytest.mark.parametrize("value", [-1, 5, 2**70, -(2**70)])
def test_as_index_refuses_what_is_out_of_range(value):
    with pytest.raises(ElementIndexError, match=rf"^body_index: .*\(0 <= index < 5\), got {value}"):
        as_index(value, "body_index", 5, "body")


def test_as_index_of_nothing():
    with pytest.raises(ElementIndexError, match=r"there is no joint"):
        as_index(0, "joint_index", 0, "joint")


def test_shared_arrays_are_the_same_to_the_last_bit():
    values = [0.1 + 0.2, -np.inf, 0.0]
    array = shared_array(values)
    assert array.tolist() == values
    assert array.dtype == np.float64
    assert shared_array(list(values)) is array
    assert shared_array([0.3, -np.inf, 0.0]) is not array
    assert np.signbit(shared_array([0.3, -np.inf, -0.0]))[2]
    assert shared_array([]).shape == (0,)


def test_nobody_can_write_into_a_shared_array():
    array = shared_array([1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 3.0
    with pytest.raises(ValueError, match="WRITEABLE"):
        array.setflags(write=True)
