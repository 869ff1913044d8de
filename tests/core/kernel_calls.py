"""Every kernel called in every scalar: random inputs for the flat door, and double through the public API."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, replace
from functools import cache
from typing import Any, TypeAlias

import numpy as np

import mbt
from core.kernel_scalars import BOUNDED_FUNCTIONS, Bounded, Functions, select
from mbt._core.engines.lane_engine import lane_count
from mbt._core.quantities.names import Quantity
from support.build import build_tree
from support.description import Array, Model
from support.engines import body_in_the_middle, evaluate_python
from support.random_trees import (
    ALL_KINDS,
    CATALOGUE,
    every_kind,
    random_body,
    random_model,
    random_pose,
    random_unit,
)

# Parameters, q, v and the third input, in the order in which the door takes them.
Arguments: TypeAlias = tuple[Array, Array, Array, Array]

W = lane_count()
# Quantities that a public method returns in double, one to one.
FUNCTIONS = (
    Quantity.INVERSE_DYNAMICS,
    Quantity.FORWARD_DYNAMICS,
    Quantity.MASS_MATRIX,
    Quantity.MASS_MATRIX_INVERSE,
    Quantity.GRAVITY_GENERALIZED_FORCES,
    Quantity.CORIOLIS_MATRIX,
    Quantity.BODY_POSES,
    Quantity.ANGULAR_JACOBIAN,
    Quantity.TRANSLATIONAL_JACOBIAN,
    Quantity.KINETIC_ENERGY,
    Quantity.POTENTIAL_ENERGY,
    Quantity.CONSERVATIVE_POWER,
    Quantity.NON_CONSERVATIVE_POWER,
    Quantity.TOTAL_MASS,
    Quantity.COMPOSITE_INERTIA,
    Quantity.MOMENTUM,
    Quantity.QDOT,
    Quantity.VELOCITY,
    Quantity.POSITION_KINEMATICS,
    Quantity.SPATIAL_INERTIAS,
    Quantity.VELOCITY_KINEMATICS,
    Quantity.ACCELERATION_KINEMATICS,
    Quantity.REACTION_FORCES,
    Quantity.GENERALIZED_FORCES,
    Quantity.INVERSE_DYNAMICS_REGRESSOR,
    Quantity.KINETIC_ENERGY_REGRESSOR,
    Quantity.POTENTIAL_ENERGY_REGRESSOR,
    Quantity.INVERSE_DYNAMICS_DERIVATIVES,
    Quantity.FORWARD_DYNAMICS_DERIVATIVES,
)
MATH = (math.sin, math.cos, math.sqrt, select, math.tanh, math.atan2, lambda x: float(math.floor(x)))

# Every joint type, both directions, welds, free bodies; 0 to 15 bodies.
TREES: dict[str, Callable[[], Model]] = {
    **{
        name: CATALOGUE[name]
        for name in (
            "world_only",
            "all_weld",
            "one_revolute",
            "one_revolute_reversed",
            "one_prismatic",
            "one_floating",
            "one_floating_reversed",
            "arm7",
            "mixed8_reversed",
            "free_forest",
            "no_gravity",
        )
    },
    "every_kind": lambda: every_kind(23),
    "mixed4": lambda: random_model(101, 4, kinds=ALL_KINDS, actuated=1.0),
    "mixed12": lambda: random_model(102, 12, kinds=ALL_KINDS),
}
# Joint types and shapes in these also occur in "every_kind" and the small trees below.
LONG = ("mixed8_reversed", "mixed12")
# Products with the inverse of a mass matrix.
AMPLIFIED = (Quantity.MASS_MATRIX_INVERSE, Quantity.FORWARD_DYNAMICS_DERIVATIVES)
# Small trees, for tests that evaluate a function hundreds of times: together they have all of the above.
SMALL_TREES = ("one_floating_reversed", "mixed4", "no_gravity")


@cache
def get_tree(name: str) -> mbt.MultibodyTree:
    """Trees are immutable, and shared between tests."""
    return build_tree(TREES[name]())


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of a kernel, each (numbers,) or, for several states, (states, numbers).

    `x` is vdot or tau; `qdot` stands in its place for `Quantity.VELOCITY`.
    """

    parameters: Array
    q: Array
    v: Array
    x: Array
    qdot: Array

    def arguments(self, function: Quantity) -> Arguments:
        return (self.parameters, self.q, self.v, self.qdot if function == Quantity.VELOCITY else self.x)

    def state(self, i: int | slice) -> Inputs:
        return Inputs(*(array[i] for array in astuple(self)))

    def changed(self, **arrays: Array) -> Inputs:
        return replace(self, **arrays)


