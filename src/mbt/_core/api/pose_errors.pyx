"""How far frames are from goals, in `mbt.functional`: from arrays to arrays, over any leading axes."""

cimport numpy as cnp

from mbt._core.algebra.records cimport Parameters
from mbt._core.algebra.vectors cimport numbers
from mbt._core.api.poses cimport are_poses, pose_errors, pose_on_mobod
from mbt._core.api.stateless cimport compiled_of
from mbt._core.api.tree_energy cimport TreeCore
from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.door.exact_arrays cimport adopt, apart, data, flag, is_array1, is_array2, meet, out1, out2
from mbt._core.engines.lane_engine cimport run_batch
from mbt._core.engines.leading_axes cimport Batch
from mbt._core.engines.state cimport check_positions
from mbt._core.model.structs cimport Model
from mbt._core.quantities cimport kernels
from mbt._core.quantities.table cimport FRAME_JACOBIAN, FRAME_POSE_IN_WORLD, MAX_INTEGERS

import numpy as np

from mbt._core.above import above
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


def pose_error(tree, q, frame, X_WG, *, jacobian=False, out=None):
    """Return the motion that takes a frame F to a goal G: ``e = log(X_WF^-1 X_WG)``, expressed in F.

    A frame that moves for one second with the spatial velocity ``e``, constant in its own axes, arrives at G.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    frame : Frame, RigidBody or str
        The frame F of the tree; a body stands for its body frame.
    X_WG : array_like, shape (..., 4, 4)
        The pose of the goal in World. Leading axes broadcast.
    jacobian : bool
        Whether to return ``de/dv`` too.
    out : ndarray, shape (..., 6), float64, C-contiguous, optional
        Written in place and returned. With `jacobian` a tuple of two such arrays of the shapes of the results,
        or None. Left untouched when an argument is rejected.

    Returns
    -------
    e : ndarray, shape (..., 6)
        Rotation vector [rad], of an angle of at most pi, then translation [m].
    J : ndarray, shape (..., 6, num_velocities)
        With `jacobian` only: ``edot = J v`` for a goal at rest, exact for errors of any size. At an angle of
        pi, where ``e`` jumps, it is the derivative of the ``e`` that is returned.

    Raises
    ------
    ForeignElementError
        When the frame is of another tree.
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type, or leading axes do not broadcast.
    ArgumentValueError
        When the goal is not a pose.
    SingularityError
        When a single state has a zero quaternion; in a batch that sample is NaN.

    Examples
    --------
    One step of Newton's method:

    >>> import numpy as np
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia(2.0, [0, 0, -0.5], np.diag([0.3, 0.3, 0.05]))))
    >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
    >>> tree.finalize()
    >>> goal = mbt.math.make_pose(rpy=[0, 0.5, 0])
    >>> e, J = mbt.functional.pose_error(tree, [0.2], rod, goal, jacobian=True)
    >>> e.round(3) + 0.0
    array([0. , 0.3, 0. , 0. , 0. , 0. ])
    >>> (np.array([0.2]) - np.linalg.pinv(J) @ e).round(6)
    array([0.5])
    """
    cdef CompiledModel compiled = compiled_of(tree)
    cdef bint with_jacobian = flag(jacobian, "jacobian")
    cdef int f = (<TreeCore>tree).frame(frame, "frame")
    goal = goal_of(X_WG)
    if compiled is None or not cnp.PyArray_CheckExact(goal):
        return above.pose_error_of_others(tree, q, frame, goal, with_jacobian, out)
    into_e, into_J = (out, None) if not with_jacobian else (None, None) if out is None else above.check_tuple(out, 2)
    cdef const Model* m = &compiled.model
    cdef double[16] X_WF
    cdef double* memory
    cdef int* path
    cdef Batch batch
    if not (is_array1(q, m.num_positions) and is_array2(goal, 4, 4)):
        batch = Batch(["q", "X_WG"], [q, goal], [(m.num_positions,), (4, 4)])
        if batch.shape:
            return of_batch(compiled, batch, f, with_jacobian, into_e, into_J)
        q, goal = batch.arrays
    if m.num_checked:
        check_positions(tree, compiled, data(q))
    e = out1(into_e, "out[0]" if with_jacobian else "out", 6)
    if not with_jacobian:
        goal = apart(goal, e)
        memory = kernels.get_work(m, m.num_bodies)
        path = <int*>(memory + kernels.work_size(m))
        kernels.frame_pose(m, &compiled.defaults.parameters, f, data(q), memory, path, X_WF)
        pose_errors(1, X_WF, data(goal), 0, data(e), 0, NULL)
        return e
    J = out2(into_J, "out[1]", 6, m.num_velocities)
    if into_J is not None:
        if meet(into_e, into_J):
            above.check_outputs(out, ((6,), (6, m.num_velocities)))
        q = apart(q, J)
        goal = apart(goal, J)
    goal = apart(goal, e)
    memory = kernels.get_work(m, m.num_bodies)
    path = <int*>(memory + kernels.work_size(m))
    kernels.frame_jacobian(m, &compiled.defaults.parameters, f, 0, data(q), NULL, memory, path, data(J))
    pose_on_path(m, &compiled.defaults.parameters, f, memory, X_WF)
    pose_errors(1, X_WF, data(goal), 0, data(e), m.num_velocities, data(J))
    return e, J


