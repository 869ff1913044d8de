"""The tables about Exudyn and SymPy: both cells of each row give the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support.coming_from import Names, arm, assert_same, common, evaluate, rows_of

import mbt
from mbt import functional

pytestmark = pytest.mark.oracle


@pytest.fixture(scope="module")
def exudyn_names() -> Names:
    """Return the names that the table about Exudyn uses."""
    exudyn = pytest.importorskip("exudyn", reason="needs the `oracle` extra")
    from exudyn import robotics

    names = common(mbt.load_model(arm()))
    tree = names["tree"]
    X_WB = functional.body_poses(tree, np.zeros(6))
    robot = robotics.Robot(gravity=[0, 0, -9.81])
    for joint in tree.joints:
        if isinstance(joint, mbt.RevoluteJoint):
            X = np.linalg.inv(X_WB[joint.parent_body.node_index]) @ X_WB[joint.child_body.node_index]
            inertia = joint.child_body.default_spatial_inertia
            [axis] = np.flatnonzero(joint.revolute_axis)
            link = robotics.RobotLink(
                inertia.mass, inertia.com, inertia.calc_central_inertia(), jointType="R" + "xyz"[axis],
                preHT=exudyn.HT(rotation=X[:3, :3], translation=X[:3, 3]),
            )  # fmt: skip
            robot.AddLink(link)
    names |= {"robot": robot, "HT": robot.JointHT(names["q"]), "kinematics": robot.GetKinematicTree66()}
    return names | {"flange": tree.get_frame_by_name("flange")}


@pytest.mark.parametrize(("heading", "theirs", "ours"), rows_of("exudyn.md"))
def test_row_about_exudyn(exudyn_names: Names, heading: str, theirs: str, ours: str) -> None:
    names = dict(exudyn_names)
    assert_same(evaluate(theirs, names), evaluate(ours, names))


@pytest.fixture(scope="module")
def sympy_names() -> Names:
    """Return the names that the table about SymPy uses."""
    import sympy
    from sympy.physics import mechanics

    q1, q2, u1, u2 = mechanics.dynamicsymbols("q1 q2 u1 u2")
    g = sympy.Float("9.81")
    N = mechanics.ReferenceFrame("N")
    A, B = N.orientnew("A", "Axis", [q1, N.y]), mechanics.ReferenceFrame("B")
    B.orient(A, "Axis", [q2, A.y])
    A.set_ang_vel(N, u1 * N.y)
    B.set_ang_vel(A, u2 * A.y)
    O = mechanics.Point("O")  # noqa: E741
    P = O.locatenew("P", -A.z)
    C = P.locatenew("C", -B.z)
    O.set_vel(N, 0)
    P.v2pt_theory(O, N, A)
    C.v2pt_theory(P, N, B)
    bodies = [mechanics.Particle("upper", P, 1), mechanics.Particle("lower", C, 1)]
    kane = mechanics.KanesMethod(N, [q1, q2], [u1, u2], [q1.diff() - u1, q2.diff() - u2])
    kane.kanes_equations(bodies, [(P, -g * N.z), (C, -g * N.z)])

    tree, point = mbt.MultibodyTree(), mbt.SpatialInertia.point_mass(1.0, [0, 0, -1])
    upper, lower = (tree.add_body(mbt.RigidBody(name, point)) for name in ("upper", "lower"))
    below = mbt.math.make_pose([0, 0, -1])
    tree.add_joint(mbt.RevoluteJoint, "shoulder", tree.world_body, None, upper, None, axis=[0, 1, 0])
    tree.add_joint(mbt.RevoluteJoint, "elbow", upper, below, lower, None, axis=[0, 1, 0])
    tree.add_frame(mbt.FixedOffsetFrame("end", lower, below))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    names = common(tree)
    symbolic = tree.to_symbolic()
    symbols = symbolic.create_default_context()
    symbols.q, symbols.v = [q1, q2], [u1, u2]
    values = dict(zip([q1, q2, u1, u2], [*names["q"], *names["v"]], strict=True))

    def numbers(expressions: Any) -> np.ndarray:
        return np.array(sympy.Matrix(expressions).subs(values).evalf(20), dtype=float)

    names |= {
        "mechanics": mechanics,
        "N": N,
        "B": B,
        "O": O,
        "P": P,
        "C": C,
        "u1": u1,
        "u2": u2,
        "kane": kane,
    }
    names |= {"kane": kane, "bodies": bodies, "numbers": numbers, "symbolic": symbolic, "symbols": symbols}
    return names | {"end": tree.get_frame_by_name("end")}


@pytest.mark.parametrize(("heading", "theirs", "ours"), rows_of("sympy.md"))
def test_row_about_sympy(sympy_names: Names, heading: str, theirs: str, ours: str) -> None:
    names = dict(sympy_names)
    assert_same(evaluate(theirs, names), evaluate(ours, names))
