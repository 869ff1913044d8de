"""Kinematics in `mbt.functional`: from arrays to arrays, without a Context, over any leading axes."""

cimport numpy as cnp

from mbt._core.api.stateless cimport compiled_of, of_q
from mbt._core.api.tree_energy cimport TreeCore
from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.door.exact_arrays cimport adopt, apart, data, is_array1, out1, out2
from mbt._core.engines cimport double_engine
from mbt._core.engines.lane_engine cimport run_batch
from mbt._core.engines.leading_axes cimport Batch
from mbt._core.engines.section cimport Section, publish
from mbt._core.engines.state cimport check_positions
from mbt._core.model.structs cimport Model
from mbt._core.quantities cimport kernels
from mbt._core.quantities.table cimport (
    BODY_POSES, CENTER_OF_MASS, FRAME_JACOBIAN, FRAME_POSE_IN_WORLD, MAX_INTEGERS, OPERATIONAL_SPACE_INERTIA,
    OPERATIONAL_SPACE_INVERSE_INERTIA, SPATIAL_JACOBIAN_RATE, Sizes, describe, needs_velocities, shape_tuple, sizes_of,
)

import numpy as np

from mbt._core.above import above
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


def body_poses(tree, q, *, out=None):
    """Return the pose X_WB of every body in World.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    out : ndarray, shape (..., num_bodies, 4, 4), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., num_bodies, 4, 4)
        Homogeneous matrices, rows in BodyNodeIndex order; row 0 is World.
    """
    cdef CompiledModel compiled = compiled_of(tree)
    if compiled is None:
        return above.of_each_state(tree, BODY_POSES, {"q": q}, out)
    cdef const Model* m = &compiled.model
    return of_q(tree, compiled, kernels.body_poses, BODY_POSES, q, out, 3, m.num_bodies, 4, 4)


def frame_pose(tree, q, frame, *, out=None):
    """Return the pose X_WF of a frame in World.

    Computes only bodies inboard of the frame, so for one frame it is faster than `body_poses`.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    frame : Frame, RigidBody or str
        A frame of the tree; a body stands for its body frame.
    out : ndarray, shape (..., 4, 4), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., 4, 4)
        Homogeneous matrices.

    Raises
    ------
    ForeignElementError
        When the frame is of another tree.
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a single state has a zero quaternion; in a batch that sample is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia(2.0, [0, 0, -0.5], np.diag([0.3, 0.3, 0.05]))))
    >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
    >>> tip = tree.add_frame(mbt.FixedOffsetFrame("tip", rod, mbt.math.make_pose([0, 0, -1])))
    >>> tree.finalize()
    >>> mbt.functional.frame_pose(tree, [[0.0], [np.pi / 2]], tip)[:, :3, 3].round(3) + 0.0
    array([[ 0.,  0., -1.],
           [-1.,  0.,  0.]])
    """
    cdef CompiledModel compiled = compiled_of(tree)
    cdef int f = (<TreeCore>tree).frame(frame, "frame")
    if compiled is None:
        return above.of_each_state(tree, FRAME_POSE_IN_WORLD, {"q": q}, out, integers=(f,))
    cdef const Model* m = &compiled.model
    cdef double* memory
    cdef Batch batch
    if not is_array1(q, m.num_positions):
        batch = Batch(["q"], [q], [(m.num_positions,)])
        if batch.shape:
            return run(batch, compiled, FRAME_POSE_IN_WORLD, f, 0, out)
        q = batch.arrays[0]
    if m.num_checked:
        check_positions(tree, compiled, data(q))
    out = out2(out, "out", 4, 4)
    q = apart(q, out)
    memory = kernels.get_work(m, m.num_bodies)
    kernels.frame_pose(
        m, &compiled.defaults.parameters, f, data(q), memory, <int*>(memory + kernels.work_size(m)), data(out)
    )
    return out


# Found at the first use, because `mbt.tree` imports modules like this one.
cdef object frame_types = None


cdef bint is_frame(object x) except -1:
    if frame_types is None:
        find_frame_types()
    return isinstance(x, frame_types)


