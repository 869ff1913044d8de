"""A library under comparison: statements that call each function, and results in mbt's conventions.

Every contender gets its arguments in its own convention, prepared before the clock starts. Where a library
offers several ways to the same result, all are listed; the comparison keeps the fastest.
"""

# Methods without a docstring do what the base class says.
# ruff: noqa: D102

from __future__ import annotations

import functools
import importlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

import mbt
from mbt import autodiff
from models import Array, BenchmarkModel

GRAVITY = 9.80665  # hard-coded in one of the contenders

INVERSE_DYNAMICS = "inverse dynamics"
MASS_MATRIX = "mass matrix"
FORWARD_DYNAMICS = "forward dynamics"
BIAS_TERM = "bias term"
GRAVITY_FORCES = "gravity generalized forces"
BODY_POSES = "body poses"
FRAME_JACOBIAN = "frame jacobian"  # of the last link, at its origin
INVERSE_DYNAMICS_DERIVATIVES = "inverse dynamics derivatives"
FORWARD_DYNAMICS_DERIVATIVES = "forward dynamics derivatives"
DERIVATIVES = (INVERSE_DYNAMICS_DERIVATIVES, FORWARD_DYNAMICS_DERIVATIVES)
# By automatic differentiation: q, v and the input are variables.
INVERSE_DYNAMICS_GRADIENT = "inverse dynamics gradient"
FORWARD_DYNAMICS_GRADIENT = "forward dynamics gradient"
GRADIENTS = (INVERSE_DYNAMICS_GRADIENT, FORWARD_DYNAMICS_GRADIENT)
PLAIN_FUNCTIONS = (
    INVERSE_DYNAMICS,
    MASS_MATRIX,
    FORWARD_DYNAMICS,
    BIAS_TERM,
    GRAVITY_FORCES,
    BODY_POSES,
    FRAME_JACOBIAN,
    *DERIVATIVES,
)
FUNCTIONS = (*PLAIN_FUNCTIONS, *GRADIENTS)


@dataclass(frozen=True)
class State:
    """Positions, velocities and an input (accelerations or forces), in mbt's order and conventions.

    With a leading axis, many states.
    """

    q: Array
    v: Array
    x: Array

    def __iter__(self) -> Iterator[State]:
        """Iterate over the states along the leading axis."""
        return map(State, self.q, self.v, self.x)


@dataclass(frozen=True)
class Call:
    """A statement on q, v and x, and the expression for its result."""

    statement: str
    result: str