@dataclass(frozen=True)
class Section:
    """One kind of parameter in the flat parameter vector."""

    name: str
    count: int
    width: int


def parameter_sections(tree: mbt.MultibodyTree) -> tuple[Section, ...]:
    nb, frames, actuators = tree.num_bodies, len(tree.frames), tree.num_actuators
    return (
        Section("gravity", 1, 3),
        Section("mass", nb, 1),
        Section("com", nb, 3),
        Section("unit_inertia", nb, 6),
        Section("massless_inertia", nb, 6),
        Section("frame_pose", frames, 16),
        Section("damping", tree.num_velocities, 1),
        Section("rotor_inertia", actuators, 1),
        Section("gear_ratio", actuators, 1),
    )


def parameter_slices(tree: mbt.MultibodyTree) -> dict[str, slice]:
    """Where each section is in the parameter vector."""
    slices, start = {}, 0
    for section in parameter_sections(tree):
        slices[section.name] = slice(start, start + section.count * section.width)
        start += section.count * section.width
    return slices


def default_parameters(tree: mbt.MultibodyTree) -> Array:
    compiled = tree._compiled
    assert compiled is not None
    return np.array(compiled.default_parameters)


def random_parameters(tree: mbt.MultibodyTree, rng: np.random.Generator) -> Array:
    """New values for every parameter of every element; physical, so that dynamics is well posed."""
    parameters = default_parameters(tree)
    at = {name: parameters[where] for name, where in parameter_slices(tree).items()}  # views
    at["gravity"][:] = 9.81 * random_unit(rng)
    for b in range(1, tree.num_bodies):
        body = random_body(rng, "body")
        G = body.I_BBcm_B / body.mass + (body.com @ body.com) * np.eye(3) - np.outer(body.com, body.com)
        at["mass"][b] = body.mass
        at["com"][3 * b : 3 * b + 3] = body.com
        at["unit_inertia"][6 * b : 6 * b + 6] = (*np.diag(G), G[0, 1], G[0, 2], G[1, 2])
        at["massless_inertia"][6 * b : 6 * b + 3] = rng.uniform(0.0, 0.1, 3)
    for i, frame in enumerate(tree.frames):
        if isinstance(frame, mbt.FixedOffsetFrame):
            at["frame_pose"][16 * i : 16 * i + 16] = random_pose(rng).ravel()
    at["damping"][:] = rng.uniform(0.0, 0.5, at["damping"].size)
    at["rotor_inertia"][:] = rng.uniform(0.001, 0.01, at["rotor_inertia"].size)
    at["gear_ratio"][:] = rng.uniform(-20.0, 20.0, at["gear_ratio"].size)
    return parameters


@cache
def random_inputs(tree: mbt.MultibodyTree, states: int, seed: int = 0) -> Inputs:
    """Different states with different parameters, read-only; quaternions of any norm but far from zero."""
    rng = np.random.default_rng([seed, tree.num_bodies, tree.num_positions])
    q = rng.uniform(-2.0, 2.0, (states, tree.num_positions))
    for start in quaternion_starts(tree):
        quaternions = rng.normal(size=(states, 4))
        norms = rng.uniform(0.7, 1.4, (states, 1))
        q[:, start : start + 4] = norms * quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)
    arrays = (
        np.array([random_parameters(tree, rng) for _ in range(states)]),
        q,
        rng.uniform(-2.0, 2.0, (states, tree.num_velocities)),
        rng.uniform(-5.0, 5.0, (states, tree.num_velocities)),
        rng.uniform(-2.0, 2.0, (states, tree.num_positions)),
    )
    for array in arrays:
        array.flags.writeable = False
    return Inputs(*arrays)


def quaternion_starts(tree: mbt.MultibodyTree) -> list[int]:
    return [joint.position_start for joint in tree.joints if joint.position_suffixes[:1] == ("qw",)]


# --- The scalars ------------------------------------------------------------------------------------------


