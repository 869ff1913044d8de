"""Checks the dynamics of the whole model at its default positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbt.errors import quote

if TYPE_CHECKING:
    from mbt.checking.subject import Subject
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["check_dynamics"]

# The largest condition of the mass matrix with ones on its diagonal: beyond it half of the digits are lost.
_CONDITION = 1e8
# Eigenvalues of larger matrices take longer than a second.
_MOST_DOFS = 1000
# Visible errors of constraints [m, rad].
_OPEN = 1e-3
# The default step of simulations [s].
_STEP = 1e-3


def check_dynamics(tree: MultibodyTree, subject: Subject) -> None:
    """Check that forward dynamics has an accurate solution."""
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
        message = f"{branch.reason}: forward dynamics has no solution{where}"
        subject.report(
            "error", "massless", joint or f"mobilizer {branch.mobilizer.name!r}", message, branch.cure
        )
    if not branches and tree.num_velocities:
        _check_condition(M, tree, subject)
        if len(M) <= _MOST_DOFS:
            _check_damping(M, tree, subject)
    if tree.num_constraint_equations:
        _check_constraints(tree, subject)


def _check_condition(M: np.ndarray, tree: MultibodyTree, subject: Subject) -> None:
    """Find motions that are nearly dependent in the mass matrix, regardless of units."""
    if len(M) > _MOST_DOFS:
        message = f"the mass matrix has more than {_MOST_DOFS} rows, and was not checked for singularity"
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


def _check_damping(M: np.ndarray, tree: MultibodyTree, subject: Subject) -> None:
    """Find damping so stiff that explicit steps of the default length diverge.

    An explicit step multiplies a velocity that decays with rate r by ``1 - r dt``: it grows if r > 2 / dt.
    The rates are the eigenvalues of M^-1 D, or of ``S M^-1 S`` with S = D^(1/2). The rate of a single joint,
    a diagonal entry, is its damping over the inertia that it feels while all other joints are free.
    """
    owners = {
        k: joint
        for joint in tree.joints
        for k in range(joint.velocity_start, joint.velocity_start + joint.num_velocities)
    }
    damping = np.array(
        [owners[k].default_damping_vector[k - owners[k].velocity_start] for k in range(len(M))]
    )
    if not damping.any():
        return
    root = np.sqrt(damping)
    rates, vectors = np.linalg.eigh(root[:, None] * np.linalg.inv(M) * root)
    own = damping * np.diag(np.linalg.inv(M))
    if not rates[-1] * _STEP > 2.0:
        return
    fastest = {int(np.argmax(np.abs(vectors[:, -1]))), *np.flatnonzero(own * _STEP > 2.0).tolist()}
    for joint in dict.fromkeys(owners[k] for k in sorted(fastest)):
        rate = max(own[k] for k in fastest if owners[k] is joint)
        if rate * _STEP <= 2.0:  # Unstable only together with other joints.
            rate = rates[-1]
        message = (
            f"its damping is stiff for its inertia, with a rate of {rate:.3g} 1/s: explicit steps are "
            f"unstable beyond {2.0 / rate:.2g} s, and the default is {_STEP:g} s"
        )
        cure = (
            "give it less damping or more inertia, such as a rotor inertia; or use shorter or implicit steps"
        )
        subject.report("warning", "stiff-damping", joint, message, cure)


def _check_constraints(tree: MultibodyTree, subject: Subject) -> None:
    report = tree.calc_constraint_report(tree.create_default_context())
    for name, error in report.open.items():
        if error > _OPEN:
            message = f"it is open by {error:.3g} (m or rad) at the default positions"
            cure = "tree.assemble(context) closes it"
            subject.report("note", "open-constraint", f"constraint {quote(name)}", message, cure)
