"""Kinematics that a Context has computed, and arrays that show them: returned arrays never change."""

cimport numpy as cnp
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.ref cimport PyObject
from libc.string cimport memcpy

from mbt._core.door.compiled_model cimport CompiledModel, Derived
from mbt._core.door.exact_arrays cimport MAX_AXES, adopt, data, is_array3
from mbt._core.engines.section cimport Section
from mbt._core.model.structs cimport Model
from mbt._core.quantities cimport kernels

import math

import numpy as np

from mbt._core.above import above
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject* o) nogil


cdef class Memory:

    def __cinit__(self, Py_ssize_t size):
        if size < 0:
            raise ValueError(f"size: expected a number >= 0, got {size}")
        self.size = size
        self.data = <double*>PyMem_Calloc(size, sizeof(double))
        if self.data == NULL:
            raise MemoryError(f"Unable to allocate {sizeof(double)*size} bytes for {size} entries")

    def __dealloc__(self):
        PyMem_Free(self.data)


cdef class PositionKinematicsCache:
    """Kinematics that depend on positions only. Arrays are read-only.

    Rows are in BodyNodeIndex order (World first), in FrameIndex order for `X_BF`, in velocity order for the motion
    axes. F and M are the inboard and outboard frames of a body's mobilizer, P is its parent body.
    """

    def __cinit__(self, CompiledModel compiled not None):
        self.compiled = compiled
        self.take_memory()

    def __reduce_ex__(self, protocol):
        refuse_copy(self)

    def __repr__(self):
        cdef const Model* m = &self.compiled.model
        return (
            f"<PositionKinematicsCache: {m.num_bodies} bodies, {m.num_frames} frames, {m.num_velocities} velocities>"
        )

    @property
    def _origin(self):
        """The inputs of this cache: serials of q, v and the parameters; q; the parameters. For `Context.explain`."""
        cdef Section alone
        alone.enter(self)
        cdef cnp.npy_intp[1] shape = [self.compiled.model.num_positions]
        serials = self.q_serial, 0, self.parameter_serial
        if self.derived is None:
            return serials, None, None
        return serials, view(self.memory, 1, shape, self.q_data).copy(), self.derived._source

    cdef take_memory(self):
        cdef const Model* m = &self.compiled.model
        cdef Py_ssize_t nb = m.num_bodies
        cdef Py_ssize_t nv = m.num_velocities
        self.memory = Memory(48*nb + 12*nv + m.num_positions)
        self._X_WB = None
        self.X_WB_data = self.memory.data
        self.X_FM_data = self.X_WB_data + 16*nb
        self.X_PB_data = self.X_FM_data + 16*nb
        self.H_FM_data = self.X_PB_data + 16*nb
        self.H_PB_W_data = self.H_FM_data + 6*nv
        self.q_data = self.H_PB_W_data + 6*nv

    cdef bint is_held(self):
        """Whether there are other references to an array of this memory."""
        if self._X_WB is None:
            return Py_REFCNT(<PyObject*>self.memory) > 1
        return Py_REFCNT(<PyObject*>self._X_WB) > 1 or Py_REFCNT(<PyObject*>self.memory) > 2

    cdef compute(
        self, Derived derived, const double* q, unsigned long long q_serial, unsigned long long parameter_serial
    ):
        """Compute poses in World, all that most callers need."""
        cdef Section alone
        alone.enter(self)
        cdef const Model* m = &self.compiled.model
        if self.is_held():
            self.take_memory()
        self.derived = derived
        memcpy(self.q_data, q, m.num_positions*sizeof(double))
        kernels.body_poses(m, &self.derived.parameters, self.q_data, kernels.get_work(m, 0), self.X_WB_data)
        self.is_complete = False
        self.q_serial = q_serial
        self.parameter_serial = parameter_serial

    cdef complete(self):
        """Compute the rest, at the positions of the poses."""
        cdef Section alone
        alone.enter(self)
        cdef const Model* m = &self.compiled.model
        if self.is_complete or self.derived is None:
            return
        kernels.complete_position_kinematics(
            m, &self.derived.parameters, self.q_data, self.X_WB_data, kernels.get_work(m, 0),
            self.X_FM_data, self.X_PB_data, self.H_FM_data, self.H_PB_W_data
        )
        self.is_complete = True

    @property
    def X_WB(self):
        """Pose of each body in World, (num_bodies, 4, 4)."""
        cdef Section alone
        alone.enter(self)
        cdef cnp.npy_intp num_bodies = self.compiled.model.num_bodies
        # A caller may have reshaped the array.
        if not (self._X_WB is not None and is_array3(self._X_WB, num_bodies, 4, 4)):
            self._X_WB = _poses(self.memory, num_bodies, self.X_WB_data)
        return self._X_WB

    @property
    def X_PB(self):
        """Pose of each body in its parent body, (num_bodies, 4, 4)."""
        cdef Section alone
        alone.enter(self)
        self.complete()
        return _poses(self.memory, self.compiled.model.num_bodies, self.X_PB_data)

    @property
    def X_FM(self):
        """Pose of each body's outboard frame in its inboard frame, (num_bodies, 4, 4)."""
        cdef Section alone
        alone.enter(self)
        self.complete()
        return _poses(self.memory, self.compiled.model.num_bodies, self.X_FM_data)

    @property
    def X_BF(self):
        """Pose of each frame in its body, (num_frames, 4, 4)."""
        cdef Section alone
        alone.enter(self)
        self._computed()
        return _poses(self.derived, self.compiled.model.num_frames, <double*>self.derived.parameters.X_BF)

    @property
    def H_FM(self):
        """Motion axes: velocity of M in F, in F, per unit of each velocity; (num_velocities, 6)."""
        cdef Section alone
        alone.enter(self)
        self.complete()
        return _rows6(self.memory, self.compiled.model.num_velocities, self.H_FM_data)

    @property
    def H_PB_W(self):
        """Motion axes: velocity of Bo in P, in World, per unit of each velocity; (num_velocities, 6)."""
        cdef Section alone
        alone.enter(self)
        self.complete()
        return _rows6(self.memory, self.compiled.model.num_velocities, self.H_PB_W_data)

    @property
    def com_W(self):
        """Position of each body's centre of mass from its origin, in World, (num_bodies, 3) [m]."""
        return self._inertias()[0]

    @property
    def M_Bo_W(self):
        """Spatial inertia of each body about its origin, in World, (num_bodies, 6, 6)."""
        return self._inertias()[1]

    def _computed(self):
        if self.derived is None:
            from mbt.errors import StaleCacheError
            raise StaleCacheError("this PositionKinematicsCache was never computed")
        return self

    def _inertias(self):
        cdef Section alone
        alone.enter(self)
        cdef Py_ssize_t nb = self.compiled.model.num_bodies
        self._computed()
        com = np.empty((nb, 3))
        M = np.empty((nb, 6, 6))
        kernels.spatial_inertias(
            &self.compiled.model, &self.derived.parameters, self.X_WB_data, data(com), data(M)
        )
        return _frozen(com), _frozen(M)


