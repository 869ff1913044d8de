"""Contexts and forces: what they hold, reject, and keep apart."""

import copy
import pickle

import numpy as np
import pytest

import mbt


@pytest.fixture
def tree() -> mbt.MultibodyTree:
    """A hinged rod with a motor, and a free ball, under gravity."""
    tree = mbt.MultibodyTree()
    inertia = mbt.SpatialInertia(2.0, [0, 0, -0.5], np.diag([0.3, 0.3, 0.01]))
    rod = tree.add_body(mbt.RigidBody("rod", inertia))
    hinge = tree.add_joint(
        mbt.RevoluteJoint, "hinge", tree.world_body, None, rod, None, axis=[0, 1, 0], damping=0.1
    )
    tree.add_joint_actuator("motor", hinge)
    tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


@pytest.mark.parametrize("what", [None, "tree", 3, mbt.SpatialInertia.zero()])
def test_a_context_needs_a_tree(what: object) -> None:
    with pytest.raises(mbt.ArgumentTypeError, match="tree: expected a MultibodyTree"):
        mbt.Context(what)  # type: ignore[arg-type]


def test_a_context_needs_a_finalized_tree() -> None:
    tree = mbt.MultibodyTree()
    for make in (mbt.Context, mbt.MultibodyForces, mbt.MultibodyTree.create_default_context):
        with pytest.raises(mbt.NotFinalizedError, match="finalize"):
            make(tree)


def test_a_context_cannot_exist_without_its_tree() -> None:
    with pytest.raises(TypeError):
        mbt.Context.__new__(mbt.Context)


@pytest.mark.parametrize("name", ["q", "v", "time", "actuation", "applied_forces", "tree"])
def test_what_a_context_holds_cannot_be_deleted(tree: mbt.MultibodyTree, name: str) -> None:
    for context in (tree.create_default_context(), tree.create_default_context(3)):
        with pytest.raises(AttributeError, match=name):
            delattr(context, name)


def test_forces_are_no_positions(tree: mbt.MultibodyTree) -> None:
    with pytest.raises(mbt.ArgumentTypeError, match=r"^q: .*got MultibodyForces$"):
        tree.create_default_context().q = mbt.MultibodyForces(tree)


def test_only_a_context_is_a_context(tree: mbt.MultibodyTree) -> None:
    """Other objects that hold a reference to the tree, such as forces, are rejected."""
    rod = tree.get_body_by_name("rod")
    for call in (tree.calc_mass_matrix, tree.eval_position_kinematics, rod.get_mass, rod.eval_pose_in_world):
        with pytest.raises(mbt.ArgumentTypeError, match=r"create_default_context\(\), got MultibodyForces"):
            call(mbt.MultibodyForces(tree))


def test_a_clone_is_independent(tree: mbt.MultibodyTree) -> None:
    context = tree.create_default_context()
    context.v = np.arange(7.0)
    context.time = 2.0
    context.applied_forces.generalized_forces[0] = 5.0
    tree.get_body_by_name("rod").set_mass(context, 3.0)
    clone = context.clone()
    context.v = np.zeros(7)
    context.applied_forces.set_zero()
    tree.get_body_by_name("rod").set_mass(context, 9.0)
    np.testing.assert_array_equal(clone.v, np.arange(7.0))
    assert clone.time == 2.0
    assert clone.applied_forces.generalized_forces[0] == 5.0
    assert tree.calc_total_mass(clone) == 4.0


def test_actuation_and_applied_forces_drive_forward_dynamics(tree: mbt.MultibodyTree) -> None:
    context = tree.create_default_context()
    passive = tree.calc_forward_dynamics(context)
    context.actuation = [0.6]
    # Inertia about the hinge: 2 kg times 0.3 m^2.
    driven = tree.calc_forward_dynamics(context)
    np.testing.assert_allclose(driven - passive, [1, 0, 0, 0, 0, 0, 0], atol=1e-15)
    context.actuation = [0.0]
    ball = tree.get_body_by_name("ball")
    context.applied_forces.body_forces[ball.node_index, 5] = 9.81
    np.testing.assert_allclose(tree.calc_forward_dynamics(context)[1:], 0.0, atol=1e-15)
    external = mbt.MultibodyForces(tree)
    external.body_forces[ball.node_index, 3] = 2.0
    np.testing.assert_allclose(tree.calc_forward_dynamics(context, None, external)[4], 2.0, rtol=1e-15)


