"""Motion in `mbt.functional`: of frames, of the centre of mass, and momentum."""

cimport numpy as cnp
from libc.string cimport memcpy, memset

from mbt._core.algebra.records cimport Parameters
from mbt._core.api.stateless cimport compiled_of
from mbt._core.api.stateless_kinematics cimport of_state, origin
from mbt._core.api.tree_energy cimport TreeCore
from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.door.exact_arrays cimport adopt, apart, data, is_array1, out1
from mbt._core.engines cimport double_engine
from mbt._core.engines.lane_engine cimport run_batch
from mbt._core.engines.leading_axes cimport Batch
from mbt._core.engines.state cimport check_positions
from mbt._core.model.structs cimport Model
from mbt._core.quantities cimport kernels
from mbt._core.quantities.table cimport (
    CENTER_OF_MASS, CENTER_OF_MASS_JACOBIAN, CENTER_OF_MASS_VELOCITY, CENTROIDAL_MOMENTUM_MATRIX, FRAME_VELOCITY,
    MAX_INTEGERS, MOMENTUM, MOMENTUM_REGRESSOR, REACTION_FORCES, SPATIAL_BIAS, describe, needs_velocities, no_integers,
)

import numpy as np

from mbt._core.above import above
from mbt._core.api.stateless_kinematics import center_of_mass
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

# For any scalar. The full name, since other model instances may have a frame called "world".
cdef str WORLD = "WorldModelInstance::world"


def frame_velocity(tree, q, v, frame, *, relative_to=None, expressed_in=None, out=None):
    """Return the spatial velocity V_MF of a frame's origin, measured in frame M.

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
    relative_to : Frame, RigidBody or str, optional
        The frame M in which the velocity is measured; by default World.
    expressed_in : Frame, RigidBody or str, optional
        The frame E whose axes it is expressed in; by default World.
    out : ndarray, shape (..., 6), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., 6)
        Angular velocity [rad/s], then the velocity of the origin [m/s].

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
    >>> mbt.functional.frame_velocity(tree, [0.0], [2.0], tip) + 0.0
    array([ 0.,  2.,  0., -2.,  0.,  0.])
    """
    return of_frames(tree, FRAME_VELOCITY, q, v, frame, relative_to, expressed_in, None, out)


def frame_bias_acceleration(tree, q, v, frame, *, relative_to=None, expressed_in=None, out=None):
    """Return ``Jdot v``: the spatial acceleration A_MF of a frame's origin at vdot = 0, measured in frame M.

    With J of `frame_jacobian`, for M = World, ``A_WF = J vdot + Jdot v``.

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
    relative_to : Frame, RigidBody or str, optional
        The frame M in which the acceleration is measured; by default World.
    expressed_in : Frame, RigidBody or str, optional
        The frame E whose axes it is expressed in; by default World.
    out : ndarray, shape (..., 6), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., 6)
        Angular acceleration [rad/s^2], then the acceleration of the origin [m/s^2].

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
    >>> mbt.functional.frame_bias_acceleration(tree, [0.0], [2.0], tip) + 0.0
    array([0., 0., 0., 0., 0., 4.])
    """
    return of_frames(tree, SPATIAL_BIAS, q, v, frame, relative_to, expressed_in, origin, out)


def center_of_mass_velocity(tree, q, v, *, out=None):
    """Return the velocity of the centre of mass of all bodies in World.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v : array_like, shape (..., num_velocities)
        Generalized velocities. Leading axes broadcast.
    out : ndarray, shape (..., 3), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., 3)
        v_WCcm [m/s].

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
    >>> mbt.functional.center_of_mass_velocity(tree, [0.0], [2.0]) + 0.0
    array([-1.,  0.,  0.])
    """
    return of_mass(
        tree, CENTER_OF_MASS_VELOCITY, q, v, out, "calc_center_of_mass_translational_velocity_in_world", (0,), {}
    )


def center_of_mass_jacobian(tree, q, *, out=None):
    """Return the Jacobian of the velocity of the centre of mass in World: ``v_WCcm = J v``.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    out : ndarray, shape (..., 3, num_velocities), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., 3, num_velocities)
        In World.

    Raises
    ------
    SingularityError
        When the tree has no mass, or a single state a zero quaternion; in a batch that sample is NaN.
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    """
    return of_mass(
        tree, CENTER_OF_MASS_JACOBIAN, q, None, out, "calc_jacobian_center_of_mass_translational_velocity",
        (0, 0, 0, 0), {"with_respect_to": "v", "frame_A": WORLD, "frame_E": WORLD},
    )


