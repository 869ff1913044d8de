"""Ticks of a controller: references to arrays, arrays to a program, its solution to torques."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np

from mbt.control.contacts import normal_and_tangents
from mbt.control.problem import FREE, Problem
from mbt.control.quadratic_programs import QuadraticProgram, least_violation
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
        tree, n = problem.tree, problem.size
        self._nv = nv = tree.num_velocities
        self._forces = slice(nv, nv + problem.num_forces)
        counts = [contact.num_points for contact, _ in problem.contacts]
        self._starts = np.concatenate([[0], np.cumsum(counts, dtype=int)])
        self._of_points = np.repeat(np.arange(len(counts)), counts)
        bases = [normal_and_tangents(contact.normal) for contact, _ in problem.contacts]
        self._basis = np.array(bases).reshape(-1, 3, 3)[self._of_points]
        self._zeros = {rows: np.zeros(rows) for rows in {task.num_rows for task in problem.tasks}}
        self._no_forces = np.zeros(n - nv)
        # Bounds of x, then of rows: forces without and with motors, constraints, friction, first level.
        num_rows, num_constraints = len(problem.rows), tree.num_constraint_equations
        num_first = (
            sum(task.num_rows for task in problem.tasks if not task.priority) + problem.num_contact_rows
        )
        num_first *= any(task.priority for task in problem.tasks)
        pyramids = problem.friction_rows
        ends = np.cumsum([n, num_rows, num_constraints, len(pyramids), num_first])
        self._A = np.zeros((ends[4] - n, n))
        self._lower, self._upper = np.full(ends[4], -FREE), np.full(ends[4], FREE)
        self._is_equation = np.zeros(ends[4], dtype=bool)
        self._is_equation[n : n + len(problem.undriven)] = True
        self._is_equation[ends[1] : ends[2]] = True
        self._is_equation[ends[3] :] = True
        self._A[ends[2] - n : ends[3] - n, self._forces] = pyramids
        self._upper[ends[2] : ends[3]] = 0.0
        self._end = int(ends[3])  # of the first level
        self._stands: tuple[float, ...] = ()
        self._max_forces = np.array(
            [min(contact.max_force / problem.force_unit, FREE) for contact, _ in problem.contacts]
        )
        self._share = _share_of_actuators(tree)
        self._programs: dict[int, QuadraticProgram] = {}
        limited = len(problem.limited[0])
        self._part: dict[str, FloatArray] = {
            "T": np.empty((nv, n)),
            "h": np.empty(nv),
            "H": np.empty((n, n)),
            "g": np.empty(n),
            "rows": self._A[:num_rows],
            "row_lower": self._lower[n : ends[1]],
            "row_upper": self._upper[n : ends[1]],
        }
        if num_constraints:
            self._part["constraints"] = self._A[num_rows : ends[2] - n]
            self._part["constraint_bias"] = self._lower[ends[1] : ends[2]]
        if num_first:
            self._part |= {"H2": np.empty((n, n)), "g2": np.empty(n), "first": self._A[ends[3] - n :]}
        if limited:
            self._part |= {"lower": np.empty(limited), "upper": np.empty(limited)}

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
        problem, part = self._problem, self._part
        result = self._make_result() if out is None else self._check_result(out)
        arrays = [
            _as_numbers(q, "q", (problem.tree.num_positions,)),
            _as_numbers(v, "v", (self._nv,)),
            stands,
            *self._as_arrays(references),
        ]
        try:
            self._assemble(*arrays, out=part)
        except ArgumentValueError:
            self._refuse_numbers(arrays)
            raise
        if not isfinite(part["h"].sum() + part["g"].sum()):
            self._refuse_numbers(arrays)
            raise ArgumentValueError("q, v: expected a state whose accelerations and forces are finite")
        if tuple(stands.tolist()) != self._stands:
            self._put_down(stands)
        if "lower" in part:
            velocities = problem.limited[0]
            self._lower[velocities], self._upper[velocities] = part["lower"], part["upper"]
        if "constraint_bias" in part:
            start = problem.size + len(problem.rows)
            self._upper[start : start + len(part["constraint_bias"])] = part["constraint_bias"]
        x, violations, steps = self._solve_level(1, part["H"], part["g"])
        if "H2" in part and not violations:
            np.matmul(part["first"], x, out=self._lower[self._end :])
            self._upper[self._end :] = self._lower[self._end :]
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
        end = len(self._upper) if level == 2 else self._end
        A, lower, upper = self._A[: end - len(g)], self._lower[:end], self._upper[:end]
        program = self._programs.get(level)
        if program is None:
            program = self._programs[level] = QuadraticProgram(self._is_equation[:end])
        found = program.solve(H, g, A, lower, upper)
        if found is not None:
            return found[0], {}, program.num_iterations
        x, excess = least_violation(H, g, A, lower, upper, self._is_equation[:end])
        return x, self._name_violations(excess), program.num_iterations

    def _put_down(self, stands: FloatArray) -> None:
        """Bound the forces of points: nothing at contacts that are lifted."""
        high = np.where(stands, FREE, 0.0)[self._of_points]
        self._lower[self._forces] = np.stack([-high, -high, 0.0 * high], axis=1).ravel()
        normal = (stands * self._max_forces)[self._of_points]
        self._upper[self._forces] = np.stack([high, high, normal], axis=1).ravel()
        self._stands = tuple(stands.tolist())

    def _write(self, x: FloatArray, result: TaskSpaceResult) -> None:
        problem, part, unit = self._problem, self._part, self._problem.force_unit
        np.matmul(part["T"], x, out=result.tau)
        result.tau += part["h"]
        result.tau[problem.undriven] = 0.0
        result.vdot[:] = x[: self._nv]
        if problem.contacts:
            components = x[self._forces].reshape(-1, 1, 3)
            np.matmul(components, self._basis, out=result.contact_forces[:, None, :])
            result.contact_forces *= unit
        if len(result.multipliers):
            np.multiply(x[self._forces.stop :], unit, out=result.multipliers)
        np.matmul(self._share, result.tau, out=result.actuation)

    def _refuse_numbers(self, arrays: list[FloatArray]) -> None:
        """Raise an error that names what is not finite."""
        names = ["q", "v", "stands", "forces wanted"]
        for k, (is_force, _) in enumerate(self._places):
            names += [] if is_force else [f"references[{k}]"] * 3
        for name, array in zip(names, arrays, strict=True):
            as_finite_array(array, name)

    def _as_arrays(self, references: Sequence[Any]) -> list[FloatArray]:
        """Return what forces add to g, and goal, velocity and acceleration of each task."""
        places, problem = self._places, self._problem
        if not isinstance(references, (list, tuple)) or len(references) != len(places):
            got = f"{len(references)}" if isinstance(references, (list, tuple)) else type(references).__name__
            raise ArgumentValueError(f"references: expected a list of {len(places)}, one a task, got {got}")
        wanted = self._no_forces.copy() if problem.force_tasks else self._no_forces
        arrays = [wanted]
        for k, ((is_force, place), reference) in enumerate(zip(places, references, strict=True)):
            if is_force:
                chosen, weight = problem.force_tasks[place]
                start, end = chosen.start // 3, chosen.stop // 3
                forces = as_finite_array(reference, f"references[{k}]", (end - start, 3))
                components = self._basis[start:end] @ forces[:, :, None]
                wanted[chosen] += weight * problem.force_unit * components.ravel()
            else:
                arrays += self._as_reference(problem.tasks[place], reference, f"references[{k}]")
        return arrays

    def _as_reference(self, task: Task, reference: object, name: str) -> list[FloatArray]:
        zero = self._zeros[task.num_rows]
        if not isinstance(reference, tuple):
            return [task.as_goal(reference, name), zero, zero]
        if len(reference) != 3:
            raise ArgumentValueError(
                f"{name}: expected a goal or (goal, velocity, acceleration), got a tuple of {len(reference)}"
            )
        rates = [
            zero if value is None else _as_numbers(value, f"{name}[{i}]", (task.num_rows,))
            for i, value in enumerate(reference[1:], 1)
        ]
        return [task.as_goal(reference[0], f"{name}[0]"), *rates]

    def _make_result(self) -> TaskSpaceResult:
        tree = self._problem.tree
        return TaskSpaceResult.empty(
            self._nv, len(self._basis), tree.num_constraint_equations, len(self._share)
        )

    def _check_result(self, out: object) -> TaskSpaceResult:
        if not isinstance(out, TaskSpaceResult):
            raise ArgumentTypeError(f"out: expected a result of this controller, got {quote(out)}")
        sizes = len(out.tau), len(out.contact_forces), len(out.multipliers), len(out.actuation)
        tree = self._problem.tree
        if sizes != (self._nv, len(self._basis), tree.num_constraint_equations, len(self._share)):
            raise ArgumentValueError("out: expected a result of this controller, got one of another")
        return out

    def _name_violations(self, excess: FloatArray) -> dict[str, float]:
        """Return what is violated, by name: the largest of each."""
        problem = self._problem
        names = problem.tree.get_velocity_names()
        of_points = [
            f"of {contact.name or frame.name!r}"
            for contact, frame in problem.contacts
            for _ in range(contact.num_points)
        ]
        labels = [f"acceleration of {name}" for name in names]
        labels += [f"normal force {label}" for label in of_points for _ in range(3)]
        labels += [f"constraint multiplier {k}" for k in range(problem.size - len(labels))]
        labels += [f"effort of {names[row]}" for row in problem.rows]
        labels += [f"constraint equation {k}" for k in range(problem.tree.num_constraint_equations)]
        labels += [f"friction {label}" for label in of_points for _ in range(4)]
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
