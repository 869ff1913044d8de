"""What `tree.calc_constraint_report` says about constraints."""

import json

import numpy as np
import pytest

import mbt
from support import constraints as bars
from support.linkages import MECHANISMS, calc_four_bar_angles, four_bar


@pytest.mark.parametrize("name", MECHANISMS)
def test_mobility(name):
    tree, mobility = MECHANISMS[name][0](), MECHANISMS[name][1]
    context = tree.create_default_context()
    tree.assemble(context)
    report = tree.calc_constraint_report(context)
    assert report.mobility == mobility
    assert report.rank == tree.num_velocities - mobility
    assert not report.open
    assert not report.stuck


ATTITUDES = [(0.3, 0.4, 0.5), *np.random.default_rng(0).uniform(-3.0, 3.0, (9, 3)).tolist()]


@pytest.mark.parametrize("scale", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("base_joint", [mbt.WeldJoint, mbt.QuaternionFloatingJoint])
def test_loops_in_a_plane_in_every_attitude_and_size(base_joint, scale):
    """One equation is mere rounding in every plane and for bars of any length."""
    for rpy in ATTITUDES:
        tree = bars.four_bar(rpy, scale, base_joint=base_joint)
        context = tree.create_default_context()
        if base_joint is mbt.QuaternionFloatingJoint:
            # So far away, rounding is 1e-10 of a length of 1 mm.
            context.q = [*context.q[:4], 300.0, -200.0, 500.0, -1.2, 0.5, 1.0]
        else:
            context.q = [-1.2, 0.5, 1.0]
        tree.assemble(context)
        report = tree.calc_constraint_report(context)
        assert (report.rank, report.mobility) == (2, tree.num_velocities - 2)
        assert report.redundant == {"closure": 1}
        assert (report.open, report.stuck, report.is_doubtful) == ({}, {}, False)


def test_a_pin_that_is_off_by_rounding():
    tree = bars.four_bar(pin_off=1.2e-16)
    context = tree.create_default_context()
    context.q = [-1.2, 0.5, 1.0]
    tree.assemble(context)
    report = tree.calc_constraint_report(context)
    assert (report.rank, report.mobility, report.redundant) == (2, 1, {"closure": 1})


def test_a_pin_that_is_off_by_five_digits():
    """Its equation is much smaller than it could be, and the report says how small."""
    off = 3.6732051e-6
    tree = bars.four_bar(pin_off=off)
    context = tree.create_default_context()
    context.q = [-1.2, 0.5, 1.0]
    tree.assemble(context, tolerance=1e-5)
    exact = tree.calc_constraint_report(context)
    assert (exact.rank, exact.mobility) == (3, 0)
    assert exact.is_doubtful
    # At most the angle: the rocker alone moves the tip out of the plane by its length times the angle.
    assert 0.01 * off < exact.weakest < off
    assert "tolerance=" in str(exact)
    rounded = tree.calc_constraint_report(context, tolerance=1e-4)
    assert (rounded.rank, rounded.mobility, rounded.redundant) == (2, 1, {"closure": 1})
    assert not rounded.is_doubtful


def two_wheels(*constraints):
    tree = mbt.MultibodyTree()
    M = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
    for name in ("left", "right"):
        wheel = tree.add_body(mbt.RigidBody(name, M))
        tree.add_joint(mbt.RevoluteJoint, name, tree.world_body, None, wheel, None, [0, 0, 1])
    left, right = tree.joints
    for name, *numbers in constraints:
        tree.add_constraint(mbt.CouplerConstraint(name, left, right, *numbers))
    tree.finalize()
    return tree


def test_the_later_constraint_is_redundant():
    tree = two_wheels(("belt", 2.0), ("chain", 2.0), ("gear", -1.0), ("shaft", 3.0))
    context = tree.create_default_context()
    report = tree.calc_constraint_report(context)
    assert (report.num_equations, report.rank, report.mobility) == (4, 2, 0)
    assert report.redundant == {"chain": 1, "shaft": 1}
    tree.get_constraint_by_name("belt").set_enabled_in(context, False)
    report = tree.calc_constraint_report(context)
    assert (report.num_equations, report.rank, report.redundant) == (3, 2, {"shaft": 1})
    assert not report["belt"].is_enabled


def test_a_constraint_that_nothing_can_move():
    """A ball between bodies that move together: its rows are zero."""
    tree = mbt.MultibodyTree()
    M = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
    base, hand = (tree.add_body(mbt.RigidBody(name, M)) for name in ("base", "hand"))
    tree.add_joint(mbt.WeldJoint, "weld", base, mbt.math.make_pose([0.0, 0.0, 0.1]), hand, None)
    tree.add_constraint(mbt.BallConstraint("ball", base, hand))
    tree.finalize()
    context = tree.create_default_context()
    report = tree.calc_constraint_report(context)
    assert (report.rank, report.redundant) == (0, {"ball": 3})
    np.testing.assert_allclose((report.open["ball"], report.stuck["ball"]), 0.1, rtol=1e-12)
    with pytest.raises(mbt.AssemblyError, match=r"'ball' by 0\.1 "):
        tree.assemble(context)


def test_contradictions_cannot_close():
    """Two couplers contradict each other; a third one is open, but can close."""
    tree = two_wheels(("belt", 2.0, 0.1), ("chain", 2.0, -0.1))
    report = tree.calc_constraint_report(tree.create_default_context())
    assert report.open == {"belt": 0.1, "chain": 0.1}
    np.testing.assert_allclose(list(report.stuck.values()), 0.1, rtol=1e-12)
    tree = two_wheels(("belt", 2.0, 0.1), ("gear", -1.0))
    report = tree.calc_constraint_report(tree.create_default_context())
    assert report.open == {"belt": 0.1}
    assert report.stuck == {}


def test_errors_and_rates():
    tree = four_bar()
    context = tree.create_default_context()
    context.q, context.v = calc_four_bar_angles(0.5) + np.array([0, 0, 1e-3]), [1.0, 0.0, 0.0]
    pin = tree.calc_constraint_report(context)["pin"]
    assert pin.error == np.abs(tree.calc_constraint_errors(context)).max()
    rates = tree.calc_constraint_jacobian(context) @ context.v
    assert pin.rate == np.abs(rates).max()
    assert (pin.type_name, pin.num_equations) == ("BallConstraint", 3)


def test_shown():
    tree = two_wheels(("belt", 2.0, 0.1), ("chain", 2.0, -0.1), ("gear", -1.0))
    context = tree.create_default_context()
    tree.get_constraint_by_name("gear").set_enabled_in(context, False)
    report = tree.calc_constraint_report(context)
    text = str(report)
    assert "0.1 cannot close" in text
    assert "disabled" in text
    assert "2 equations, of which 1 are independent; 2 velocities, of which 1 are left" in text
    assert repr(report) == "<ConstraintReport: 3 constraints, 2 equations of rank 1, mobility 1, 2 open>"
    assert "belt" in report._repr_html_()
    data = json.loads(json.dumps(report.as_dict()))
    assert data["rank"] == 1
    assert [entry["name"] for entry in data["constraints"]] == ["belt", "chain", "gear"]
    with pytest.raises(mbt.UnknownNameError, match="belt"):
        report["belts"]


def test_arguments():
    tree = four_bar()
    with pytest.raises(
        mbt.ArgumentTypeError, match=r"expected one of a single state, got a batch of shape \(2,\)"
    ):
        tree.calc_constraint_report(tree.create_default_context(batch_shape=(2,)))
    context = tree.create_default_context()
    context.q = [0.1, np.nan, 0.3]
    with pytest.raises(mbt.ArgumentValueError, match=r"context: expected positions .* got q = .*nan"):
        tree.calc_constraint_report(context)
    clone = tree.to_autodiff()
    with pytest.raises(mbt.ArgumentTypeError, match="expected a Context of doubles, got one of"):
        clone.calc_constraint_report(clone.create_default_context())