def test_validate_lists_what_is_not_finite(tree: mbt.MultibodyTree) -> None:
    context = tree.create_default_context()
    context.validate()
    context.v = [np.nan, 0, 0, 0, 0, 0, np.inf]
    with pytest.raises(mbt.ArgumentValueError, match=r"v\[0\] = nan, v\[6\] = inf"):
        context.validate()


def test_zero_quaternion_is_refused_and_changes_nothing(tree: mbt.MultibodyTree) -> None:
    context = tree.create_default_context()
    before = context.q.copy()
    with pytest.raises(mbt.SingularityError, match="quaternion of joint 'ball'"):
        context.q = np.zeros(8)
    np.testing.assert_array_equal(context.q, before)


def test_quaternions_are_read_back_as_set(tree: mbt.MultibodyTree) -> None:
    context = tree.create_default_context()
    q = np.array([0.0, 2.0, 0.0, 0.0, 0.0, 0.1, 0.2, 0.3])
    context.q = q
    np.testing.assert_array_equal(context.q, q)
    np.testing.assert_array_equal(tree.eval_position_kinematics(context).X_WB[2][:3, :3], np.eye(3))


def test_no_mass_no_centre_of_mass() -> None:
    tree = mbt.MultibodyTree()
    tree.finalize()
    context = tree.create_default_context()
    assert tree.calc_total_mass(context) == 0.0
    with pytest.raises(mbt.SingularityError, match="no mass"):
        tree.calc_center_of_mass_position_in_world(context)


def test_a_massless_link_has_no_acceleration() -> None:
    tree = mbt.MultibodyTree()
    link = tree.add_body(mbt.RigidBody("feather", mbt.SpatialInertia.zero()))
    tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, link, None, axis=[0, 0, 1])
    tree.finalize()
    context = tree.create_default_context()
    out = np.full(1, 7.0)
    for call in (
        lambda: tree.calc_forward_dynamics(context, out=out),
        lambda: mbt.functional.forward_dynamics(tree, np.zeros(1), np.zeros(1), np.ones(1), out=out),
        lambda: mbt.functional.forward_dynamics(tree, [0.0], [0.0], [1.0], out=out),
    ):
        with pytest.raises(mbt.SingularityError, match=r"joint 'hinge'.*'feather'"):
            call()
        assert out[0] == 7.0
    batch = mbt.functional.forward_dynamics(tree, np.zeros((2, 1)), np.zeros(1), np.ones(1))
    assert np.isnan(batch).all()


def test_a_massless_dof_is_found_in_a_long_chain_at_once() -> None:
    """Each mobilizer is visited once."""
    tree = mbt.MultibodyTree()
    parent = tree.world_body
    for i in range(30):
        # Hinges are parallel, and all mass is in the first link.
        M_BBo_B = mbt.SpatialInertia.zero() if i else mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
        link = tree.add_body(mbt.RigidBody(f"link_{i}", M_BBo_B))
        tree.add_joint(mbt.RevoluteJoint, f"joint_{i}", parent, None, link, None, axis=[0, 0, 1])
        parent = link
    tree.finalize()
    looked_up = 0
    node_index = mbt.RigidBody.node_index.fget

    def count(body: mbt.RigidBody) -> int:
        nonlocal looked_up
        looked_up += 1
        return node_index(body)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mbt.RigidBody, "node_index", property(count))
        with pytest.raises(mbt.SingularityError, match=r"of joint 'joint_29'.*'link_29'"):
            tree.calc_forward_dynamics(tree.create_default_context())
    assert looked_up <= tree.num_bodies