cdef int find_frame_types() except -1:
    """The first of several threads sets them, for good: others may already use them."""
    global frame_types
    types = (above.Frame, above.RigidBody)
    publish()
    cdef Section alone
    alone.enter(above)
    if frame_types is None:
        frame_types = types
    return 0


cdef warn_of_old_order():
    import warnings
    # Compiled functions have no Python frame: the warning points to the caller's line.
    warnings.warn(
        "frame_jacobian(tree, frame, q) is deprecated: write frame_jacobian(tree, q, frame); version 0.4 removes the "
        "old order", DeprecationWarning
    )


def frame_jacobian(tree, q, frame, *, expressed_in=None, out=None):
    """Return the Jacobian of a frame's spatial velocity in World, at the frame origin: ``V_WF = J v``.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    frame : Frame, RigidBody or str
        A frame of the tree; a body stands for its body frame.
    expressed_in : Frame, RigidBody or str, optional
        The frame E whose axes the velocity is expressed in; by default World.
    out : ndarray, shape (..., 6, num_velocities), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., 6, num_velocities)
        Angular rows first.

    Raises
    ------
    ForeignElementError
        When a frame is of another tree.
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a single state has a zero quaternion; in a batch that sample is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia(2.0, [0, 0, -0.5], np.diag([0.3, 0.3, 0.05]))))
    >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
    >>> tip = tree.add_frame(mbt.FixedOffsetFrame("tip", rod, mbt.math.make_pose([0, 0, -1])))
    >>> tree.finalize()
    >>> mbt.functional.frame_jacobian(tree, [np.pi / 2], tip).round(3).ravel() + 0.0
    array([0., 1., 0., 0., 0., 1.])
    >>> mbt.functional.frame_jacobian(tree, [np.pi / 2], tip, expressed_in=tip).round(3).ravel() + 0.0
    array([ 0.,  1.,  0., -1.,  0.,  0.])
    """
    cdef CompiledModel compiled = compiled_of(tree)
    cdef bint is_exact = compiled is not None and is_array1(q, compiled.model.num_positions)
    if not is_exact and is_frame(q) and not is_frame(frame):
        warn_of_old_order()
        return frame_jacobian(tree, frame, q, expressed_in=expressed_in, out=out)
    cdef int f = (<TreeCore>tree).frame(frame, "frame")
    cdef int e = 0 if expressed_in is None else (<TreeCore>tree).frame(expressed_in, "expressed_in")
    if compiled is None:
        return above.of_each_state(tree, FRAME_JACOBIAN, {"q": q}, out, integers=(f, e, 0, 0))
    cdef const Model* m = &compiled.model
    cdef Py_ssize_t nv = m.num_velocities
    cdef double* memory
    cdef Batch batch
    if not is_exact:
        batch = Batch(["q"], [q], [(m.num_positions,)])
        if batch.shape:
            return run(batch, compiled, FRAME_JACOBIAN, f, e, out)
        q = batch.arrays[0]
    if m.num_checked:
        check_positions(tree, compiled, data(q))
    out = out2(out, "out", 6, nv)
    q = apart(q, out)
    memory = kernels.get_work(m, m.num_bodies)
    kernels.frame_jacobian(
        m, &compiled.defaults.parameters, f, e, data(q), NULL, memory, <int*>(memory + kernels.work_size(m)), data(out)
    )
    return out