def call_python(
    tree: mbt.MultibodyTree,
    function: Quantity,
    arguments: Any,
    functions: Functions = MATH,
    from_float: Callable[[float], Any] = float,
) -> list[Any]:
    """The outputs on Python objects. `arguments` are arrays, or sequences of objects."""
    parameters, q, v, x = (list(a.tolist() if isinstance(a, np.ndarray) else a) for a in arguments)
    return list(evaluate_python(tree, function, parameters, q, v, x, functions, from_float))


def call_with_bounds(
    tree: mbt.MultibodyTree, function: Quantity, arguments: Arguments
) -> tuple[Array, Array]:
    """The outputs of one state, and a bound on the error of any evaluation of this kernel in double."""
    if function in AMPLIFIED:
        # Bounds of products with an inverse grow beyond use: here they are relative to the largest entry.
        values = np.array(call_python(tree, function, arguments), dtype=float)
        return values, np.full(values.shape, 1e-10 * np.max(np.abs(values), initial=1.0))
    inputs = [[Bounded(a) for a in array.tolist()] for array in arguments]
    out = call_python(tree, function, inputs, BOUNDED_FUNCTIONS, Bounded)
    values, bounds = [a.value for a in out], [a.bound for a in out]
    if function == Quantity.POSITION_KINEMATICS:
        # A Context of doubles takes X_WB from another kernel, whose errors differ.
        poses = call_python(tree, Quantity.BODY_POSES, inputs, BOUNDED_FUNCTIONS, Bounded)
        for i, pose in enumerate(poses, start=2 * 16 * tree.num_bodies):
            bounds[i] = max(bounds[i], pose.bound)
    return np.array(values), np.array(bounds)


def bounds_of_states(tree: mbt.MultibodyTree, function: Quantity, inputs: Inputs) -> Array:
    """The bounds of `call_with_bounds` of each of some states, (states, outputs)."""
    every = (inputs.state(i).arguments(function) for i in range(len(inputs.q)))
    return np.array([call_with_bounds(tree, function, arguments)[1] for arguments in every])


def assert_within(actual: Array, desired: Array, tolerance: Array | float, what: object = "") -> None:
    """Compare entry by entry; NaN is never within any bound."""
    assert actual.shape == desired.shape, f"{what}: shape {actual.shape}, wanted {desired.shape}"
    error = np.abs(actual - desired)
    bad = ~(error <= tolerance)
    assert not bad.any(), (
        f"{what}: {bad.sum()} of {bad.size} entries, the first at {np.argwhere(bad)[0]}: {actual[bad][0]!r}, "
        f"wanted {desired[bad][0]!r} within {np.broadcast_to(tolerance, bad.shape)[bad][0]:.3g}"
    )


def assert_same_to_rounding(actual: Array, desired: Array, bounds: Array, what: object = "") -> None:
    """Compare two evaluations in double.

    Each may miss the truth by its running error bound. Those of the same kernel differ by less than two
    bounds. Some public methods take another path than the kernel behind the door, with a bound of their own
    of the same size: four. In practice the differences are a tenth of that.
    """
    # A bound that has grown to the size of the numbers would prove nothing.
    assert (bounds <= 1e-5 * max(1.0, np.max(np.abs(desired), initial=0.0))).all(), what
    assert_within(actual, desired, 4 * bounds, what)


def call_double(tree: mbt.MultibodyTree, function: Quantity, inputs: Inputs) -> Array:
    """The same quantity of one state in double, by the public methods, flat."""
    context = tree.create_default_context()
    for section in parameter_sections(tree):
        numbers = inputs.parameters[parameter_slices(tree)[section.name]].reshape(
            section.count, section.width
        )
        for i, row in enumerate(numbers):
            context._set_parameter(section.name, i, row)
    context.q = inputs.q
    context.v = inputs.v
    return np.concatenate([np.ravel(array) for array in _double(tree, context, function, inputs)])


