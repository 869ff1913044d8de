"""Ticks of a controller: from references to arrays, to a program, and from its solution to torques."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt import functional
from mbt.control.motions import GivenMotion, Motion, MotionInContext
from mbt.control.problem import FREE, Problem
from mbt.control.quadratic_programs import QuadraticProgram
from mbt.control.references import References, as_numbers
from mbt.control.results import TaskSpaceResult
from mbt.errors import ArgumentTypeError, ArgumentValueError, ConcurrentUseError, ShapeError, quote
from mbt.math.arrays import FloatArray, as_float_array

if TYPE_CHECKING:
    from mbt.context import Context

__all__ = ["Ticks"]

# Limit of the sum of requested accelerations [m/s^2] and forces [N]. From a hundred times this on, daqp
# silently returns wrong solutions.
_MOST = 1e14


class Ticks:
    """Solves one tick after the other, with persistent buffers and warm-started programs."""

    def __init__(self, problem: Problem, places: tuple[tuple[bool, int], ...]) -> None:
        self._problem, self._references = problem, References(problem, places)
        self._alone, self._process = Lock(), os.getpid()
        self._native: Any = None
        self._native_of_given: Any = None
        self._native_finish: Any = None
        self._options: dict[str, Any] = {}
        self._locked: list[tuple[int, int | None]] = []  # velocities, and their rows of forces
        tree, n, nv = problem.tree, problem.size, problem.tree.num_velocities
        self._forces = slice(nv, nv + problem.num_forces)
        counts = [contact.num_points for contact, _, _ in problem.contacts]
        self._of_points = np.repeat(np.arange(len(counts)), counts)
        # Bounds of x, then of rows: forces without and with motors, constraints, friction, first level.
        num_first = (
            sum(task.num_rows for task in problem.tasks if not task.priority) + problem.num_contact_rows
        )
        num_first *= any(task.priority for task in problem.tasks)
        of_forces, most, _ = problem.force_rows
        assert problem.row_scales is not None  # computed as numbers, before tracing
        num_constraints = tree.num_constraint_equations
        sizes = [n, len(problem.rows), num_constraints, len(of_forces), num_first]
        ends = np.cumsum(sizes).tolist()
        efforts, constraints, friction, first = map(slice, ends[:-1], ends[1:])
        A = np.zeros((ends[-1] - n, n))
        lower, upper = np.full(ends[-1], -FREE), np.full(ends[-1], FREE)
        is_equation = np.zeros(ends[-1], dtype=bool)
        is_equation[n : n + len(problem.undriven)] = True
        is_equation[constraints] = is_equation[first] = True
        A[friction.start - n : friction.stop - n, self._forces] = of_forces
        upper[friction], lower[self._forces] = most, 0.0
        self._lower, self._upper, self._first = lower, upper, first
        self._is_equation = is_equation
        self._stands = b""
        self._lifted = np.zeros(0, dtype=np.intp)
        self._part: dict[str, FloatArray] = {
            "T": np.empty((nv, n)),
            "h": np.empty(nv),
            "H": np.empty((n, n)),
            "g": np.empty(n),
            "total": np.empty(()),
        }
        self._total = self._part["total"]
        self._programs = [self._make_program(A, is_equation, first.start)]
        if num_first:
            self._part |= {"H2": np.empty((n, n)), "g2": np.empty(n), "first": A[first.start - n :]}
            self._programs.append(self._make_program(A, is_equation, first.stop))
        if num_constraints:
            self._part["constraints"] = A[constraints.start - n : constraints.stop - n]
            self._part["constraint_bias"] = lower[constraints]
            self._equal = upper[constraints]
        self._axes = np.zeros((problem.num_forces, problem.num_forces))
        for k, place in enumerate(self._of_points):
            contact, own = problem.contacts[place][0], slice(3 * k, 3 * k + 3)
            self._axes[own, own] = problem.force_unit * contact.basis.T @ contact.edges
        if problem.is_moving:
            self._part["axes"] = self._axes
        self._part["rows"] = A[: efforts.stop - n]
        self._part["row_lower"], self._part["row_upper"] = lower[efforts], upper[efforts]
        if len(problem.limited[0]):
            self._part["lower"], self._part["upper"] = lower[:nv], upper[:nv]
        self._shapes = (tree.num_positions,), (nv,)
        self._sizes = nv, len(self._of_points), num_constraints, len(problem.share)
        self._of_one = TaskSpaceResult.shapes(*self._sizes)
        self._has_forces, self._has_multipliers = problem.num_forces > 0, num_constraints > 0

    def _make_program(self, A: FloatArray, is_equation: Any, end: int) -> QuadraticProgram:
        return QuadraticProgram(
            A[: end - self._problem.size], self._lower[:end], self._upper[:end], is_equation[:end]
        )

    def compile(self, compiler: str | None, cache: bool) -> None:
        """Compile the assembly of programs to native code."""
        from mbt.compiling import compile

        problem, tree = self._problem, self._problem.tree
        options: dict[str, Any] = {"compiler": compiler, "cache": cache}

        def assemble(q: Any, v: Any, **rest: Any) -> dict[str, Any]:
            return problem.assemble(Motion(tree, q, v), *rest.values())

        native = compile(tree, assemble, arguments=self._arguments(), **options)
        arguments: dict[str, Any] = {"x": problem.size, "T": self._part["T"].shape, "h": tree.num_velocities}
        arguments["axes"] = self._axes.shape
        finish = compile(tree, problem.finish, arguments=arguments, **options)
        self._native, self._native_of_given, self._native_finish = native, None, finish
        self._part = {name: self._part[name] for name in native.outputs}  # this order is fastest to look up
        self._options = options

    def _compiled_of_given(self) -> Any:
        """Return the assembly from given quantities as native code, compiled once."""
        from mbt.compiling import compile

        if self._native_of_given is None:
            problem, tree, needs = self._problem, self._problem.tree, self._needs
            of_given = {f"given_{k}": key for k, key in enumerate(needs)}
            q = tree.random_positions(np.random.default_rng(0))
            # Joints that do not carry a frame never contribute to its motion, whatever the parameters are.
            moves = {
                key: functional.frame_jacobian(tree, q, *key[1:]).any(axis=0)
                for key in needs
                if key[0] == "frame_jacobian"
            }

            def assemble(q: Any, v: Any, **rest: Any) -> dict[str, Any]:
                given = {key: rest.pop(name) for name, key in of_given.items()}
                given |= {key: np.where(mask, given[key], 0.0) for key, mask in moves.items()}
                return problem.assemble(GivenMotion(tree, q, v, given), *rest.values())

            arguments = self._arguments() | {name: needs[key] for name, key in of_given.items()}
            self._native_of_given = compile(tree, assemble, arguments=arguments, **self._options)
        return self._native_of_given

    def _arguments(self) -> dict[str, Any]:
        """Return the shapes of the arguments of the assembly."""
        problem, tree = self._problem, self._problem.tree
        arguments: dict[str, Any] = {
            "q": tree.num_positions,
            "v": tree.num_velocities,
            "stands": len(problem.contacts),
            "wanted_forces": problem.num_forces,
        }
        for k, task in enumerate(problem.tasks):
            arguments |= {
                f"goal_{k}": task.shape,
                f"velocity_{k}": task.num_rows,
                f"acceleration_{k}": task.num_rows,
            }
        return arguments

    @cached_property
    def _needs(self) -> dict[tuple[Any, ...], tuple[int, ...]]:
        """The quantities from which a program is assembled: their names, frames and shapes."""
        problem, given = self._problem, dict[Any, Any]()
        q, v = problem.tree.default_positions, np.zeros(problem.tree.num_velocities)
        motion = GivenMotion(problem.tree, q, v, given, Motion(problem.tree, q, v))
        references = [
            array
            for task in problem.tasks
            for array in (task.any_goal(), np.zeros(task.num_rows), np.zeros(task.num_rows))
        ]
        problem.assemble(motion, np.ones(len(problem.contacts)), np.zeros(problem.num_forces), *references)
        return {key: np.shape(value) for key, value in given.items()}

    def _given(self, context: Context, q: FloatArray, v: FloatArray) -> list[FloatArray]:
        """Return the quantities in `_needs` with the parameters of a Context; leading axes are merged."""
        motion = MotionInContext(context, q, v)
        lead = (q.size // q.shape[-1],) if q.ndim > 1 else ()
        return [
            np.ascontiguousarray(getattr(motion, name)(*frames)).reshape(*lead, *shape)
            for (name, *frames), shape in self._needs.items()
        ]

    def _given_of_batch(
        self, context: Context, batch: tuple[int, ...], rows: list[FloatArray]
    ) -> list[FloatArray]:
        """Return the same for a batch of states, with one leading axis."""
        q, v = rows[:2]
        if context.batch_shape:
            return self._given(context, q.reshape(*batch, q.shape[-1]), v.reshape(*batch, v.shape[-1]))
        each = [self._given(context, *state) for state in zip(q, v, strict=True)]
        of_none = [np.zeros((0, *shape)) for shape in self._needs.values()]
        return [np.stack(values) for values in zip(*each, strict=True)] if each else of_none

    def _assemble(self, arrays: list[FloatArray], given: list[FloatArray] | None) -> None:
        part = self._part
        if self._native is not None:
            if given is None:
                self._native(*arrays, out=part)
            else:
                self._compiled_of_given()(*arrays, *given, out=part)
            return
        q, v, *rest = arrays
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise ArgumentValueError("q, v: expected finite numbers")
        tree = self._problem.tree
        motion = Motion(tree, q, v)
        if given is not None:
            motion = GivenMotion(tree, q, v, dict(zip(self._needs, given, strict=True)))
        for name, values in self._problem.assemble(motion, *rest).items():
            part[name][...] = values

    def solve(self, *tick: Any) -> TaskSpaceResult:
        """Return the solution of one tick, with the arguments of `_solve`; one thread at a time."""
        if not self._alone.acquire(False):
            self._enter_as_child()
        try:
            return self._solve(*tick)
        finally:
            self._alone.release()

    def _enter_as_child(self) -> None:
        """Raise for a concurrent tick; after a `fork`, the thread that held the lock no longer exists."""
        if self._process == os.getpid():
            raise ConcurrentUseError(
                "controller: another thread, or an enclosing call, is computing a tick with it. Use "
                "one per thread, as with copy.copy(controller); the tree may be shared."
            )
        self._alone, self._process = Lock(), os.getpid()
        self._alone.acquire()

    def _solve(
        self,
        q: Any,
        v: Any,
        references: Sequence[Any],
        stands: FloatArray,
        out: TaskSpaceResult | None,
        context: Context | None,
    ) -> TaskSpaceResult:
        q = q if type(q) is np.ndarray else as_float_array(q, "q")
        v = v if type(v) is np.ndarray else as_float_array(v, "v")
        if context is not None or self._locked:
            self._lock(context)
        if q.ndim > 1 or v.ndim > 1 or (context is not None and context.batch_shape):
            return self._solve_batch(q, v, references, stands, out, context)
        state = as_numbers(q, "q", self._shapes[0]), as_numbers(v, "v", self._shapes[1])
        try:
            wanted = self._references.as_arrays(references)
        except ShapeError:
            if not self._references.batch_of(references, ()):
                raise
            return self._solve_batch(q, v, references, stands, out, context)
        result = TaskSpaceResult.empty(*self._sizes) if out is None else self._check_result(out, self._of_one)
        arrays = [*state, stands, *wanted]
        try:
            given = None if context is None else self._given(context, arrays[0], arrays[1])
            self._assemble(arrays, given)
        except ArgumentValueError:
            if not self._is_lost(arrays, result):
                raise
            return result
        self._solve_assembled(arrays, result)
        return result

    def _solve_batch(
        self,
        q: object,
        v: object,
        references: Sequence[Any],
        stands: FloatArray,
        out: TaskSpaceResult | None,
        context: Context | None,
    ) -> TaskSpaceResult:
        """Return the solutions of many ticks, each solved from a cold start."""
        states = [
            as_float_array(value, name, (..., *shape))
            for value, name, shape in ((q, "q", self._shapes[0]), (v, "v", self._shapes[1]))
        ]
        try:
            of_context = () if context is None else context.batch_shape
            batch = np.broadcast_shapes(of_context, *(state.shape[:-1] for state in states))
        except ValueError:
            raise ShapeError(
                f"q, v: leading axes do not broadcast: {states[0].shape[:-1]}, {states[1].shape[:-1]}"
                + f", and {of_context} of the Context" * bool(of_context)
            ) from None
        batch = self._references.batch_of(references, batch)
        if of_context not in ((), batch):
            raise ShapeError(f"context: expected one state or a batch {batch}, got {of_context}")
        count = int(np.prod(batch))
        result = TaskSpaceResult.empty(*self._sizes, batch) if out is None else out
        self._check_result(result, TaskSpaceResult.shapes(*self._sizes, batch))
        rows = [
            np.broadcast_to(state, (*batch, *shape)).reshape(count, *shape)
            for state, shape in zip(states, self._shapes, strict=True)
        ]
        rows += [np.broadcast_to(stands, (count, len(stands))), *self._references.as_batch(references, batch)]
        rows = [np.ascontiguousarray(row) for row in rows]
        given = None if context is None else self._given_of_batch(context, batch, rows)
        native = None
        if self._native is not None:
            native = self._native(*rows) if given is None else self._compiled_of_given()(*rows, *given)
        one = TaskSpaceResult.empty(*self._sizes)
        flat = [array.reshape(count, *array.shape[len(batch) :]) for array in result.arrays()]
        for k in range(count):
            arrays = [row[k] for row in rows]
            try:
                if native is None:
                    self._assemble(arrays, None if given is None else [row[k] for row in given])
                else:
                    for name, values in native.items():
                        self._part[name][...] = values[k]
            except ArgumentValueError:
                if not self._is_lost(arrays, one):
                    raise
            else:
                self._solve_assembled(arrays, one, is_cold=True)
            for row, value in zip(flat, one.arrays(), strict=True):
                row[k] = value
            place = np.unravel_index(k, batch)
            result.status[place], result.violations[place] = one.status, one.violations
            result.num_iterations[place] = one.num_iterations
        return result

    def _solve_assembled(
        self, arrays: list[FloatArray], result: TaskSpaceResult, *, is_cold: bool = False
    ) -> None:
        part, stands = self._part, arrays[2]
        if not self._total < _MOST:
            if self._is_lost(arrays, result):
                return
            raise ArgumentValueError(
                "q, v, references: expected a state and goals whose accelerations and forces are less than "
                f"{_MOST:g} in sum, got {self._total:g}: larger ones let rounding errors hide limits"
            )
        if stands.tobytes() != self._stands:
            self._put_down(stands)
        if self._has_multipliers:
            self._equal[:] = part["constraint_bias"]
        for k, row in self._locked:
            self._lower[k], self._upper[k] = (0.0, 0.0) if row is None else (-FREE, FREE)
            if row is not None:  # replace its force row: the acceleration is zero
                part["rows"][row], part["rows"][row, k] = 0.0, 1.0
                part["row_lower"][row] = part["row_upper"][row] = 0.0
        x, violations, steps = self._solve_level(0, part["H"], part["g"], is_cold)
        if "H2" in part and not violations:
            part["first"].dot(x, out=self._lower[self._first])
            self._upper[self._first] = self._lower[self._first]
            x, violations, more = self._solve_level(1, part["H2"], part["g2"], is_cold)
            steps += more
        result.status = "infeasible" if violations else "optimal"
        result.violations, result.num_iterations = violations, steps
        self._write(x, result)

    def _is_lost(self, arrays: list[FloatArray], result: TaskSpaceResult) -> bool:
        """Return whether the state is not finite; if so, mark the result accordingly.

        A faulty sensor must not end a control loop; references that are not finite raise an error.
        """
        self._references.refuse_numbers(arrays[2:])
        if np.isfinite(arrays[0]).all() and np.isfinite(arrays[1]).all():
            return False
        for array in result.arrays():
            array.fill(np.nan)
        result.status, result.violations, result.num_iterations = "not finite", {}, 0
        return True

    def _solve_level(
        self, level: int, H: FloatArray, g: FloatArray, is_cold: bool
    ) -> tuple[FloatArray, dict[str, float], int]:
        """Return x, violated bounds, and steps. The second level keeps the accelerations of the first."""
        program = self._programs[level]
        found = program.solve(H, g, is_cold)
        if found is not None:
            return found[0], {}, program.num_iterations
        x, excess = program.solve_with_least_violation(H, g)
        return x, self._name_violations(excess), program.num_iterations

    def _write(self, x: FloatArray, result: TaskSpaceResult) -> None:
        out = {"tau": result.tau, "vdot": result.vdot, "actuation": result.actuation}
        if self._has_forces:
            out["contact_forces"] = result.contact_forces
        if self._has_multipliers:
            out["multipliers"] = result.multipliers
        if self._native_finish is not None:
            self._native_finish(x, self._part["T"], self._part["h"], self._axes, out=out)
        else:
            found = self._problem.finish(x, self._part["T"], self._part["h"], self._axes)
            for name, array in out.items():
                array[...] = found[name]
        if len(self._lifted):
            result.contact_forces[self._lifted] = 0.0  # remove rounding errors of the solver
        if self._locked:
            result.tau[[k for k, _ in self._locked]] = 0.0
            self._problem.share.dot(result.tau, out=result.actuation)

    def _lock(self, context: Context | None) -> None:
        """Note the velocities that a Context locks, and release those that were locked before."""
        locked = [] if context is None else np.flatnonzero(context._locked_dofs()).tolist()
        if locked == [k for k, _ in self._locked]:
            return
        problem = self._problem
        n, was = problem.size, [k if row is None else problem.size + row for k, row in self._locked]
        self._is_equation[was] = False
        self._is_equation[n : n + len(problem.undriven)] = True
        for k, _ in self._locked:
            self._lower[k], self._upper[k] = -FREE, FREE
        row_of = {int(k): row for row, k in enumerate(problem.rows)}
        self._locked = [(k, row_of.get(k)) for k in locked]
        self._is_equation[[k if row is None else n + row for k, row in self._locked]] = True

    def _put_down(self, stands: FloatArray) -> None:
        """Bound the forces of points: zero at lifted contacts."""
        self._upper[self._forces] = np.repeat(np.where(stands, FREE, 0.0)[self._of_points], 3)
        self._lifted = np.flatnonzero(stands[self._of_points] == 0.0)
        self._stands = stands.tobytes()

    @staticmethod
    def _check_result(out: object, shapes: tuple[tuple[int, ...], ...]) -> TaskSpaceResult:
        if not isinstance(out, TaskSpaceResult):
            raise ArgumentTypeError(f"out: expected a result of this controller, got {quote(out)}")
        of_motion = out.tau.shape, out.vdot.shape, out.contact_forces.shape
        if shapes != (*of_motion, out.multipliers.shape, out.actuation.shape):
            raise ArgumentValueError(
                "out: expected a result of this controller, got one of another controller or batch shape"
            )
        return out

    def _name_violations(self, excess: FloatArray) -> dict[str, float]:
        """Return the violated bounds by name, each with its largest violation."""
        problem = self._problem
        names = problem.tree.get_velocity_names()
        labels = [f"acceleration of {name}" for name in names]
        for contact, frame, _ in problem.contacts:
            labels += [f"friction of {contact.name or frame.name!r}"] * (3 * contact.num_points)
        labels += [f"constraint multiplier {k}" for k in range(problem.size - len(labels))]
        labels += [f"effort of {names[k]}" for k in problem.rows]
        labels += [f"constraint equation {k}" for k in range(problem.tree.num_constraint_equations)]
        of_forces = slice(len(labels), len(labels) + len(problem.force_rows[2]))
        labels += problem.force_rows[2]
        excess = excess.copy()
        excess[problem.size : problem.size + len(problem.rows)] /= problem.row_scales
        excess[self._forces] *= problem.force_unit
        excess[of_forces] *= problem.force_unit
        found: dict[str, float] = {}
        for label, amount in zip(labels, excess, strict=False):
            if not amount <= 1e-7:
                found[label] = max(found.get(label, 0.0), float(amount))
        return found