class Contender:
    """One library on one model.

    Velocities are related to mbt's by ``v_own = T v``, accelerations by ``vdot_own = T vdot + Tdot v``.
    """

    name = ""
    module = ""
    #: Sign of gravity generalized forces: 1 if gravity exerts them, -1 if they hold against it.
    gravity_sign = 1.0
    #: The contender that computes many states in one call, if the library can.
    batched: ClassVar[type[BatchContender] | None] = None
    #: The variables that the statements use.
    variables = "q, v, x"
    calls: ClassVar[Mapping[str, tuple[Call, ...]]]
    #: Allowed error relative to the largest entry; forward dynamics of a long chain loses digits.
    tolerance = 1e-8

    def __init__(self, model: BenchmarkModel, tree: Any) -> None:
        self.model, self.tree = model, tree
        self.floating = model.floating
        self.nv = tree.num_velocities
        #: Moving links, in mbt's order, and the joints inboard of them.
        self.links = [body.name for body in tree.bodies if body.name != "world"]
        self.joints = [joint for joint in tree.joints if joint.num_velocities == 1]
        self.namespace: dict[str, Any] = {}
        self.load()

    @abstractmethod
    def load(self) -> None:
        """Read the model and fill the namespace of the statements."""

    def statement(self, call: Call) -> str:
        """Return the statement of a call on this model."""
        return call.statement

    def as_function(self, function: str, state: State) -> Callable[[], None]:
        """Return the first statement of a function, on one state, as a Python function."""
        values = dict(zip(self.variables.split(", "), self.arguments(function, state), strict=True))
        namespace = self.namespace | values
        exec(f"def call():\n    {self.statement(self.calls[function][0])}", namespace)
        result: Callable[[], None] = namespace["call"]
        return result

    # Conventions ----------------------------------------------------------------------------------------

    @abstractmethod
    def velocity_columns(self) -> Array:
        """Return the contender's velocity index of each of mbt's one-dof joints."""

    def position_columns(self) -> Array:
        """Return the contender's position index of each of mbt's one-dof joints."""
        return self.velocity_columns() + (1 if self.floating else 0)

    def root_positions(self, q: Array) -> Array:
        """Return the positions of a free root, from the quaternion w, x, y, z and the position."""
        return q

    def root_T(self, R: Array) -> Array:
        """Return T of a free root with rotation R, for v = [w; v], both in World."""
        return np.eye(6)

    def root_Tdot_v(self, R: Array, v: Array) -> Array:
        """Return Tdot v of a free root."""
        return np.zeros(6)

    def q(self, q: Array) -> Array:
        """Return mbt's positions in the contender's order."""
        result: Array = np.zeros(len(q))
        if self.floating:
            result[:7] = self.root_positions(q[:7])
        result[self.position_columns()] = q[[joint.position_start for joint in self.joints]]
        return result

    def T(self, q: Array) -> Array:
        """Return T, (nv, nv)."""
        result = np.zeros((self.nv, self.nv))
        if self.floating:
            result[:6, :6] = self.root_T(rotation_of_quaternion(q[:4]))
        result[self.velocity_columns(), [joint.velocity_start for joint in self.joints]] = 1.0
        return result

    def Tdot_v(self, state: State) -> Array:
        """Return Tdot v, (nv,)."""
        result = np.zeros(self.nv)
        if self.floating:
            result[:6] = self.root_Tdot_v(rotation_of_quaternion(state.q[:4]), state.v[:6])
        return result

    def arguments(self, function: str, state: State) -> tuple[Any, ...]:
        """Return the variables of the statements."""
        T = self.T(state.q)
        x = T @ state.x + self.Tdot_v(state)
        if function in (FORWARD_DYNAMICS, FORWARD_DYNAMICS_DERIVATIVES, FORWARD_DYNAMICS_GRADIENT):
            x = np.linalg.solve(T.T, state.x)
        return self.q(state.q), T @ state.v, x

    def in_terms_of_mbt(self, function: str, state: State, result: Any) -> Array:
        """Return a result of the contender in mbt's conventions."""
        T = self.T(state.q)
        if function == INVERSE_DYNAMICS:
            return T.T @ result
        if function == MASS_MATRIX:
            return T.T @ result @ T
        if function == FORWARD_DYNAMICS:
            return np.linalg.solve(T, result - self.Tdot_v(state))
        if function == BIAS_TERM:
            M = mbt.functional.mass_matrix(self.tree, state.q)
            return T.T @ result + M @ np.linalg.solve(T, self.Tdot_v(state))
        if function == GRAVITY_FORCES:
            return self.gravity_sign * (T.T @ result)
        if function == FRAME_JACOBIAN:
            return self.jacobian(result) @ T
        if function in DERIVATIVES:
            return np.array(self.derivatives(function, state, *map(np.array, result)))
        return self.poses(result)

    def derivatives(self, function: str, state: State, by_q: Array, by_v: Array, by_x: Array) -> list[Array]:
        """Return derivatives in mbt's tangent directions v."""
        return [by_q, by_v, by_x]

    @abstractmethod
    def poses(self, result: Any) -> Array:
        """Return the poses of the moving links, (num_links, 4, 4)."""

    def jacobian(self, result: Any) -> Array:
        """Return a Jacobian in World with the rotational part first, (6, nv)."""
        return np.array(result)

    def import_module(self) -> Any:
        """Return the library."""
        return importlib.import_module(self.module)


class BatchContender(Contender):
    """Computes many states in one call, with arrays of `size` states as arguments and results."""

    def __init__(self, model: BenchmarkModel, tree: Any, size: int) -> None:
        self.size = size
        super().__init__(model, tree)

    def rows(
        self, arguments: Callable[[str, State], tuple[Any, ...]], function: str, states: State
    ) -> list[tuple[Any, ...]]:
        """Return the arguments of each state; repeated states are converted once."""
        known: dict[bytes, tuple[Any, ...]] = {}
        rows = []
        for state in states:
            key = b"".join(column.tobytes() for column in (state.q, state.v, state.x))
            if key not in known:
                known[key] = arguments(function, state)
            rows.append(known[key])
        return rows

    def one_of(self, result: Any, k: int) -> Any:
        """Return the result of one state."""
        return tuple(part[k] for part in result) if isinstance(result, tuple) else result[k]


def rotation_of_quaternion(q: Array) -> Array:
    """Return the rotation of a unit quaternion w, x, y, z."""
    w, x, y, z = q
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * cross + 2 * cross @ cross


