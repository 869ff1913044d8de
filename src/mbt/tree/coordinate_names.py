"""Names of positions, velocities and inputs, and configurations by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ShapeError,
    quote,
)
from mbt.math.arrays import FloatArray, as_bool
from mbt.math.leading_axes import is_double_vector
from mbt.math.numbers import DOUBLES
from mbt.tree.coordinate_lookup import CoordinateLookup, distinct_names_of
from mbt.tree.element import MultibodyElement
from mbt.tree.indices import default_model_instance
from mbt.tree.instance_state import InstanceState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbt.tree.mobilizer import Mobilizer

__all__ = ["NamedCoordinates"]


class NamedCoordinates(InstanceState):
    """The part of `MultibodyTree` for coordinates by name."""

    # For the present plan; made at the first request.
    _known_lookup: CoordinateLookup | None = None

    # Names, in the order of q, v and the inputs.

    @property
    def position_names(self) -> tuple[str, ...]:
        """Name of each position: the joint, an underscore and a suffix, as in ``"elbow_q"``.

        Joints of the same name in several model instances are told apart: ``"arm::elbow_q"``.
        """
        return self._names_of("position_names", "position_suffixes")

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """Name of each velocity, like `position_names`: ``"elbow_w"``."""
        return self._names_of("velocity_names", "velocity_suffixes")

    @property
    def actuator_names(self) -> tuple[str, ...]:
        """Name of each input, like `position_names`: that of the actuator."""
        return tuple(distinct_names_of(self._elements.actuators.as_tuple()))

    def get_position_names(
        self,
        model_instance: int | str | None = None,
        add_model_instance_prefix: bool | None = None,
        always_add_suffix: bool = True,
    ) -> list[str]:
        """Return the names of the positions of a model instance, or of all, with Drake's options.

        Parameters
        ----------
        model_instance : ModelInstanceIndex or str, optional
            Whose positions; by default all of the tree.
        add_model_instance_prefix : bool, optional
            Whether the name of the model instance and an underscore come first; not for instances 0 and 1.
            By default, True for the whole tree and False for one model instance.
        always_add_suffix : bool, optional
            Whether a joint with only one position gets a suffix too.

        See Also
        --------
        position_names : short and unique names.
        """
        return self._name_all(
            model_instance, add_model_instance_prefix, always_add_suffix, "position_suffixes"
        )

    def get_velocity_names(
        self,
        model_instance: int | str | None = None,
        add_model_instance_prefix: bool | None = None,
        always_add_suffix: bool = True,
    ) -> list[str]:
        """Return the names of the velocities of a model instance, or of all, like `get_position_names`."""
        return self._name_all(
            model_instance, add_model_instance_prefix, always_add_suffix, "velocity_suffixes"
        )

    def get_state_names(
        self, model_instance: int | str | None = None, add_model_instance_prefix: bool | None = None
    ) -> list[str]:
        """Return the names of the positions, then of the velocities, like `get_position_names`."""
        return [
            *self.get_position_names(model_instance, add_model_instance_prefix),
            *self.get_velocity_names(model_instance, add_model_instance_prefix),
        ]

    def get_actuator_names(
        self, model_instance: int | str | None = None, add_model_instance_prefix: bool | None = None
    ) -> list[str]:
        """Return the names of the actuators of a model instance, or of all, like `get_position_names`."""
        instance = self._checked_instance(model_instance)
        return [
            self._prefix(actuator, instance, add_model_instance_prefix) + actuator.name
            for actuator in self._elements.actuators
            if instance is None or actuator.model_instance == instance
        ]

    # Configurations by name.

    def q_from_dict(
        self,
        values: Mapping[Any, object],
        default: object = None,
        *,
        shape: int | Sequence[int] | None = None,
    ) -> FloatArray:
        """Return positions of the whole tree, those of some joints by name.

        Parameters
        ----------
        values : mapping of str to array_like
            Positions by the name of the joint: a number where it has one, otherwise a list of `num_positions`
            numbers. ``"arm::elbow"`` is joint ``"elbow"`` of model instance ``"arm"``; this form is required
            where several instances have an ``"elbow"``. A key may be the joint itself.
        default : array_like, shape (..., num_positions), optional
            Source of the other positions; by default ``tree.default_positions``.
        shape : int or tuple of int, optional
            Leading axes of the result, to which the values are broadcast; by default those of `default`.

        Returns
        -------
        ndarray, shape (*shape, num_positions)

        Raises
        ------
        UnknownNameError
            When there is no such joint; the message lists the nearest names.
        ArgumentValueError
            When several joints have the name, or a joint is given twice.
        ShapeError
            When a value has the wrong size.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> link = tree.add_body(mbt.RigidBody("link", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
        >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
        >>> hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, link, None, [0, 0, 1])
        >>> tree.finalize()
        >>> q = tree.q_from_dict({"hinge": 0.5})
        >>> q
        array([0.5, 1. , 0. , 0. , 0. , 0. , 0. , 0. ])
        >>> tree.dict_from_q(q)["hinge"]
        0.5
        >>> tree.q_from_dict({"hinge": [0.1, 0.2, 0.3]}, shape=3).shape
        (3, 8)
        """
        base = self.default_positions if default is None else default
        return self._array_from_dict(values, base, shape, is_position=True)

    def v_from_dict(
        self,
        values: Mapping[Any, object],
        default: object = None,
        *,
        shape: int | Sequence[int] | None = None,
    ) -> FloatArray:
        """Return velocities of the whole tree, those of some joints by name, like `q_from_dict`.

        The others come from `default`, by default zero.
        """
        base = np.zeros(self.num_velocities) if default is None else default
        return self._array_from_dict(values, base, shape, is_position=False)

    def dict_from_q(self, q: object) -> dict[str, float | FloatArray]:
        """Return positions by the name of the joint, as `q_from_dict` takes them.

        Parameters
        ----------
        q : array_like, shape (..., num_positions)
            Positions of the whole tree.

        Returns
        -------
        dict
            In the order of q: for each joint that has positions an array (..., num_positions), a copy; if it
            has one, a float, or an array (...) when `q` has leading axes. Names that occur in several model
            instances are written ``"arm::elbow"``.
        """
        array = self._numbers.as_float_array(q, "q", (..., self.num_positions))
        return self._dict_from_array(array, is_position=True)

    def dict_from_v(self, v: object) -> dict[str, float | FloatArray]:
        """Return velocities by the name of the joint, as `v_from_dict` takes them; like `dict_from_q`."""
        array = self._numbers.as_float_array(v, "v", (..., self.num_velocities))
        return self._dict_from_array(array, is_position=False)

    def random_positions(
        self, rng: np.random.Generator | int | None = None, shape: int | Sequence[int] = ()
    ) -> FloatArray:
        """Return random positions within the limits of the joints.

        A position with two limits is uniform between them. Rotations are uniform over all rotations:
        quaternions always, roll, pitch and yaw where they have no limits. Any other angle without limits is
        uniform in [-pi, pi], any other length in [-1, 1] m; the arc length of a closed path is uniform over
        its whole length. With one limit only, the interval of that width begins or ends there.

        Parameters
        ----------
        rng : numpy.random.Generator, or int, or None
            The generator; or a seed for one; with None the numbers differ in each call.
        shape : int or tuple of int, optional
            Leading axes of the result, one sample each.

        Returns
        -------
        ndarray, shape (*shape, num_positions)
        """
        generator = as_generator(rng)
        leading = as_shape(shape, "shape")
        if not leading:
            lookup = self._lookup("random_positions")
            if lookup.draw is None:
                from mbt.tree.random_positions import plan_sample

                lookup.draw = plan_sample(lookup.plan.mobilizer_of_node)
            return lookup.draw(generator)
        from mbt.tree.random_positions import draw_positions

        try:
            q = np.empty((*leading, self.num_positions))
        except ValueError as error:
            raise ArgumentValueError(f"shape: expected that of an array, got {leading}: {error}") from None
        for mobilizer in self._finalized("random_positions").mobilizer_of_node:
            if mobilizer.num_positions:
                part = q[..., mobilizer.position_start : mobilizer.position_start + mobilizer.num_positions]
                part[...] = draw_positions(mobilizer, generator, part.shape[:-1])
        return q

    # Implementation.

    def _lookup(self, what: str) -> CoordinateLookup:
        """Return the table of names; `what` is for the error of a tree that is not finalized."""
        plan, known = self._finalized(what), self._known_lookup
        if known is None or known.plan is not plan:
            self._known_lookup = known = CoordinateLookup(plan)
        return known

    def _names_of(self, what: str, suffixes: str) -> tuple[str, ...]:
        def make() -> tuple[str, ...]:
            keys = self._lookup(what).keys
            return tuple(f"{key}_{suffix}" for m, key in keys.items() for suffix in getattr(m, suffixes))

        names: tuple[str, ...] = self._fact(what, make)
        return names

    def _name_all(
        self,
        model_instance: int | str | None,
        add_prefix: bool | None,
        always_add_suffix: bool,
        suffixes: str,
    ) -> list[str]:
        instance = self._checked_instance(model_instance)
        if add_prefix is not None:
            add_prefix = as_bool(add_prefix, "add_model_instance_prefix")

        def make() -> list[str]:
            names = []
            for mobilizer in self._finalized("The names").mobilizer_of_node:
                if instance is None or mobilizer.model_instance == instance:
                    name = self._prefix(mobilizer, instance, add_prefix) + mobilizer.name
                    words = getattr(mobilizer, suffixes)
                    if len(words) == 1 and not as_bool(always_add_suffix, "always_add_suffix"):
                        names.append(name)
                    else:
                        names += [f"{name}_{word}" for word in words]
            return names

        key = (suffixes, instance, add_prefix, as_bool(always_add_suffix, "always_add_suffix"))
        return list(self._fact("The names", make, key))

    def _prefix(self, element: MultibodyElement, instance: int | None, add_prefix: bool | None) -> str:
        name = "add_model_instance_prefix"
        wanted = instance is None if add_prefix is None else as_bool(add_prefix, name)
        if not wanted or element.model_instance <= default_model_instance():
            return ""
        return f"{self.get_model_instance_name(element.model_instance)}_"

    def _array_from_dict(
        self,
        values: Mapping[Any, object],
        default: object,
        shape: int | Sequence[int] | None,
        *,
        is_position: bool,
    ) -> FloatArray:
        letter, size = ("q", self.num_positions) if is_position else ("v", self.num_velocities)
        method = f"{letter}_from_dict"
        # Dictionaries first: the check for a Mapping takes longer.
        if not isinstance(values, (dict, Mapping)):
            raise ArgumentTypeError(
                f"{method}: expected a mapping of joint names to numbers, got {type(values).__name__}"
            )
        numbers = self._numbers
        base = numbers.as_float_array(default, f"{method}: default", (..., size))
        batch = base.shape[:-1] if shape is None else as_shape(shape, f"{method}: shape")
        if base.shape == (*batch, size):
            array = base.copy()
        elif _fits(base.shape, (*batch, size)):
            array = np.broadcast_to(base, (*batch, size)).copy()
        else:
            raise ShapeError(f"{method}: default: expected leading axes {batch}, got {base.shape[:-1]}")
        lookup = self._lookup(method)
        given: dict[Mobilizer, object] = {}
        for key, value in values.items():
            mobilizer = lookup.find(key, method)
            if mobilizer in given:
                raise ArgumentValueError(
                    f"{method}: {quote(given[mobilizer])} and {quote(key)} are the same: "
                    f"{mobilizer._label_of_joint}"
                )
            given[mobilizer] = key
            indices = mobilizer._position_range() if is_position else mobilizer._velocity_range()
            if isinstance(value, float) and numbers is DOUBLES and array.ndim == len(indices) == 1:
                array[indices.start] = value
                continue
            name = f"{method}: {letter} of {mobilizer._label_of_joint}"
            part = numbers.as_float_array(value, name)
            given_shape = part.shape
            count = len(indices)
            if count == 1 and (given_shape == batch or given_shape[-1:] != (1,)):
                part = part[..., np.newaxis]
            if part.shape[-1:] != (count,) or not _fits(part.shape, (*batch, count)):
                wanted = "one number" if count == 1 else f"{count} numbers" if count else "none: it is fixed"
                each = f" for each of {batch}" if batch else ""
                raise ShapeError(f"{name}: expected {wanted}{each}, got shape {given_shape}")
            array = numbers.replaced(array, slice(indices.start, indices.stop), part)
        return array

    def _dict_from_array(self, array: FloatArray, *, is_position: bool) -> dict[str, float | FloatArray]:
        result: dict[str, float | FloatArray] = {}
        floats = array.tolist() if is_double_vector(array) else None
        lookup = self._lookup("The names")
        for key, indices in lookup.positions if is_position else lookup.velocities:
            if floats is not None and len(indices) == 1:
                result[key] = floats[indices.start]
                continue
            part = array[..., indices.start : indices.stop].copy()
            if len(indices) > 1:
                result[key] = part
            else:
                result[key] = self._numbers.entry(part, 0)
        return result


def as_shape(value: object, name: str) -> tuple[int, ...]:
    """Return leading axes, a number or a sequence of numbers, as a tuple."""
    entries = value if isinstance(value, (tuple, list)) else (value,)
    if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 0 for n in entries):
        raise ArgumentTypeError(f"{name}: expected a tuple of ints >= 0, got {quote(value)}")
    return tuple(int(n) for n in entries)


@cache
def _unseeded() -> np.random.Generator:
    """Return a generator seeded by the system: making one takes much longer than drawing a sample."""
    return np.random.default_rng()


if hasattr(os, "register_at_fork"):
    # A child process must not draw the numbers that its parent draws.
    os.register_at_fork(after_in_child=_unseeded.cache_clear)


def as_generator(value: object) -> np.random.Generator:
    """Return a random generator: the given one, one with this seed, or one without a seed."""
    if isinstance(value, np.random.Generator):
        return value
    if value is None:
        return _unseeded()
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 0:
        return np.random.default_rng(value)
    raise ArgumentTypeError(
        f"rng: expected a numpy.random.Generator, or an int >= 0 as seed, got {quote(value)}"
    )


def _fits(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Return whether an array of one shape can be broadcast to another one."""
    try:
        return np.broadcast_shapes(shape, wanted) == wanted
    except (ValueError, RuntimeError):  # More axes than NumPy broadcasts.
        return False
