"""The table of docs/editing.md: what is set in a Context, and before finalize(), is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt

PAGE = (Path(__file__).parents[2] / "docs" / "editing.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("## Where to change what")[2].partition("##")[0]
#: The call in a Context, or nothing, and the call before finalize().
ROWS = [
    tuple(cell.strip().strip("`") for cell in line.strip("|").split("|")[1:])
    for line in TABLE.splitlines()
    if line.startswith("|") and "`" in line.rpartition("| `")[1]
]
IN_A_CONTEXT = [row for row in ROWS if row[0]]
BEFORE_ALONE = [before for in_context, before in ROWS if not in_context]

M_BBo_B = mbt.SpatialInertia.solid_box_with_mass(2.0, 0.3, 0.5, 0.7).shift([0.1, 0.2, 0.3])


class Wind(mbt.ForceElement):
    """An element of a user with a parameter."""

    def __init__(self, body: mbt.RigidBody) -> None:
        super().__init__(body.model_instance)
        self.body, self.default = body, [1.0]

    def change_default(self, default: list[float]) -> None:
        self._check_not_finalized("the default", "Set the parameter of a Context.")
        self.default = default

    def do_declare_parameters(self) -> None:
        self.force = self.declare_numeric_parameter([1.0])

    def do_set_default_parameters(self, parameters: mbt.Parameters) -> None:
        parameters.set_numeric_parameter(self.force, self.default)

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        force = context.get_numeric_parameter(self.force)
        forces.body_forces[..., self.body.node_index, 3] += force[..., 0]


def _build() -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    arm, box, sled = (tree.add_body(mbt.RigidBody(name, M_BBo_B)) for name in ("arm", "box", "sled"))
    X_PF = mbt.math.make_pose([0.1, 0.2, 0.3], rpy=[0.1, 0.2, 0.3])
    hinge = tree.add_joint(
        mbt.RevoluteJoint, "hinge", tree.world_body, X_PF, arm, None, [0, 1, 0], damping=0.1
    )
    slide = tree.add_joint(mbt.PrismaticJoint, "slide", arm, None, sled, X_PF, [1, 0, 0])
    free = tree.add_joint(mbt.QuaternionFloatingJoint, "box", tree.world_body, None, box, None)
    free.set_default_pose(mbt.math.make_pose([0.2, 0.0, -0.1]))
    tree.add_joint_actuator("motor", hinge, rotor_inertia=0.01, gear_ratio=5.0)
    tree.add_constraint(mbt.CouplerConstraint("coupler", slide, hinge))
    for element in (
        mbt.UniformGravityFieldElement(),
        mbt.RevoluteSpring(hinge, 0.1, 2.0),
        mbt.LinearSpringDamper(arm, [1, 2, 3], box, [4, 5, 6], 0.5, 7.0, 8.0),
        mbt.LinearBushingRollPitchYaw(sled, box, [1, 2, 3], [4, 5, 6], [1, 2, 3], [4, 5, 6]),
        mbt.JointFriction(slide, 1.0),
        mbt.DoorHinge(hinge),
        Wind(box),
    ):
        tree.add_force_element(element)
    return tree


def _names(tree: mbt.MultibodyTree, **more: Any) -> dict[str, Any]:
    """The names that the cells use for elements and arguments."""
    elements = dict(
        zip(
            ("gravity", "spring", "strut", "bushing", "friction", "door", "own"),
            tree.force_elements,
            strict=True,
        )
    )
    M = M_BBo_B.shift([0.0, 0.1, 0.0])
    return {
        "tree": tree,
        "body": tree.get_body_by_name("arm"),
        "frame": tree.get_frame_by_name("hinge_parent"),
        "joint": tree.get_joint_by_name("hinge"),
        "free": tree.get_joint_by_name("box"),
        "motor": tree.joint_actuators[0],
        "coupler": tree.constraints[0],
        **elements,
        "M": M,
        "M3": mbt.SpatialInertia(3.0, M_BBo_B.com, M_BBo_B.unit_inertia),
        "X": mbt.math.make_pose([0.3, 0.1, 0.2], rpy=[0.3, -0.2, 0.1]),
        "config": mbt.DoorHingeConfig(spring_constant=4.0),
        "shape": mbt.Shape("sphere", (0.1,)),
        "mbt": mbt,
        **more,
    }


def _results(tree: mbt.MultibodyTree, context: mbt.Context) -> list[Any]:
    """Results that would differ between two models, at positions of this Context, in motion."""
    context.v = np.linspace(0.3, 1.0, tree.num_velocities)
    return [
        context.q,
        tree.calc_mass_matrix(context),
        tree.calc_forward_dynamics(context),
        tree.calc_potential_energy(context),
        tree.eval_position_kinematics(context).X_WB,
        tree.eval_position_kinematics(context).X_BF,
        tree.calc_reaction_forces(context),
    ]


def _are_same(results: list[Any], others: list[Any]) -> bool:
    return all(map(np.array_equal, results, others))


def test_the_table_has_rows_of_both_kinds() -> None:
    assert len(IN_A_CONTEXT) >= 19
    assert len(BEFORE_ALONE) >= 7


@pytest.mark.parametrize(("in_context", "before"), IN_A_CONTEXT)
def test_both_columns_give_the_same_model(in_context: str, before: str) -> None:
    tree = _build()
    tree.finalize()
    context = tree.create_default_context()
    unchanged = _results(tree, tree.create_default_context())
    eval(in_context, _names(tree, context=context))
    results = _results(tree, context)
    assert not _are_same(results, unchanged)
    # After finalize() the other call is refused, names a way out, and changes nothing.
    with pytest.raises(mbt.AlreadyFinalizedError, match="Context"):
        eval(before, _names(tree))
    assert _are_same(_results(tree, tree.create_default_context()), unchanged)
    work = tree.edit()
    eval(before, _names(work))
    work.finalize()
    assert _are_same(_results(work, work.create_default_context()), results)


@pytest.mark.parametrize("before", BEFORE_ALONE)
def test_rows_without_a_context_change_nothing_that_is_computed(before: str) -> None:
    tree = _build()
    tree.finalize()
    unchanged = _results(tree, tree.create_default_context())
    with pytest.raises(mbt.AlreadyFinalizedError, match=r"tree\.edit\(\)"):
        eval(before, _names(tree))
    work = tree.edit()
    before_that = _described(work)
    eval(before, _names(work))
    assert _described(work) != before_that
    work.finalize()
    assert _are_same(_results(work, work.create_default_context()), unchanged)


def _described(tree: mbt.MultibodyTree) -> list[Any]:
    """The properties that rows without a Context set."""
    joint, motor, coupler = tree.joints[0], tree.joint_actuators[0], tree.constraints[0]
    assert isinstance(coupler, mbt.CouplerConstraint)
    limits = [getattr(joint, f"{what}_limits") for what in joint_limits()]
    return [
        [limit.tolist() for limit in limits],
        (joint.effort_limit, motor.effort_limit, coupler.default_gear_ratio, coupler.default_offset),
        [(body.name, body.visuals) for body in tree.bodies],
    ]


def joint_limits() -> list[str]:
    return [
        f"{what}_{end}" for what in ("position", "velocity", "acceleration") for end in ("lower", "upper")
    ]


DEFAULTS: dict[str, tuple[str, Any, str]] = {
    "a spatial inertia": ("body", "set_default_spatial_inertia", "M_BBo_B: expected an mbt.SpatialInertia"),
    "a pose of a frame": (
        "frame",
        "set_default_pose_in_parent_frame",
        "frame 'hinge_parent': X_PF: expected",
    ),
    "gravity": ("gravity", "set_default_gravity_vector", "g_W: expected"),
    "a gear ratio of a coupler": ("coupler", "set_default_gear_ratio", "'coupler': gear_ratio: expected"),
    "an offset of a coupler": ("coupler", "set_default_offset", "'coupler': offset: expected"),
}


@pytest.mark.parametrize(("name", "setter", "message"), DEFAULTS.values(), ids=DEFAULTS)
def test_wrong_defaults_change_nothing(name: str, setter: str, message: str) -> None:
    tree = _build()
    for wrong in ("text", [float("nan")] * 3, float("nan"), np.zeros((2, 2))):
        with pytest.raises(mbt.MbtError, match=message):
            getattr(_names(tree)[name], setter)(wrong)
    other = _build()
    tree.finalize()
    other.finalize()
    assert _are_same(
        _results(tree, tree.create_default_context()), _results(other, other.create_default_context())
    )


def test_world_has_no_mass_to_set() -> None:
    with pytest.raises(mbt.ArgumentValueError, match="world body does not move"):
        mbt.MultibodyTree().world_body.set_default_spatial_inertia(M_BBo_B)