def centroidal_momentum_matrix(tree, q, *, out=None):
    """Return the centroidal momentum matrix: `spatial_momentum` is ``A v`` (Orin, Goswami 2008).

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    out : ndarray, shape (..., 6, num_velocities), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., 6, num_velocities)
        In World, angular rows first [kg m^2, kg m, kg].

    Raises
    ------
    SingularityError
        When the tree has no mass, or a single state a zero quaternion; in a batch that sample is NaN.
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    """
    return of_mass(tree, CENTROIDAL_MOMENTUM_MATRIX, q, None, out, "calc_centroidal_momentum_matrix", (), {})


def spatial_momentum(tree, q, v, *, out=None):
    """Return the momentum of all bodies about their centre of mass, in World.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v : array_like, shape (..., num_velocities)
        Generalized velocities. Leading axes broadcast.
    out : ndarray, shape (..., 6), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., 6)
        Angular momentum about the centre of mass [kg m^2/s], then linear momentum [kg m/s].

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
    >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia(2.0, [0, 0, -0.5], np.diag([0.6, 0.6, 0.05]))))
    >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
    >>> tree.finalize()
    >>> mbt.functional.spatial_momentum(tree, [0.0], [2.0]).round(3) + 0.0
    array([ 0. ,  1.4,  0. , -2. ,  0. ,  0. ])
    """
    cdef CompiledModel compiled = compiled_of(tree)
    cdef const Model* m
    cdef double[3] p_WCcm
    cdef Batch batch
    if compiled is None:
        return of_state(tree, compiled, MOMENTUM, no_integers, q, v, center_of_mass(tree, q), out)
    m = &compiled.model
    if not (is_array1(q, m.num_positions) and is_array1(v, m.num_velocities)):
        batch = Batch(["q", "v"], [q, v], [(m.num_positions,), (m.num_velocities,)])
        q, v = batch.arrays
        if batch.shape:
            return of_state(tree, compiled, MOMENTUM, no_integers, q, v, centers_of(compiled, q), out)
    find_center(tree, compiled, q, p_WCcm)
    out = out1(out, "out", 6)
    q = apart(q, out)
    v = apart(v, out)
    double_engine.evaluate_state(
        MOMENTUM, no_integers, m, &m.switches, &compiled.defaults.parameters, data(q), data(v), p_WCcm, data(out)
    )
    return out


def centroidal_momentum_bias(tree, q, v, *, out=None):
    """Return ``Adot v``: the rate of `spatial_momentum` at vdot = 0, with A of `centroidal_momentum_matrix`.

    ``A vdot + Adot v`` is the sum of all external forces, gravity and those that World exerts, with the torque about
    the centre of mass.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v : array_like, shape (..., num_velocities)
        Generalized velocities. Leading axes broadcast.
    out : ndarray, shape (..., 6), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., 6)
        In World: torque about the centre of mass [N m], then force [N].

    Raises
    ------
    SingularityError
        When the tree has no mass, or a single state a zero quaternion; in a batch that sample is NaN.
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.

    Examples
    --------
    A pendulum pulls at its pin:

    >>> import numpy as np
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia(2.0, [0, 0, -0.5], np.diag([0.6, 0.6, 0.05]))))
    >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
    >>> tree.finalize()
    >>> mbt.functional.centroidal_momentum_bias(tree, [0.0], [2.0]).round(12) + 0.0
    array([0., 0., 0., 0., 0., 4.])
    """
    cdef CompiledModel compiled = compiled_of(tree)
    if compiled is None:
        return above.centroidal_momentum_bias_of_others(tree, q, v, out)
    # Without applied forces, and without those of elements.
    cdef int[<int>MAX_INTEGERS] integers = [0, 0, 0, 0, 0]
    cdef const Model* m = &compiled.model
    cdef const Parameters[double]* p = &compiled.defaults.parameters
    cdef Py_ssize_t nv = m.num_velocities, size = 6*m.num_bodies
    cdef double[6] total
    cdef double[3] p_WCcm
    cdef double* memory
    cdef double* vdot
    cdef double* F_BMo_W
    cdef Batch batch
    if not (is_array1(q, m.num_positions) and is_array1(v, nv)):
        batch = Batch(["q", "v", "vdot"], [q, v, np.zeros(nv)], [(m.num_positions,), (nv,), (nv,)])
        if batch.shape:
            return momentum_bias_of_batch(compiled, batch, integers, out)
        q, v, _ = batch.arrays
    find_center(tree, compiled, q, p_WCcm)
    out = out1(out, "out", 6)
    memory = kernels.get_work(
        m, double_engine.count_state_memory(REACTION_FORCES, integers, m) - kernels.work_size(m) + size + nv
    )
    F_BMo_W = memory + double_engine.count_state_memory(REACTION_FORCES, integers, m)
    vdot = F_BMo_W + size
    memset(vdot, 0, nv*sizeof(double))
    double_engine.evaluate_state_in(
        REACTION_FORCES, integers, m, &m.switches, p, data(q), data(v), vdot, memory, F_BMo_W
    )
    move_to_center(F_BMo_W, p_WCcm, total)
    memcpy(data(out), total, 6*sizeof(double))
    return out