def center_of_mass(tree, q, *, out=None):
    """Return the position of the centre of mass of all bodies from World's origin, in World.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    out : ndarray, shape (..., 3), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., 3)
        p_WCcm [m].

    Raises
    ------
    SingularityError
        When the tree has no mass, or a single state a zero quaternion; in a batch that sample is NaN.
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.

    Examples
    --------
    >>> import numpy as np
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia(2.0, [0, 0, -0.5], np.diag([0.3, 0.3, 0.05]))))
    >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
    >>> tree.finalize()
    >>> mbt.functional.center_of_mass(tree, [[0.0], [np.pi / 2]]).round(3) + 0.0
    array([[ 0. ,  0. , -0.5],
           [-0.5,  0. ,  0. ]])
    """
    cdef CompiledModel compiled = compiled_of(tree)
    if compiled is None:
        return above.of_each_state(tree, CENTER_OF_MASS, {"q": q}, out, "calc_center_of_mass_position_in_world")
    cdef const Model* m = &compiled.model
    cdef double mass
    cdef double[3] p_WCcm
    cdef Batch batch
    cdef int i
    if not is_array1(q, m.num_positions):
        batch = Batch(["q"], [q], [(m.num_positions,)])
        if batch.shape:
            return run(batch, compiled, CENTER_OF_MASS, 0, 0, out)
        q = batch.arrays[0]
    if m.num_checked:
        check_positions(tree, compiled, data(q))
    kernels.center_of_mass(m, &compiled.defaults.parameters, data(q), kernels.get_work(m, 0), &mass, p_WCcm)
    if mass == 0.0:
        above.raise_no_mass(tree, None)
    out = out1(out, "out", 3)
    for i in range(3):
        data(out)[i] = p_WCcm[i]
    return out


def frame_jacobian_rate(tree, q, v, frame, *, expressed_in=None, out=None):
    """Return the time derivative of `frame_jacobian` in World: ``A_WF = J vdot + Jdot v``.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v : array_like, shape (..., num_velocities)
        Generalized velocities. Leading axes broadcast.
    frame : Frame, RigidBody or str
        A frame of the tree; a body stands for its body frame.
    expressed_in : Frame, RigidBody or str, optional
        The frame E whose axes it is expressed in; by default World. The derivative is taken in World.
    out : ndarray, shape (..., 6, num_velocities), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., 6, num_velocities)
        Angular rows first [1/s, m/s].

    Raises
    ------
    ForeignElementError
        When a frame is of another tree.
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a single state has a zero quaternion; in a batch that sample is NaN.
    """
    cdef CompiledModel compiled = compiled_of(tree)
    cdef int[5] integers = [(<TreeCore>tree).frame(frame, "frame"), 0, 0, 0, 0]
    if expressed_in is not None:
        integers[2] = (<TreeCore>tree).frame(expressed_in, "expressed_in")
    return of_state(tree, compiled, SPATIAL_JACOBIAN_RATE, integers, q, v, origin, out)


def operational_space_inertia(tree, q, frame, *, expressed_in=None, out=None):
    """Return ``(J M^-1 J')^-1`` of a frame, with J of `frame_jacobian` (Khatib 1987).

    M is the mass matrix of the tree alone, without constraints.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    frame : Frame, RigidBody or str
        A frame of the tree; a body stands for its body frame.
    expressed_in : Frame, RigidBody or str, optional
        The frame E whose axes accelerations and forces are expressed in; by default World.
    out : ndarray, shape (..., 6, 6), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., 6, 6)
        ``[torque; force]`` at the frame origin per ``[alpha; a]`` [kg m^2, kg m, kg].

    Raises
    ------
    ForeignElementError
        When a frame is of another tree.
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When the frame of a single state cannot move with six independent velocities, a degree of
        freedom has no inertia, or the state has a zero quaternion; in a batch that sample is NaN.
    """
    return of_frame_in_space(tree, OPERATIONAL_SPACE_INERTIA, q, frame, expressed_in, out)


def operational_space_inverse_inertia(tree, q, frame, *, expressed_in=None, out=None):
    """Return ``J M^-1 J'`` of a frame, with J of `frame_jacobian`: the inverse of `operational_space_inertia`.

    It is defined even where the frame cannot move with six independent velocities.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    frame : Frame, RigidBody or str
        A frame of the tree; a body stands for its body frame.
    expressed_in : Frame, RigidBody or str, optional
        The frame E whose axes accelerations and forces are expressed in; by default World.
    out : ndarray, shape (..., 6, 6), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., 6, 6)
        ``[alpha; a]`` per ``[torque; force]`` at the frame origin [1/(kg m^2), 1/(kg m), 1/kg].

    Raises
    ------
    ForeignElementError
        When a frame is of another tree.
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a degree of freedom of a single state has no inertia, or the state has a zero quaternion; in a batch that
        sample is NaN.
    """
    return of_frame_in_space(tree, OPERATIONAL_SPACE_INVERSE_INERTIA, q, frame, expressed_in, out)