class TestMultibodyForces:
    def test_arrays_are_written_or_assigned(self, tree: mbt.MultibodyTree) -> None:
        forces = mbt.MultibodyForces(tree)
        array = forces.body_forces
        forces.body_forces = np.ones((3, 6))
        forces.generalized_forces = range(7)
        np.testing.assert_array_equal(array, 1.0)
        np.testing.assert_array_equal(forces.generalized_forces, np.arange(7.0))
        with pytest.raises(mbt.ShapeError, match=r"body_forces: expected shape \(3, 6\), got \(2, 6\)"):
            forces.body_forces = np.ones((2, 6))

    def test_sums(self, tree: mbt.MultibodyTree) -> None:
        a, b = mbt.MultibodyForces(tree), mbt.MultibodyForces(tree)
        a.generalized_forces[:] = 1.0
        b.generalized_forces[:] = 2.0
        b.body_forces[1] = 3.0
        assert a.add_in_forces(b) is a
        np.testing.assert_array_equal(a.generalized_forces, 3.0)
        np.testing.assert_array_equal(a.body_forces[1], 3.0)
        a.set_zero()
        assert not a.body_forces.any()
        assert not a.generalized_forces.any()

    @pytest.mark.parametrize("make_copy", [mbt.MultibodyForces.clone, copy.copy, copy.deepcopy])
    def test_copies_are_independent(self, tree: mbt.MultibodyTree, make_copy: object) -> None:
        forces = mbt.MultibodyForces(tree, (2,))
        forces.generalized_forces[:] = 1.0
        forces.body_forces[:] = -0.0
        copied = make_copy(forces)  # type: ignore[operator]
        forces.set_zero()
        assert copied.tree is tree
        assert copied.batch_shape == (2,)
        np.testing.assert_array_equal(copied.generalized_forces, 1.0)
        assert np.signbit(copied.body_forces).all()

    def test_refusals(self, tree: mbt.MultibodyTree) -> None:
        other = mbt.MultibodyTree()
        other.finalize()
        forces = mbt.MultibodyForces(tree)
        with pytest.raises(mbt.ContextMismatchError, match="same tree"):
            forces.add_in_forces(mbt.MultibodyForces(other))
        with pytest.raises(mbt.ArgumentTypeError, match="MultibodyForces"):
            forces.add_in_forces(np.zeros(7))  # type: ignore[arg-type]
        with pytest.raises(mbt.ShapeError, match="batch shape"):
            forces.add_in_forces(mbt.MultibodyForces(tree, 4))
        with pytest.raises(mbt.MbtError, match="batch_shape"):
            mbt.MultibodyForces(tree, (-1,))
        for shape, error in (("x", mbt.ArgumentTypeError), (-1, mbt.ArgumentValueError)):
            with pytest.raises(error, match="batch_shape: expected"):
                mbt.BatchContext(tree, shape)  # type: ignore[arg-type]
        with pytest.raises(mbt.ArgumentTypeError, match="batch_shape"):
            mbt.MultibodyForces(tree, "3")  # type: ignore[arg-type]


class TestReadOnlyArrays:
    """Arrays that a Context returns are read-only, and otherwise ordinary."""

    @pytest.mark.parametrize(
        "get",
        [
            lambda context: context.q,
            lambda context: context.actuation,
            lambda context: context.tree.eval_position_kinematics(context).X_WB,
            lambda context: context.tree.eval_position_kinematics(context).com_W,
            lambda context: context.tree.calc_acceleration_kinematics_cache(context, np.zeros(7)).A_WB,
            lambda context: context.q[1:],
        ],
    )
    def test_writing_names_the_way_to_write(self, tree: mbt.MultibodyTree, get: object) -> None:
        array = get(tree.create_default_context())  # type: ignore[operator]
        for write in (
            lambda a: a.__setitem__(0, 1.0),
            lambda a: a.__setitem__(slice(None), 1.0),
            lambda a: a.__iadd__(1.0),
            lambda a: a.__imul__(2.0),
        ):
            with pytest.raises(mbt.ArgumentValueError, match=r"context\.q = "):
                write(array)
        with pytest.raises(ValueError, match="read-only"):
            np.add(array, 1.0, out=array)
        with pytest.raises(ValueError, match=r"cannot|own"):
            array.flags.writeable = True

    def test_results_and_copies_are_ordinary(self, tree: mbt.MultibodyTree) -> None:
        q = tree.create_default_context().q
        copies = (q.copy(), copy.copy(q), copy.deepcopy(q), pickle.loads(pickle.dumps(q)))
        for array in (2.0 * q, np.sin(q), *copies):
            assert type(array) is np.ndarray
            array[0] = 7.0
        assert isinstance(q.sum(), float)
        assert isinstance(q @ q, float)
        assert repr(q) == "array([0., 1., 0., 0., 0., 0., 0., 0.])"


def test_a_misspelt_attribute_is_an_error() -> None:
    tree = mbt.MultibodyTree()
    tree.finalize()
    context = tree.create_default_context()
    with pytest.raises(AttributeError, match="positions"):
        context.positions = [1.0]  # type: ignore[attr-defined]