def _double(
    tree: mbt.MultibodyTree, context: mbt.Context, function: Quantity, inputs: Inputs
) -> Iterator[Any]:
    F, x = Quantity, inputs.x
    if function == F.INVERSE_DYNAMICS:
        yield tree.calc_inverse_dynamics(context, x, include_force_elements=True)
    elif function == F.FORWARD_DYNAMICS:
        yield tree.calc_forward_dynamics(context, x)
    elif function == F.INVERSE_DYNAMICS_DERIVATIVES:
        yield from tree.calc_inverse_dynamics_derivatives(context, x, include_force_elements=True)
    elif function == F.FORWARD_DYNAMICS_DERIVATIVES:
        yield from tree.calc_forward_dynamics_derivatives(context, x)
    elif function == F.MASS_MATRIX:
        yield tree.calc_mass_matrix(context)
    elif function == F.MASS_MATRIX_INVERSE:
        yield tree.calc_mass_matrix_inverse(context)
    elif function == F.GRAVITY_GENERALIZED_FORCES:
        yield tree.calc_gravity_generalized_forces(context)
    elif function == F.CORIOLIS_MATRIX:
        yield tree.calc_coriolis_matrix(context)
    elif function == F.BODY_POSES:
        # The caches take another path than the kernel.
        yield tree.eval_position_kinematics(context).X_WB
    elif function == F.ANGULAR_JACOBIAN:
        world, body = tree.world_frame, body_in_the_middle(tree)
        yield tree.calc_jacobian_angular_velocity(context, "v", body, world, world)
    elif function == F.TRANSLATIONAL_JACOBIAN:
        world, body = tree.world_frame, body_in_the_middle(tree)
        yield tree.calc_jacobian_translational_velocity(context, "v", body, np.zeros(3), world, world)
    elif function == F.KINETIC_ENERGY:
        yield tree.calc_kinetic_energy(context)
    elif function == F.POTENTIAL_ENERGY:
        yield tree.calc_potential_energy(context)
    elif function == F.CONSERVATIVE_POWER:
        yield tree.calc_conservative_power(context)
    elif function == F.NON_CONSERVATIVE_POWER:
        yield tree.calc_non_conservative_power(context)
    elif function == F.TOTAL_MASS:
        yield tree.calc_total_mass(context)
    elif function == F.COMPOSITE_INERTIA:
        M = tree.calc_spatial_inertia(context, tree.world_frame, [body.index for body in tree.bodies])
        yield (M.mass, *M.calc_com_moment(), *M.calc_rotational_inertia()[np.triu_indices(3)])
    elif function == F.MOMENTUM:
        yield tree.calc_spatial_momentum_in_world_about_point(context, np.zeros(3))
    elif function == F.QDOT:
        yield tree.map_velocity_to_qdot(context, inputs.v)
    elif function == F.VELOCITY:
        yield tree.map_qdot_to_velocity(context, inputs.qdot)
    elif function == F.POSITION_KINEMATICS:
        pc = tree.eval_position_kinematics(context)
        yield from (pc.X_FM, pc.X_PB, pc.X_WB, pc.H_FM, pc.H_PB_W)
    elif function == F.SPATIAL_INERTIAS:
        pc = tree.eval_position_kinematics(context)
        yield from (pc.com_W, pc.M_Bo_W)
    elif function == F.VELOCITY_KINEMATICS:
        vc = tree.eval_velocity_kinematics(context)
        yield from (vc.V_PB_W, vc.V_PB, vc.V_WB)
    elif function == F.ACCELERATION_KINEMATICS:
        yield tree.calc_spatial_accelerations_from_vdot(context, x)
    elif function == F.INVERSE_DYNAMICS_REGRESSOR:
        yield tree.calc_inverse_dynamics_regressor(context, x)
    elif function == F.KINETIC_ENERGY_REGRESSOR:
        yield tree.calc_kinetic_energy_regressor(context)
    elif function == F.POTENTIAL_ENERGY_REGRESSOR:
        yield tree.calc_potential_energy_regressor(context)
    elif function == F.REACTION_FORCES:
        reactions = np.full((tree.num_bodies, 6), np.nan)
        tree.calc_inverse_dynamics(context, x, include_force_elements=True, F_BMo_W_array=reactions)
        yield reactions
    else:
        assert function == F.GENERALIZED_FORCES
        forces = mbt.MultibodyForces(tree)
        tree.calc_force_elements_contribution(context, forces)
        forces.generalized_forces[:] = 0.0
        # At rest, inverse dynamics is minus what the applied forces do.
        context.v = np.zeros(tree.num_velocities)
        yield -tree.calc_inverse_dynamics(context, np.zeros(tree.num_velocities), forces)