cdef class VelocityKinematicsCache:
    """Kinematics that depend on positions and velocities. Arrays are read-only, rows in BodyNodeIndex order."""

    def __cinit__(self, CompiledModel compiled not None):
        self.compiled = compiled
        self.take_memory()

    def __reduce_ex__(self, protocol):
        refuse_copy(self)

    def __repr__(self):
        return f"<VelocityKinematicsCache: {self.compiled.model.num_bodies} bodies>"

    @property
    def _origin(self):
        """Like that of `PositionKinematicsCache`, but with serials only."""
        return (self.q_serial, self.v_serial, self.parameter_serial), None, None

    cdef take_memory(self):
        cdef Py_ssize_t nb = self.compiled.model.num_bodies
        self.memory = Memory(18*nb)
        self.V_PB_W_data = self.memory.data
        self.V_PB_data = self.V_PB_W_data + 6*nb
        self.V_WB_data = self.V_PB_data + 6*nb

    cdef compute(self, PositionKinematicsCache pc, const double* v, unsigned long long v_serial):
        """Compute velocities, at the state of the position kinematics."""
        cdef Section alone
        alone.enter(self)
        if Py_REFCNT(<PyObject*>self.memory) > 1:
            self.take_memory()
        kernels.velocity_kinematics(
            &self.compiled.model, pc.X_WB_data, pc.H_PB_W_data, v,
            self.V_PB_W_data, self.V_PB_data, self.V_WB_data
        )
        self.q_serial = pc.q_serial
        self.v_serial = v_serial
        self.parameter_serial = pc.parameter_serial

    @property
    def V_WB(self):
        """Spatial velocity of each body in World, (num_bodies, 6) [rad/s, m/s]."""
        cdef Section alone
        alone.enter(self)
        return _rows6(self.memory, self.compiled.model.num_bodies, self.V_WB_data)

    @property
    def V_PB(self):
        """Spatial velocity of each body in its parent body, expressed in the parent, (num_bodies, 6)."""
        cdef Section alone
        alone.enter(self)
        return _rows6(self.memory, self.compiled.model.num_bodies, self.V_PB_data)

    @property
    def V_PB_W(self):
        """Spatial velocity of each body in its parent body, expressed in World, (num_bodies, 6)."""
        cdef Section alone
        alone.enter(self)
        return _rows6(self.memory, self.compiled.model.num_bodies, self.V_PB_W_data)