def homogeneous(poses: list[tuple[Array, Array]]) -> Array:
    """Return 4 x 4 matrices from rotations and positions."""
    result = np.tile(np.eye(4), (len(poses), 1, 1))
    for X, (R, p) in zip(result, poses, strict=True):
        X[:3, :3], X[:3, 3] = R, p
    return result


class Functional(Contender):
    """The functions of `mbt.functional`, which take arrays."""

    name = "mbt"
    module = "mbt"
    #: Leading axes.
    shape: tuple[int, ...] = ()
    dtype: ClassVar[Any] = np.float64
    calls: ClassVar = {
        INVERSE_DYNAMICS: (Call("inverse_dynamics(tree, q, v, x, out=tau)", "tau"),),
        MASS_MATRIX: (Call("mass_matrix(tree, q, out=M)", "M"),),
        FORWARD_DYNAMICS: (Call("forward_dynamics(tree, q, v, x, out=vdot)", "vdot"),),
        BIAS_TERM: (Call("bias_term(tree, q, v, out=Cv)", "Cv"),),
        GRAVITY_FORCES: (Call("gravity_generalized_forces(tree, q, out=tau)", "tau"),),
        BODY_POSES: (Call("body_poses(tree, q, out=X_WB)", "X_WB"),),
        FRAME_JACOBIAN: (Call("frame_jacobian(tree, q, frame, out=J)", "J"),),
        INVERSE_DYNAMICS_DERIVATIVES: (
            Call("inverse_dynamics_derivatives(tree, q, v, x, out=three)", "three"),
        ),
        FORWARD_DYNAMICS_DERIVATIVES: (
            Call("forward_dynamics_derivatives(tree, q, v, x, out=three)", "three"),
        ),
    }

    def load(self) -> None:
        nv, nb = self.nv, self.tree.num_bodies
        functions = (function.replace(" ", "_") for function in PLAIN_FUNCTIONS)
        self.namespace = {name: getattr(mbt.functional, name) for name in functions} | {
            "tree": self.tree,
            "frame": self.tree.get_body_by_name(self.links[-1]).body_frame,
            "J": np.empty((*self.shape, 6, nv), self.dtype),
            "tau": np.empty((*self.shape, nv), self.dtype),
            "vdot": np.empty((*self.shape, nv), self.dtype),
            "Cv": np.empty((*self.shape, nv), self.dtype),
            "M": np.empty((*self.shape, nv, nv), self.dtype),
            "X_WB": np.empty((*self.shape, nb, 4, 4), self.dtype),
            "three": tuple(np.empty((3, *self.shape, nv, nv), self.dtype)),
        }

    def arguments(self, function: str, state: State) -> tuple[Any, ...]:
        return state.q, state.v, state.x

    def velocity_columns(self) -> Array:
        return np.array([joint.velocity_start for joint in self.joints])

    def poses(self, result: Any) -> Array:
        return np.array([result[self.tree.get_body_by_name(name).node_index] for name in self.links])


class InBatches(BatchContender, Functional):
    """The functions of `mbt.functional` on batches of states."""

    def load(self) -> None:
        self.shape = (self.size,)
        super().load()


Functional.batched = InBatches


@functools.lru_cache(maxsize=2)
def native_code(tree: Any, names: tuple[str, ...], frame: Any, dtype: Any) -> Any:
    """Return the compiled functions of a tree; the last two results are cached."""
    return mbt.compile(tree, list(names), frame=frame, dtype=dtype)


class Compiled(Functional):
    """The functions that `mbt.compile` makes; derivatives, slowest to compile, only for small models."""

    name = "mbt.compile"
    batched = None

    def load(self) -> None:
        super().load()
        self.calls = {
            function: tuple(
                Call(call.statement.replace("tree, ", "").replace(", frame", ""), call.result)
                for call in calls
            )
            for function, calls in Functional.calls.items()
            if function not in DERIVATIVES or self.nv <= 12
        }
        names = [function.replace(" ", "_") for function in self.calls]
        made = native_code(self.tree, tuple(names), self.namespace["frame"], self.dtype)
        self.namespace |= {name: getattr(made, name) for name in names}


class CompiledInBatches(BatchContender, Compiled):
    """The same on batches of states."""

    def load(self) -> None:
        self.shape = (self.size,)
        super().load()


Compiled.batched = CompiledInBatches


class CompiledSingle(Compiled):
    """The same in float32, for arguments and results."""

    name = "mbt.compile-f32"
    dtype = np.float32
    tolerance = 1e-4

    def arguments(self, function: str, state: State) -> tuple[Any, ...]:
        return tuple(x.astype(np.float32) for x in super().arguments(function, state))


