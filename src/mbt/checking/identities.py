"""Tests whether this installation computes a model correctly, by identities of dynamics."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt import _core, functional
from mbt.checking.scales import Scales
from mbt.checking.selftest_report import SelftestReport, SelftestRow
from mbt.config import get_num_threads, set_num_threads
from mbt.errors import ArgumentTypeError, AssemblyError, SingularityError
from mbt.math.arrays import as_count
from mbt.tree import MultibodyTree
from mbt.tree.constraints.equations import Equations
from mbt.tree.constraints.report import take_rows
from mbt.tree.report_tables import plural

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray

__all__ = ["selftest"]

# Numbers in a batch that several threads share: enough work for each, and little memory.
_NUMBERS_OF_BATCH = 200_000
_SECONDS_OF_CHILD = 120
_MOST_BODIES = 60
# Equations with a smaller relative singular value count as dependent on others.
_INDEPENDENT = 1e-9


def selftest(tree: MultibodyTree, *, num_samples: int = 10, seed: int = 0) -> SelftestReport:
    """Check identities of dynamics on a model, on this machine.

    At random states, it compares: the mass matrix with inverse dynamics, forward with inverse dynamics, the
    bias term with the Coriolis matrix and inverse dynamics, gravity with its potential, Jacobians with
    differences of poses, velocities with Jacobians, accelerations with constraints; Contexts with functions,
    batches with single states, one thread with several, and the instruction set in use with every other one
    that is built and that this processor supports, each in its own process. It also checks the skew symmetry
    of ``Mdot - 2C`` and the balance of powers. It takes about a second for a humanoid.

    Errors are relative to the sizes of the terms whose sum a number is: masses times squares of distances
    from World, and so on. The tolerance is a bound of the rounding error: twenty units in the last place for
    each body of the longest path, times the condition of the mass matrix where that is inverted; for
    differences over time it includes the truncation error of their extrapolation. The caller cannot choose
    it.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree of doubles.
    num_samples : int, optional
        Number of random states, 1 or more. The first one has the default positions.
    seed : int, optional
        The seed of the random states.

    Returns
    -------
    SelftestReport
        ``print`` shows a table; ``.ok`` is true if all errors are within tolerance. A check that is not
        possible, such as forward dynamics with a singular mass matrix, gives the reason.

    Raises
    ------
    NotFinalizedError
        When the tree is not finalized.
    ArgumentTypeError, ArgumentValueError
        When an argument cannot be used.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    >>> report = mbt.selftest(tree, num_samples=3)
    >>> report.ok
    True
    >>> report["forward against inverse dynamics"].error < 1e-12
    True
    """
    if not isinstance(tree, MultibodyTree):
        raise ArgumentTypeError(f"tree: expected a MultibodyTree, got {type(tree).__name__}")
    tree._finalized("mbt.selftest")
    if tree.scalar_type.name != "double":
        raise ArgumentTypeError(f"tree: expected a tree of doubles, got one of {tree.scalar_type.name}")
    count = as_count(num_samples, "num_samples", 1, 100_000)
    seed = as_count(seed, "seed", 0, 2**63 - 1)
    start = time.perf_counter()
    with np.errstate(all="ignore"):
        test = _Selftest(tree, count, seed)
        test.run()
    return SelftestReport(
        model=repr(tree).strip("<>"),
        num_samples=count,
        seed=seed,
        instruction_set=_core.isa,
        seconds=time.perf_counter() - start,
        rows=tuple(test.rows),
        notes=tuple(dict.fromkeys(test.notes)),
    )


class _Selftest:
    """The states, and the results at these."""

    def __init__(self, tree: MultibodyTree, count: int, seed: int) -> None:
        self.tree = tree
        self.rows: list[SelftestRow] = []
        self.notes: list[str] = []
        rng = np.random.default_rng(seed)
        nv = tree.num_velocities
        self.q = tree.random_positions(rng, count)
        self.q[0] = tree.default_positions
        # Velocities of norm about one, so that differences over time have the same scale for all models.
        self.v, self.vdot = rng.standard_normal((2, count, nv)) / np.sqrt(max(nv, 1))
        # Along paths with kinks, quantities are not differentiable.
        for mobilizer in tree.mobilizers:
            if "Curvilinear" in type(mobilizer).__name__:
                self.v[:, mobilizer._velocity_range()] = 0.0
        self.contexts = [tree.create_default_context() for _ in range(count)]
        for context, q, v in zip(self.contexts, self.q, self.v, strict=True):
            context.q, context.v = q, v
        self.scales = [Scales(context) for context in self.contexts]
        self.base = self.scales[0].rounding

    def run(self) -> None:
        """Check all identities."""
        self.find_conditions()
        self.judge("mass matrix against inverse dynamics", self.base, self.mass_matrix)
        self.judge("forward against inverse dynamics", self.base, self.forward)
        self.judge("bias term against the Coriolis matrix", self.base, self.bias_term)
        self.judge("Mdot - 2C is skew", self.of_differences, self.skew)
        self.judge("gravity against its potential", self.of_differences, self.gravity)
        self.judge("balance of powers", self.base, self.powers)
        self.judge("Jacobians against differences", self.of_differences, self.jacobians)
        self.judge("velocities against Jacobians", self.base, self.velocities)
        self.judge("constraints are obeyed", self.base, self.constraints)
        self.judge("Contexts against functions", self.base, self.functions)
        self.judge("batches against single states", self.base, self.batches)
        self.compare_threads()
        self.compare_instruction_sets()

    def judge(self, name: str, tolerance: float, calc: Callable[[int], FloatArray | None]) -> None:
        """Add a row: `calc` returns relative errors at a sample, divided by a condition (`amplified`)."""
        worst, factor, reason = 0.0, 1.0, ""
        where: int | None = None
        judged = False
        for i in range(len(self.contexts)):
            self.factor: float = 1.0
            try:
                errors = calc(i)
            except (SingularityError, AssemblyError) as undefined:
                reason = str(undefined).partition(". ")[0]
                continue
            if errors is None:
                reason = self.why_not
                continue
            judged = True
            error = float(np.max(np.abs(errors), initial=0.0))
            # NaN counts as a large error.
            if not error <= worst:
                worst, where, factor = (error if error == error else np.inf), i, self.factor
        if not judged:
            self.rows.append(SelftestRow(name, None, tolerance, reason))
            return
        notes = [] if where is None or worst <= tolerance else [f"worst at sample {where}"]
        # Report both without the division by the condition.
        notes += [f"condition {factor:.1e}"] if factor != 1.0 and np.isfinite(factor) else []
        factor = factor if np.isfinite(factor) else 1.0
        self.rows.append(
            SelftestRow(name, float(worst * factor), float(tolerance * factor), ", ".join(notes))
        )

    @property
    def of_differences(self) -> float:
        """Tolerance of `time_derivative`, for terms of size one that change at a rate of one."""
        # The 7th derivative of products of three sines over 7!, times h^6 / 64; rounding over the least step.
        return float((3 * _H) ** 6 * 3 / 5040 / 64 + 2 * self.base * 4 / _H)

    def find_conditions(self) -> None:
        """Find the conditions of the mass matrix, without units; infinite where forward dynamics fails."""
        self.why_not = "the mass matrix is singular"
        self.conditions: list[float] = []
        for context, q, scale in zip(self.contexts, self.q, self.scales, strict=True):
            M = functional.mass_matrix(self.tree, q)
            if not np.isfinite(M).all():
                self.notes.append(
                    "the mass matrix is not finite: masses or lengths are too large for a float"
                )
                self.conditions.append(np.nan)
                continue
            values = np.linalg.eigvalsh(scale.normalized(M)) if M.size else np.ones(1)
            # Beyond this no digit of an acceleration is right.
            is_regular = values[0] * 1e15 > values[-1] > 0
            condition = values[-1] / values[0] if is_regular else np.inf
            self.conditions.append(
                condition * (self.condition_of_constraints(context, M) if is_regular else 1.0)
            )
        if np.isinf(self.conditions).any():
            branches = self.tree.finalize_report.massless_branches
            who = f": {branches[0].reason}" if branches else ""
            self.notes.append(f"the mass matrix is singular{who}; forward dynamics was not judged there")

    def condition_of_constraints(self, context: Context, M: FloatArray) -> float:
        """Condition of the inverse inertia seen by constraints, except those that nothing moves."""
        if not self.tree.num_constraint_equations:
            return 1.0
        equations = Equations(self.tree, context)
        blocks, _, columns, _ = take_rows(
            equations, context, equations.calc_lengths(equations.calc_units(context)[0])
        )
        parts = [np.zeros((0, len(columns)))]
        for block in blocks:
            U, s, _ = np.linalg.svd(block.J, full_matrices=False)
            U = U[:, s > _INDEPENDENT]
            parts.append(np.zeros((U.shape[1], len(columns))))
            parts[-1][:, block.dofs] = U.T @ block.J / columns[block.dofs]
        independent = np.concatenate(parts)
        values = np.linalg.eigvalsh(independent @ np.linalg.solve(M, independent.T))
        return float(values[-1] / values[0]) if values.size else 1.0

    def is_regular(self, i: int) -> bool:
        """Whether to judge forward dynamics: also if the mass matrix is not finite, so that it fails."""
        return not np.isinf(self.conditions[i])

    def amplified(self, i: int, errors: Any, condition: float = 1.0) -> Any:
        """Return errors divided by the condition by which inverses amplify rounding, and store it."""
        self.factor = float(self.conditions[i] * condition)
        return errors / self.factor

    # Each of the following returns errors relative to the sizes of terms, at one sample.

    def mass_matrix(self, i: int) -> FloatArray:
        """M e_k is the result of inverse dynamics for the acceleration e_k."""
        M = functional.mass_matrix(self.tree, self.q[i])
        other = self.tree.calc_mass_matrix_via_inverse_dynamics(self.contexts[i])
        return self.scales[i].normalized(M - other)

    def forward(self, i: int) -> FloatArray | None:
        """Inverse dynamics of the accelerations gives the forces that caused them."""
        if not self.is_regular(i):
            return None
        q, v = self.q[i], self.v[i]
        tau = functional.inverse_dynamics(self.tree, q, v, self.vdot[i])
        constrained, multipliers = functional.constrained_forward_dynamics(self.tree, q, v, tau)
        pull = self.pull_of_constraints(i, multipliers)
        errors = []
        for vdot in (functional.forward_dynamics(self.tree, q, v, tau), constrained):
            again = functional.inverse_dynamics(self.tree, q, v, vdot, multipliers=multipliers)
            errors.append((again - tau) / (self.scales[i].tau(v, vdot) + pull))
        return np.asarray(self.amplified(i, np.array(errors)))

    def bias_term(self, i: int) -> FloatArray:
        """C v, with the Coriolis matrix, is the bias term, and inverse dynamics without acceleration."""
        v, rest = self.v[i], 0.0 * self.v[i]
        bias = functional.bias_term(self.tree, self.q[i], v)
        C = self.tree.calc_coriolis_matrix(self.contexts[i])
        others = np.array([C @ v, self.tree.calc_inverse_dynamics(self.contexts[i], rest)])
        return np.asarray((bias - others) / self.scales[i].tau(v, rest))

    def pull_of_constraints(self, i: int, multipliers: FloatArray) -> Any:
        """Sizes of the terms of J' multipliers."""
        if not self.tree.num_constraint_equations:
            return 0.0
        J = functional.constraint_jacobian(self.tree, self.q[i])
        return np.abs(J).T @ np.abs(multipliers)

    def skew(self, i: int) -> FloatArray:
        """C + C' = Mdot, with Mdot from differences along v."""
        C = self.tree.calc_coriolis_matrix(self.contexts[i])
        rate = self.scales[i].rate(self.v[i])
        Mdot = self.time_derivative(i, lambda q: functional.mass_matrix(self.tree, q))
        return self.scales[i].normalized(C + C.T - Mdot) / rate

    def gravity(self, i: int) -> FloatArray | None:
        """Compare the power of gravity with minus the rate of its potential energy."""
        field = self.tree.gravity_field
        if field is None:
            self.why_not = "there is no gravity"
            return None
        v, scale = self.v[i], self.scales[i]
        context = self.contexts[i].clone()

        def potential(q: FloatArray) -> FloatArray:
            values = []
            for row in q:
                context.q = row
                values.append(field.calc_potential_energy(context))
            return np.array(values)

        power = functional.gravity_generalized_forces(self.tree, self.q[i]) @ v
        rate = self.time_derivative(i, potential)
        return np.array((power + rate) / (scale.weight * scale.extent * scale.rate(v) or 1.0))

    def powers(self, i: int) -> FloatArray | None:
        """Compare the rate of energy of the bodies with the power of all forces."""
        if not self.is_regular(i):
            return None
        context = self.contexts[i]
        report = self.tree.calc_energy_report(context)
        vdot, multipliers = self.tree.calc_constrained_forward_dynamics(context)
        tau = self.scales[i].tau(context.v, vdot) + self.pull_of_constraints(i, multipliers)
        size = np.abs(context.v) @ tau + sum(
            abs(entry.conservative_power) + abs(entry.non_conservative_power) for entry in report.entries
        )
        return np.asarray(self.amplified(i, report.balance / (size or 1.0)))

    def jacobians(self, i: int) -> FloatArray:
        """J v is the velocity of a body, from differences of poses along v."""
        bodies = self.some_bodies(i)
        nodes = [body.node_index for body in bodies]
        if not bodies:
            return np.zeros(0)
        X = functional.body_poses(self.tree, self.q[i])[nodes]
        Xdot = self.time_derivative(i, lambda q: functional.body_poses(self.tree, q)[:, nodes])
        W = Xdot[:, :3, :3] @ X[:, :3, :3].transpose(0, 2, 1)
        moved = np.stack([W[:, 2, 1], W[:, 0, 2], W[:, 1, 0], *Xdot[:, :3, 3].T], axis=-1)
        scale = self.scales[i]
        J = [functional.frame_jacobian(self.tree, self.q[i], body.body_frame) for body in bodies]
        size = scale.rate(self.v[i]) * np.repeat([1.0, scale.extent], 3)
        return np.asarray((np.array(J) @ self.v[i] - moved) / size)

    def velocities(self, i: int) -> FloatArray:
        """V = J v: Jacobians are computed directly from q, velocities in the caches."""
        bodies, scale = self.some_bodies(i), self.scales[i]
        if not bodies:
            return np.zeros(0)
        V_WB = self.tree.eval_velocity_kinematics(self.contexts[i]).V_WB[[b.node_index for b in bodies]]
        J = [functional.frame_jacobian(self.tree, self.q[i], body.body_frame) for body in bodies]
        size = scale.rate(self.v[i]) * np.repeat([1.0, scale.extent], 3)
        return np.asarray((np.array(J) @ self.v[i] - V_WB) / size)

    def some_bodies(self, i: int) -> list[Any]:
        """Return the bodies; of very many, some that change with the sample, and always the last one."""
        moving = self.tree.bodies[:0:-1]
        step = max(1, -(-len(moving) // _MOST_BODIES))
        return list({**dict.fromkeys(moving[:1]), **dict.fromkeys(moving[i % step :: step])})

    def constraints(self, i: int) -> FloatArray | None:
        """J vdot + bias = 0 if positions and velocities obey the constraints."""
        if not self.tree.num_constraint_equations:
            self.why_not = "there are none"
            return None
        if not self.is_regular(i):
            return None
        context = self.contexts[i].clone()
        self.tree.assemble(context)
        vdot, _ = self.tree.calc_constrained_forward_dynamics(context)
        J, bias = self.tree.calc_constraint_jacobian(context), self.tree.calc_constraint_bias(context)
        M = functional.mass_matrix(self.tree, context.q)
        scale = self.scales[i]
        condition = self.condition_of_constraints(context, M)
        size = np.abs(J) @ np.abs(vdot) + scale.rate(context.v) ** 2 * scale.extent + np.abs(bias)
        return np.asarray(self.amplified(i, (J @ vdot + bias) / size, condition))

    def functions(self, i: int) -> FloatArray:
        """Compare the results of a Context with those of functions."""
        tree, context, scale = self.tree, self.contexts[i], self.scales[i]
        q, v, vdot = self.q[i], self.v[i], self.vdot[i]
        tau = functional.inverse_dynamics(tree, q, v, vdot)
        errors = [
            scale.normalized(functional.mass_matrix(tree, q) - tree.calc_mass_matrix(context)),
            (tau - tree.calc_inverse_dynamics(context, vdot, include_force_elements=True))
            / scale.tau(v, vdot),
            scale.of_poses(functional.body_poses(tree, q) - tree.eval_position_kinematics(context).X_WB),
        ]
        if self.is_regular(i):
            own, other = (
                functional.forward_dynamics(tree, q, v, tau),
                tree.calc_forward_dynamics(context, tau),
            )
            errors.append((own - other) / scale.vdot(v, own) / self.conditions[i])
        return np.concatenate([np.ravel(error) for error in errors])

    def batches(self, i: int) -> FloatArray:
        """Compare a sample of a batch with a single call."""
        if i == 0:
            self.of_batch = _compute(self.tree, self.q, self.v, self.vdot, is_batch=True)
            self.single = _compute(self.tree, self.q, self.v, self.vdot, is_batch=False)
        return self.compare(self.of_batch, self.single, i)

    def compare(self, ones: dict[str, Any], others: dict[str, Any], i: int) -> FloatArray:
        """Return the relative errors between results of `_compute`."""
        scale, v = self.scales[i], self.v[i]
        sizes: dict[str, Any] = {
            "mass_matrix": scale.normalized,
            "body_poses": scale.of_poses,
            "bias_term": lambda x: x / scale.tau(v, 0.0 * v),
            "inverse_dynamics": lambda x: x / scale.tau(v, self.vdot[i]),
        }
        errors = [sizes[name](ones[name][i] - others[name][i]) for name in sizes]
        if self.is_regular(i):
            vdot = others["forward_dynamics"][i]
            difference = ones["forward_dynamics"][i] - vdot
            errors.append(difference / scale.vdot(v, vdot) / self.conditions[i])
        return np.concatenate([np.ravel(error) for error in errors])

    def compare_threads(self) -> None:
        """Results are the same to the last bit for any number of threads."""
        count = max(16, _NUMBERS_OF_BATCH // max(self.tree.num_velocities, 1))
        rows = np.arange(count) % len(self.q)
        q, v, vdot = self.q[rows], self.v[rows], self.vdot[rows]
        before = get_num_threads()
        most = max(before, min(os.cpu_count() or 1, 8), 2)
        numbers = sorted({2, most, *range(3, min(most, 8))})
        try:
            set_num_threads(1)
            desired = functional.inverse_dynamics(self.tree, q, v, vdot)
            worst = 0
            for n in numbers:
                set_num_threads(n)
                actual = functional.inverse_dynamics(self.tree, q, v, vdot)
                worst = max(worst, int((actual.view(np.int64) != desired.view(np.int64)).sum()))
        finally:
            set_num_threads(before)
        note = f"bits of 1 and {', '.join(map(str, numbers))} threads, {plural(count, 'state')}"
        self.rows.append(SelftestRow("one thread against several", float(worst), 0.0, note))

    def compare_instruction_sets(self) -> None:
        """Every other instruction set that is built and runs here computes the same, up to rounding."""
        others = [isa for isa in _core.usable if isa != _core.isa]
        if not others:
            note = f"{_core.isa} is the only one that is built and runs here"
            self.rows.append(SelftestRow("instruction sets", None, self.base, note))
            return
        runs, reason = [], ""
        try:
            work = pickle.dumps((self.tree, self.q, self.v, self.vdot))
            runs = [(isa, _start(isa, work)) for isa in others]
        except Exception as error:
            reason = f"the model cannot be sent to another process: {error}"
        for isa in others[len(runs) :]:
            self.rows.append(SelftestRow(f"{_core.isa} against {isa}", None, self.base, reason))
        own = self.of_batch, self.single
        for isa, finish in runs:
            answer = finish()
            name = f"{_core.isa} against {isa}"
            if isinstance(answer, int):
                note = f"the other process ended with signal {-answer}"
                self.rows.append(SelftestRow(name, np.inf, self.base, note))
                continue
            if isinstance(answer, str):
                self.rows.append(SelftestRow(name, None, self.base, answer))
                continue

            def difference(i: int, answer: Any = answer) -> FloatArray:
                return np.concatenate([self.compare(a, b, i) for a, b in zip(answer, own, strict=True)])

            self.judge(name, self.base, difference)

    def time_derivative(self, i: int, f: Callable[[FloatArray], Any]) -> Any:
        """df/dt along v of a stack of values, from differences extrapolated twice (Richardson)."""
        v = self.v[i]
        h = _H / self.scales[i].rate(v)
        steps = np.array([h, -h, h / 2, -h / 2, h / 4, -h / 4])
        q = functional.integrate_positions(self.tree, np.tile(self.q[i], (6, 1)), v, steps)
        y = f(q)
        D = [(y[k] - y[k + 1]) / (2 * steps[k]) for k in (0, 2, 4)]
        once = [(4 * D[1] - D[0]) / 3, (4 * D[2] - D[1]) / 3]
        return (16 * once[1] - once[0]) / 15


# The step, relative to the time in which something changes by its own size.
_H = 0.02


def _compute(tree: MultibodyTree, q: Any, v: Any, vdot: Any, *, is_batch: bool) -> dict[str, Any]:
    """Return results of the most important functions, for a batch or one state after the other."""

    def forward(q: Any, v: Any, vdot: Any) -> Any:
        tau = functional.inverse_dynamics(tree, q, v, vdot)
        try:
            return functional.forward_dynamics(tree, q, v, tau)
        except SingularityError:
            return np.full(v.shape, np.nan)

    calls: dict[str, Callable[..., Any]] = {
        "mass_matrix": lambda q, v, vdot: functional.mass_matrix(tree, q),
        "body_poses": lambda q, v, vdot: functional.body_poses(tree, q),
        "bias_term": lambda q, v, vdot: functional.bias_term(tree, q, v),
        "inverse_dynamics": lambda q, v, vdot: functional.inverse_dynamics(tree, q, v, vdot),
        "forward_dynamics": forward,
    }
    if is_batch:
        return {name: call(q, v, vdot) for name, call in calls.items()}
    states = list(zip(q, v, vdot, strict=True))
    return {name: np.array([call(*state) for state in states]) for name, call in calls.items()}


_CHILD = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
import numpy as np
from mbt.checking.identities import _compute
tree, *state = pickle.load(sys.stdin.buffer)
with np.errstate(all="ignore"):
    answer = [_compute(tree, *state, is_batch=is_batch) for is_batch in (True, False)]
sys.stdout.buffer.write(pickle.dumps(answer))
"""


def _start(isa: str, work: bytes) -> Callable[[], Any]:
    """Start a process that computes with an instruction set; return a function that waits for its answer."""
    if not sys.executable:
        return lambda: "there is no interpreter to start"
    child = subprocess.Popen(
        [sys.executable, "-c", _CHILD],
        env={**os.environ, "MBT_ISA": isa},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )

    def finish() -> Any:
        try:
            out, errors = child.communicate(pickle.dumps(sys.path) + work, timeout=_SECONDS_OF_CHILD)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            return "the other process did not answer"
        if child.returncode:
            last = errors.decode(errors="replace").strip().rpartition("\n")[2]
            if child.returncode < 0:
                return child.returncode
            return f"the other process failed: {last}"
        return pickle.loads(out)

    return finish