cdef object of_frame_in_space(tree, int quantity, q, frame, expressed_in, out):
    cdef CompiledModel compiled = compiled_of(tree)
    cdef int[5] integers = [(<TreeCore>tree).frame(frame, "frame"), 0, 0, 0, 0]
    if expressed_in is not None:
        integers[1] = (<TreeCore>tree).frame(expressed_in, "expressed_in")
    return of_state(tree, compiled, quantity, integers, q, None, None, out)


cdef object of_state(tree, CompiledModel compiled, int quantity, const int* integers, q, v, point, out):
    """A matrix or vector that depends on q, and possibly on v and a point."""
    if compiled is None:
        return of_other_scalar(tree, quantity, integers, q, v, point, out)
    cdef const Model* m = &compiled.model
    cdef Sizes sizes = sizes_of(quantity, integers, m)
    cdef bint with_v = needs_velocities(quantity)
    cdef int singular
    cdef Batch batch
    if not (
        is_array1(q, m.num_positions) and (not with_v or is_array1(v, m.num_velocities))
        and (sizes.input == 0 or is_array1(point, 3))
    ):
        batch = operands_of(m, q, v if with_v else no_numbers, point if sizes.input else no_numbers)
        if batch.shape:
            return run_integers(batch, compiled, quantity, integers, out)
        q, v, point = batch.arrays
    if m.num_checked:
        check_positions(tree, compiled, data(q))
    if sizes.num_axes == 1:
        out = out1(out, "out", sizes.shape[0])
    else:
        out = out2(out, "out", sizes.shape[0], sizes.shape[1])
    q = apart(q, out)
    if with_v:
        v = apart(v, out)
    if sizes.input:
        point = apart(point, out)
    singular = double_engine.evaluate_state(
        quantity, integers, m, &m.switches, &compiled.defaults.parameters, data(q),
        <const double*>data(v) if with_v else <const double*>NULL,
        <const double*>data(point) if sizes.input else <const double*>NULL, data(out)
    )
    if singular >= 0:
        above.raise_singular_pivot(tree, singular)
    return out


cdef Batch operands_of(const Model* m, q, v, point):
    """The operands of a batch; those not needed are empty."""
    cdef Py_ssize_t num_v = 0 if v is no_numbers else m.num_velocities
    cdef Py_ssize_t num_p = 0 if point is no_numbers else 3
    return Batch(["q", "v", "p_WoP_W"], [q, v, point], [(m.num_positions,), (num_v,), (num_p,)])


cdef object of_other_scalar(tree, int quantity, const int* integers, q, v, point, out):
    cdef int i
    numbers = tuple([integers[i] for i in range(describe(quantity).num_integers)])
    operands = {"q": q}
    if needs_velocities(quantity):
        operands["v"] = v
    if point is not None:
        operands["p_WoP_W"] = point
    return above.of_each_state(tree, quantity, operands, out, integers=numbers)


cdef object origin = np.zeros(3)
origin.flags.writeable = False
cdef object no_numbers = np.empty(0)


cdef object run(Batch batch, CompiledModel compiled, int quantity, int frame, int frame_E, object out):
    """Run a batch."""
    cdef int[<int>MAX_INTEGERS] integers = [frame, frame_E, 0, 0, 0]
    return run_integers(batch, compiled, quantity, integers, out)


cdef object run_integers(Batch batch, CompiledModel compiled, int quantity, const int* integers, object out):
    cdef Sizes sizes = sizes_of(quantity, integers, &compiled.model)
    out = batch.output(out, shape_tuple(&sizes))
    run_batch(batch, compiled, quantity, integers, (out,))
    return out