cdef void pose_on_path(
    const Model* m, const Parameters[double]* p, int frame, const double* X_WN, double* X_WF
) noexcept nogil:
    """X_WF from the poses of mobods that `frame_jacobian` leaves at the front of its working memory."""
    cdef int node = m.frame_node[frame]
    cdef int mobod = m.mobod[node]
    pose_on_mobod(X_WN + 16*mobod if mobod > 0 else NULL, numbers(p.X_NB[node].R), p.X_BF + 16*frame, X_WF)


cdef object goal_of(X_WG):
    """The goal, checked: poses of doubles, or of another scalar."""
    cdef cnp.npy_intp n
    if cnp.PyArray_CheckExact(X_WG) and cnp.PyArray_TYPE(X_WG) == cnp.NPY_DOUBLE and cnp.PyArray_ISCARRAY_RO(X_WG):
        n = cnp.PyArray_NDIM(X_WG)
        if n >= 2 and cnp.PyArray_DIM(X_WG, n - 1) == 4 and cnp.PyArray_DIM(X_WG, n - 2) == 4:
            if are_poses(data(X_WG), cnp.PyArray_SIZE(X_WG)//16):
                return X_WG
    return above.check_goal(X_WG)


cdef object of_batch(CompiledModel compiled, Batch batch, int f, bint with_jacobian, into_e, into_J):
    """Compute the kinematics in lanes, then the errors sample by sample."""
    cdef const Model* m = &compiled.model
    cdef Py_ssize_t nv = m.num_velocities
    cdef int[<int>MAX_INTEGERS] integers = [f, 0, 0, 0, 0]
    cdef double* into
    if with_jacobian:
        e, J = above.check_outputs((into_e, into_J), (batch.shape + (6,), batch.shape + (6, nv)))
        batch.keep_apart_from(e)
        batch.keep_apart_from(J)
    else:
        e, J = batch.output(into_e, (6,)), None
    q = batch.arrays[0]
    cdef Batch states = Batch(
        ["q"], [np.ascontiguousarray(np.broadcast_to(q, batch.shape + (m.num_positions,)))], [(m.num_positions,)]
    )
    X_WF = np.empty(batch.shape + (4, 4))
    run_batch(states, compiled, FRAME_POSE_IN_WORLD, integers, (X_WF,))
    into = NULL
    if with_jacobian:
        run_batch(states, compiled, FRAME_JACOBIAN, integers, (J,))
        into = data(J)
    cdef list held = batch.hold((e, J) if with_jacobian else (e,))
    cdef const double* poses = data(X_WF)
    cdef double* errors = data(e)
    with nogil:
        pose_errors(batch.count, poses, batch.operands[1].data, batch.operands[1].stride, errors, nv, into)
    del held
    return (e, J) if with_jacobian else e