class CompiledSingleInBatches(BatchContender, CompiledSingle):
    """The same on batches of states."""

    def load(self) -> None:
        self.shape = (self.size,)
        super().load()


CompiledSingle.batched = CompiledSingleInBatches


class WithContext(Functional):
    """The methods of a tree, which take a Context; gradients are those of its AutoDiff clone."""

    name = "mbt Context"
    batched = None
    calls: ClassVar = {
        INVERSE_DYNAMICS: (
            Call(
                "context.q = q; context.v = v; "
                "inverse_dynamics(context, x, include_force_elements=True, out=tau)",
                "tau",
            ),
        ),
        MASS_MATRIX: (Call("context.q = q; mass_matrix(context, out=M)", "M"),),
        FORWARD_DYNAMICS: (
            Call("context.q = q; context.v = v; forward_dynamics(context, x, out=vdot)", "vdot"),
        ),
        BIAS_TERM: (Call("context.q = q; context.v = v; bias_term(context, out=Cv)", "Cv"),),
        GRAVITY_FORCES: (Call("context.q = q; gravity_generalized_forces(context, out=tau)", "tau"),),
        # A result that is kept alive keeps its cache: the next one is computed into new memory.
        BODY_POSES: (
            Call("context.q = q; X_WB = eval_position_kinematics(context).X_WB", "X_WB"),
            Call(
                "context.q = q; eval_position_kinematics(context).X_WB",
                "eval_position_kinematics(context).X_WB",
            ),
        ),
        FRAME_JACOBIAN: (
            Call('context.q = q; frame_jacobian(context, "v", frame, origin, world, world, out=J)', "J"),
        ),
        INVERSE_DYNAMICS_DERIVATIVES: (
            Call(
                "context.q = q; context.v = v; "
                "inverse_dynamics_derivatives(context, x, include_force_elements=True, out=three)",
                "three",
            ),
        ),
        FORWARD_DYNAMICS_DERIVATIVES: (
            Call(
                "context.q = q; context.v = v; forward_dynamics_derivatives(context, x, out=three)", "three"
            ),
        ),
        INVERSE_DYNAMICS_GRADIENT: (
            Call(
                "variable.q = q; variable.v = v; "
                "tau = inverse_dynamics_of_variables(variable, x, include_force_elements=True)",
                "tau.derivatives",
            ),
        ),
        FORWARD_DYNAMICS_GRADIENT: (
            Call(
                "variable.q = q; variable.v = v; vdot = forward_dynamics_of_variables(variable, x)",
                "vdot.derivatives",
            ),
        ),
    }

    def load(self) -> None:
        super().load()
        clone = self.tree.to_autodiff()
        self.namespace |= {
            "variable": clone.create_default_context(),
            "inverse_dynamics_of_variables": clone.calc_inverse_dynamics,
            "forward_dynamics_of_variables": clone.calc_forward_dynamics,
            "context": self.tree.create_default_context(self.shape),
            "inverse_dynamics": self.tree.calc_inverse_dynamics,
            "mass_matrix": self.tree.calc_mass_matrix,
            "forward_dynamics": self.tree.calc_forward_dynamics,
            "bias_term": self.tree.calc_bias_term,
            "gravity_generalized_forces": self.tree.calc_gravity_generalized_forces,
            "frame_jacobian": self.tree.calc_jacobian_spatial_velocity,
            "origin": np.zeros(3),
            "world": self.tree.world_frame,
            "inverse_dynamics_derivatives": self.tree.calc_inverse_dynamics_derivatives,
            "forward_dynamics_derivatives": self.tree.calc_forward_dynamics_derivatives,
            "eval_position_kinematics": self.tree.eval_position_kinematics,
        }

    def arguments(self, function: str, state: State) -> tuple[Any, ...]:
        values = super().arguments(function, state)
        return tuple(autodiff.initialize(*values)) if function in GRADIENTS else values

    def in_terms_of_mbt(self, function: str, state: State, result: Any) -> Array:
        return result if function in GRADIENTS else super().in_terms_of_mbt(function, state, result)


class ContextInBatches(BatchContender, WithContext):
    """The methods of a tree on a Context of many states."""

    calls: ClassVar = {
        function: calls for function, calls in WithContext.calls.items() if function not in GRADIENTS
    }

    def load(self) -> None:
        self.shape = (self.size,)
        super().load()


WithContext.batched = ContextInBatches
