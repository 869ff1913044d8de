"""What is checked of the whole model, at its default positions: whether it can be computed with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbt.errors import quote

if TYPE_CHECKING:
    from mbt.checking.subject import Subject
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["check_dynamics"]

# Of the mass matrix with ones on its diagonal: beyond it half of the digits are lost.
_CONDITION = 1e8
# Eigenvalues of larger ones take longer than a second, and ever longer.
_MOST_DOFS = 1000
# Errors of constraints [m, rad] that one sees.
_OPEN = 1e-3


def check_dynamics(tree: MultibodyTree, subject: Subject) -> None:
    """Check that forward dynamics has an answer, and a good one."""
    context = tree.create_default_context()
    with np.errstate(all="ignore"):
        M = tree.calc_mass_matrix(context)
    if not np.isfinite(M).all():
        message = "the mass matrix at the default positions is not finite"
        subject.report("error", "mass-matrix", "", message, "masses or lengths are too large for a float")
        return
    branches = tree.finalize_report.massless_branches
    for branch in branches:
        joint = branch.mobilizer.joint
        where = "" if branch.is_everywhere else ", at the default positions"
        message = f"{branch.reason}: forward dynamics has no answer{where}"
        subject.report(
            "error", "massless", joint or f"mobilizer {branch.mobilizer.name!r}", message, branch.cure
        )
    if not branches and tree.num_velocities:
        _check_condition(M, tree, subject)
    if tree.num_constraint_equations:
        _check_constraints(tree, subject)


def _check_condition(M: np.ndarray, tree: MultibodyTree, subject: Subject) -> None:
    """Find motions that the matrix hardly tells apart, whatever the units."""
    if len(M) > _MOST_DOFS:
        message = (
            f"the mass matrix has more than {_MOST_DOFS} rows, and was not searched for what is singular"
        )
        subject.report("note", "mass-matrix", "", message, "check parts of the model")
        return
    d = np.sqrt(np.diag(M))
    values, vectors = np.linalg.eigh(M / np.outer(d, d))
    if values[0] * _CONDITION > values[-1]:
        return
    names = [tree.velocity_names[k] for k in np.argsort(-np.abs(vectors[:, 0]))[:2]]
    message = (
        f"the mass matrix at the default positions is nearly singular: {names[0]} and {names[1]} are hardly "
        "independent"
        if len(names) > 1
        else "the mass matrix at the default positions is nearly singular"
    )
    cure = "give the bodies between them mass and inertia, and look for tiny masses that carry large ones"
    subject.report("warning", "mass-matrix", "", message, cure)


def _check_constraints(tree: MultibodyTree, subject: Subject) -> None:
    report = tree.calc_constraint_report(tree.create_default_context())
    for name, error in report.open.items():
        if error > _OPEN:
            message = f"it is open by {error:.3g} (m or rad) at the default positions"
            cure = "tree.assemble(context) closes it"
            subject.report("note", "open-constraint", f"constraint {quote(name)}", message, cure)
