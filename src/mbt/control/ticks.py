"""Ticks of a controller: references to arrays, arrays to a program, its solution to torques."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np

from mbt.control.contacts import normal_and_tangents
from mbt.control.problem import FREE, Problem
from mbt.control.quadratic_programs import QuadraticProgram
from mbt.control.results import TaskSpaceResult
from mbt.control.tasks import Task
from mbt.errors import ArgumentTypeError, ArgumentValueError, quote
from mbt.math.arrays import FloatArray, as_finite_array, as_float_array

__all__ = ["Ticks"]


class Ticks:
    """What solves one tick after the other: buffers, and programs that start from the one before."""

    def __init__(self, problem: Problem, places: tuple[tuple[bool, int], ...]) -> None:
        self._problem, self._places = problem, places
        self._assemble: Any = self._assemble_in_python
        tree, n, nv = problem.tree, problem.size, problem.tree.num_velocities
        self._nv = nv
        self._forces = slice(nv, nv + problem.num_forces)
        self._multipliers = slice(nv + problem.num_forces, n)
        counts = [contact.num_points for contact, _, _ in problem.contacts]
        self._of_points = np.repeat(np.arange(len(counts)), counts)
        self._zeros = {rows: np.zeros(rows) for rows in {task.num_rows for task in problem.tasks}}
        self._no_forces = np.zeros(problem.num_forces)
        # Bounds of x, then of rows: forces without and with motors, constraints, friction, first level.
        num_first = (
            sum(task.num_rows for task in problem.tasks if not task.priority) + problem.num_contact_rows
        )
        num_first *= any(task.priority for task in problem.tasks)
        pyramids, num_constraints = problem.friction_rows, tree.num_constraint_equations
        sizes = [n, len(problem.rows), num_constraints, len(pyramids), num_first]
        ends = np.cumsum(sizes).tolist()
        efforts, constraints, friction, first = map(slice, ends[:-1], ends[1:])
        A = np.zeros((ends[-1] - n, n))
        lower, upper = np.full(ends[-1], -FREE), np.full(ends[-1], FREE)
        is_equation = np.zeros(ends[-1], dtype=bool)
        is_equation[n : n + len(problem.undriven)] = True
        is_equation[constraints] = is_equation[first] = True
        A[friction.start - n : friction.stop - n, self._forces] = pyramids
        upper[friction] = 0.0
        self._lower, self._upper, self._first = lower, upper, first
        self._stands: tuple[float, ...] = ()
        self._max_forces = np.array(
            [min(contact.max_force / problem.force_unit, FREE) for contact, _, _ in problem.contacts]
        )
        self._share = _share_of_actuators(tree)
        self._part: dict[str, FloatArray] = {
            "T": np.empty((nv, n)),
            "h": np.empty(nv),
            "H": np.empty((n, n)),
            "g": np.empty(n),
        }
        self._programs = {1: self._make_program(A, is_equation, first.start)}
        if num_first:
            self._part |= {"H2": np.empty((n, n)), "g2": np.empty(n), "first": A[first.start - n :]}
            self._programs[2] = self._make_program(A, is_equation, first.stop)
        if num_constraints:
            self._part["constraints"] = A[constraints.start - n : constraints.stop - n]
            self._part["constraint_bias"] = lower[constraints]
            self._equal = upper[constraints]
        self._axes = np.zeros((problem.num_forces, problem.num_forces))
        for k, place in enumerate(self._of_points):
            axes = normal_and_tangents(problem.contacts[place][0].normal)
            self._axes[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = problem.force_unit * axes.T
        if problem.is_moving:
            self._part["axes"] = self._axes
        self._part["rows"] = A[: efforts.stop - n]
        self._part["row_lower"], self._part["row_upper"] = lower[efforts], upper[efforts]
        if len(problem.limited[0]):
            self._part["lower"], self._part["upper"] = lower[:nv], upper[:nv]
        self._ones = np.ones(n), np.ones(nv)
        self._shapes = (tree.num_positions,), (nv,)
        self._sizes = nv, len(self._of_points), num_constraints, len(self._share)
        self._names = [f"references[{k}]" for k in range(len(places))]

    def _make_program(self, A: FloatArray, is_equation: Any, end: int) -> QuadraticProgram:
        return QuadraticProgram(
            A[: end - self._problem.size], self._lower[:end], self._upper[:end], is_equation[:end]
        )

    def compile(self, compiler: str | None, cache: bool) -> None:
        """Put the assembly of programs into native code."""
        from mbt.compiling import compile

        problem = self._problem
        arguments: dict[str, Any] = {
            "q": problem.tree.num_positions,
            "v": self._nv,
            "stands": len(problem.contacts),
            "wanted_forces": len(self._no_forces),
        }
        for k, task in enumerate(problem.tasks):
            arguments |= {
                f"goal_{k}": task.shape,
                f"velocity_{k}": task.num_rows,
                f"acceleration_{k}": task.num_rows,
            }

        def assemble(**arrays: Any) -> dict[str, Any]:
            return problem.assemble(*arrays.values())

        self._assemble = compile(problem.tree, assemble, arguments=arguments, compiler=compiler, cache=cache)

    def _assemble_in_python(self, *arrays: FloatArray, out: dict[str, FloatArray]) -> None:
        for name, values in self._problem.assemble(*arrays).items():
            out[name][:] = values

    def solve(
        self, q: object, v: object, references: Sequence[Any], stands: FloatArray, out: TaskSpaceResult | None
    ) -> TaskSpaceResult:
        """Return the solution of one tick."""
        part = self._part
        result = self._make_result() if out is None else self._check_result(out)
        arrays = [
            _as_numbers(q, "q", self._shapes[0]),
            _as_numbers(v, "v", self._shapes[1]),
            stands,
            *self._as_arrays(references),
        ]
        try:
            self._assemble(*arrays, out=part)
        except ArgumentValueError:
            self._refuse_numbers(arrays)
            raise
        of_unknowns, of_velocities = self._ones
        if not isfinite(part["g"].dot(of_unknowns) + part["h"].dot(of_velocities)):
            self._refuse_numbers(arrays)
            raise ArgumentValueError("q, v: expected a state whose accelerations and forces are finite")
        if tuple(stands.tolist()) != self._stands:
            self._put_down(stands)
        if "constraint_bias" in part:
            self._equal[:] = part["constraint_bias"]
        x, violations, steps = self._solve_level(1, part["H"], part["g"])
        if "H2" in part and not violations:
            part["first"].dot(x, out=self._lower[self._first])
            self._upper[self._first] = self._lower[self._first]
            x, violations, more = self._solve_level(2, part["H2"], part["g2"])
            steps += more
        result.status = "infeasible" if violations else "optimal"
        result.violations, result.num_iterations = violations, steps
        self._write(x, result)
        return result

    def _solve_level(
        self, level: int, H: FloatArray, g: FloatArray
    ) -> tuple[FloatArray, dict[str, float], int]:
        """Return x, bounds that it violates, and steps. The second level holds accelerations of the first."""
        program = self._programs[level]
        found = program.solve(H, g)
        if found is not None:
            return found[0], {}, program.num_iterations
        x, excess = program.solve_with_least_violation(H, g)
        return x, self._name_violations(excess), program.num_iterations

    def _put_down(self, stands: FloatArray) -> None:
        """Bound the forces of points: nothing at contacts that are lifted."""
        high = np.where(stands, FREE, 0.0)[self._of_points]
        self._lower[self._forces] = np.stack([-high, -high, 0.0 * high], axis=1).ravel()
        normal = (stands * self._max_forces)[self._of_points]
        self._upper[self._forces] = np.stack([high, high, normal], axis=1).ravel()
        self._stands = tuple(stands.tolist())

    def _write(self, x: FloatArray, result: TaskSpaceResult) -> None:
        part, tau = self._part, result.tau
        part["T"].dot(x, out=tau)
        tau += part["h"]
        tau[self._problem.undriven] = 0.0
        result.vdot[:] = x[: self._nv]
        if len(self._axes):
            self._axes.dot(x[self._forces], out=result.contact_forces.reshape(-1))
        if len(result.multipliers):
            np.multiply(x[self._multipliers], self._problem.force_unit, out=result.multipliers)
        self._share.dot(tau, out=result.actuation)

    def _refuse_numbers(self, arrays: list[FloatArray]) -> None:
        """Raise an error that names what is not finite."""
        names = ["q", "v", "stands", "forces wanted"]
        for k, (is_force, _) in enumerate(self._places):
            names += [] if is_force else [self._names[k]] * 3
        for name, array in zip(names, arrays, strict=True):
            as_finite_array(array, name)

    def _as_arrays(self, references: Sequence[Any]) -> list[FloatArray]:
        """Return the forces wanted, times weights, and goal, velocity and acceleration of each task."""
        places, problem = self._places, self._problem
        if not isinstance(references, (list, tuple)) or len(references) != len(places):
            got = f"{len(references)}" if isinstance(references, (list, tuple)) else type(references).__name__
            raise ArgumentValueError(f"references: expected a list of {len(places)}, one a task, got {got}")
        wanted = self._no_forces.copy() if problem.force_tasks else self._no_forces
        arrays = [wanted]
        for name, (is_force, place), reference in zip(self._names, places, references, strict=True):
            if is_force:
                chosen, weight = problem.force_tasks[place]
                points = (chosen.stop - chosen.start) // 3
                forces = as_finite_array(reference, name, (points, 3))
                wanted[chosen] += weight * forces.ravel()
            else:
                arrays += self._as_reference(problem.tasks[place], reference, name)
        return arrays

    def _as_reference(self, task: Task, reference: object, name: str) -> tuple[FloatArray, ...]:
        zero = self._zeros[task.num_rows]
        if not isinstance(reference, tuple):
            return task.as_goal(reference, name), zero, zero
        if len(reference) != 3:
            raise ArgumentValueError(
                f"{name}: expected a goal or (goal, velocity, acceleration), got a tuple of {len(reference)}"
            )
        rates = [
            zero if value is None else _as_numbers(value, f"{name}[{i}]", (task.num_rows,))
            for i, value in enumerate(reference[1:], 1)
        ]
        return task.as_goal(reference[0], f"{name}[0]"), *rates

    def _make_result(self) -> TaskSpaceResult:
        return TaskSpaceResult.empty(*self._sizes)

    def _check_result(self, out: object) -> TaskSpaceResult:
        if not isinstance(out, TaskSpaceResult):
            raise ArgumentTypeError(f"out: expected a result of this controller, got {quote(out)}")
        if (len(out.tau), len(out.contact_forces), len(out.multipliers), len(out.actuation)) != self._sizes:
            raise ArgumentValueError("out: expected a result of this controller, got one of another")
        return out

    def _name_violations(self, excess: FloatArray) -> dict[str, float]:
        """Return what is violated, by name: the largest of each."""
        problem = self._problem
        names = problem.tree.get_velocity_names()
        of_points = [
            (f"of {contact.name or frame.name!r}", contact.num_faces)
            for contact, frame, _ in problem.contacts
            for _ in range(contact.num_points)
        ]
        labels = [f"acceleration of {name}" for name in names]
        labels += [f"normal force {label}" for label, _ in of_points for _ in range(3)]
        labels += [f"constraint multiplier {k}" for k in range(problem.size - len(labels))]
        labels += [f"effort of {names[k]}" for k in problem.rows]
        labels += [f"constraint equation {k}" for k in range(problem.tree.num_constraint_equations)]
        labels += [f"friction {label}" for label, num_faces in of_points for _ in range(num_faces)]
        excess = excess.copy()
        excess[problem.size : problem.size + len(problem.rows)] /= problem.row_scales
        excess[self._forces] *= problem.force_unit
        found: dict[str, float] = {}
        for label, amount in zip(labels, excess, strict=False):
            if not amount <= 1e-7:
                found[label] = max(found.get(label, 0.0), float(amount))
        return found


def _as_numbers(value: object, name: str, shape: tuple[int, ...]) -> FloatArray:
    """Return an array; that its numbers are finite is seen in the result."""
    if (
        type(value) is np.ndarray
        and value.dtype == np.float64
        and value.shape == shape
        and value.flags.c_contiguous
    ):
        return value
    return as_float_array(value, name, shape)


def _share_of_actuators(tree: Any) -> FloatArray:
    """Return the matrix that makes efforts of actuators of tau: several on a joint share by their limits."""
    B = tree.actuation_matrix
    limits = np.array([min(actuator.effort_limit, FREE) for actuator in tree.joint_actuators])
    shares = B * np.where(limits > 0.0, limits, 1e-30)
    total: FloatArray = shares.sum(axis=1, keepdims=True)
    share: FloatArray = shares / np.where(total > 0.0, total, 1.0)
    return share.T.copy()