def momentum_regressor(tree, q, v, *, p_WoP_W=None, out=None):
    """Return Y(q, v) with ``Y pi`` the momentum of all bodies about a point P, pi their inertial parameters.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v : array_like, shape (..., num_velocities)
        Generalized velocities. Leading axes broadcast.
    p_WoP_W : array_like, shape (..., 3), optional
        The point, in World [m]; by default World's origin.
    out : ndarray, shape (..., 6, 10 (num_bodies - 1)), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., 6, 10 (num_bodies - 1))
        Angular rows first. Columns in the order of `MultibodyTree.get_inertial_parameters`.

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a single state has a zero quaternion; in a batch that sample is NaN.
    """
    cdef CompiledModel compiled = compiled_of(tree)
    point = origin if p_WoP_W is None else p_WoP_W
    return of_state(tree, compiled, MOMENTUM_REGRESSOR, no_integers, q, v, point, out)


cdef int find_center(tree, CompiledModel compiled, q, double* p_WCcm) except -1:
    """Find the centre of mass of one state."""
    cdef const Model* m = &compiled.model
    cdef double mass
    if m.num_checked:
        check_positions(tree, compiled, data(q))
    kernels.center_of_mass(m, &compiled.defaults.parameters, data(q), kernels.get_work(m, 0), &mass, p_WCcm)
    if mass == 0.0:
        above.raise_no_mass(tree, None)
    return 0


cdef void move_to_center(const double* F_Wo, const double* p_WoCcm, double* F_Ccm) noexcept nogil:
    """Move the sum of all inertial forces from World's origin to the centre of mass: t - p × f, f."""
    cdef const double* f = F_Wo + 3
    cdef const double* p = p_WoCcm
    F_Ccm[0] = F_Wo[0] - (p[1]*f[2] - p[2]*f[1])
    F_Ccm[1] = F_Wo[1] - (p[2]*f[0] - p[0]*f[2])
    F_Ccm[2] = F_Wo[2] - (p[0]*f[1] - p[1]*f[0])
    memcpy(F_Ccm + 3, f, 3*sizeof(double))


cdef object centers_of(CompiledModel compiled, q):
    """Centres of mass of several states, or of one in a batch: NaN where there is none."""
    cdef Batch states = Batch(["q"], [q], [(compiled.model.num_positions,)])
    centers = np.empty(states.shape + (3,))
    run_batch(states, compiled, CENTER_OF_MASS, no_integers, (centers,))
    return centers


cdef object momentum_bias_of_batch(CompiledModel compiled, Batch batch, const int* integers, out):
    cdef Py_ssize_t i, size = 6*compiled.model.num_bodies
    out = batch.output(out, (6,))
    forces = np.empty(batch.shape + (compiled.model.num_bodies, 6))
    run_batch(batch, compiled, REACTION_FORCES, integers, (forces,))
    centers = np.ascontiguousarray(np.broadcast_to(centers_of(compiled, batch.arrays[0]), batch.shape + (3,)))
    for i in range(batch.count):
        move_to_center(data(forces) + size*i, data(centers) + 3*i, data(out) + 6*i)
    return out


cdef object of_frames(tree, int quantity, q, v, frame, relative_to, expressed_in, point, out):
    cdef CompiledModel compiled = compiled_of(tree)
    cdef int[5] integers = [(<TreeCore>tree).frame(frame, "frame"), 0, 0, 0, 0]
    if relative_to is not None:
        integers[1] = (<TreeCore>tree).frame(relative_to, "relative_to")
    if expressed_in is not None:
        integers[2] = (<TreeCore>tree).frame(expressed_in, "expressed_in")
    return of_state(tree, compiled, quantity, integers, q, v, point, out)


cdef object of_mass(tree, int quantity, q, v, out, str method, tuple integers, dict options):
    """A quantity divided by the mass of the tree; without mass, an error for a single state."""
    cdef CompiledModel compiled = compiled_of(tree)
    cdef double mass = 0.0
    cdef int b
    if compiled is None:
        operands = {"q": q, "v": v} if needs_velocities(quantity) else {"q": q}
        return above.of_each_state(tree, quantity, operands, out, method, integers, **options)
    for b in range(1, compiled.model.num_bodies):
        mass += compiled.defaults.parameters.mass[b]
    if mass == 0.0:
        found = of_state(tree, compiled, quantity, no_integers, q, v, None, None)
        if found.ndim == describe(quantity).num_axes:
            above.raise_no_mass(tree, None)
    return of_state(tree, compiled, quantity, no_integers, q, v, None, out)