cdef class AccelerationKinematicsCache:
    """Kinematics that depend on positions, velocities and accelerations. Arrays are read-only.

    Attributes
    ----------
    A_WB : ndarray, shape (num_bodies, 6)
        Spatial acceleration of each body in World [rad/s^2, m/s^2].
    vdot : ndarray, shape (num_velocities,)
        Accelerations from which `A_WB` was computed.
    """

    def __init__(self, CompiledModel compiled, A_WB, vdot):
        self.compiled = compiled
        self.set(A_WB, vdot)

    cdef set(self, A_WB, vdot):
        """Set new arrays; arrays returned before are not changed."""
        self.A_WB = _frozen(A_WB)
        self.vdot = _frozen(vdot)

    def __reduce_ex__(self, protocol):
        refuse_copy(self)

    def __repr__(self):
        return f"<AccelerationKinematicsCache: {len(self.A_WB)} bodies, {len(self.vdot)} velocities>"


cdef refuse_copy(cache):
    above.raise_not_copyable(cache)


cdef _frozen(array):
    array.flags.writeable = False
    return array.view(ReadOnlyArray)


cdef _poses(object owner, cnp.npy_intp count, double* memory):
    cdef cnp.npy_intp[3] shape = [count, 4, 4]
    return view(owner, 3, shape, memory)


cdef _rows6(object owner, cnp.npy_intp count, double* memory):
    cdef cnp.npy_intp[2] shape = [count, 6]
    return view(owner, 2, shape, memory)


cdef class SampleVectors:
    """A vector for each sample of a batch, in memory that is reused when no array refers to it."""

    def __cinit__(self, tuple shape not None):
        cdef int i
        if len(shape) > MAX_AXES or any([extent < 0 for extent in shape]):
            raise ValueError(f"shape: expected at most {MAX_AXES} extents, none of them negative, got {shape}")
        self.ndim = len(shape)
        for i in range(self.ndim):
            self.shape[i] = shape[i]
        self.memory = Memory(math.prod(shape))

    @property
    def array(self):
        """All vectors, read-only, in the given shape."""
        cdef Section alone
        alone.enter(self)
        return view(self.memory, self.ndim, self.shape, self.memory.data)

    def set(self, values):
        """Set all vectors, or each to the same one."""
        cdef Section alone
        alone.enter(self)
        if Py_REFCNT(<PyObject*>self.memory) > 1:
            self.memory = Memory(self.memory.size)
        np.copyto(cnp.PyArray_SimpleNewFromData(self.ndim, self.shape, cnp.NPY_DOUBLE, self.memory.data), values)
