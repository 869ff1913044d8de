"""Poses and mass properties of a robot description: from its numbers to the arrays of an element."""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.math cimport cos, fabs, isfinite, sin
from libc.string cimport memset

from mbt._core.door.exact_arrays cimport adopt, data, in1, in2, new1, new2
from mbt._core.door.xml_elements cimport XmlElement

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

cdef enum:
    # More than any shape has.
    MAX_NUMBERS = 4


cdef object frozen(object array):
    """Return an array that nobody writes any more."""
    cnp.PyArray_CLEARFLAGS(array, cnp.NPY_ARRAY_WRITEABLE)
    return array


cdef void set_pose(const double* placement, double* X) noexcept:
    """X of a position, and of roll, pitch and yaw: the rotation is Rz(yaw) Ry(pitch) Rx(roll)."""
    cdef const double* rpy = placement + 3
    cdef double cr, sr, cp, sp, cy, sy
    cdef int i
    memset(X, 0, 16*sizeof(double))
    for i in range(3):
        X[5*i] = 1.0
        X[4*i + 3] = placement[i]
    X[15] = 1.0
    if rpy[0] == 0.0 and rpy[1] == 0.0 and rpy[2] == 0.0:
        return
    cr, sr = cos(rpy[0]), sin(rpy[0])
    cp, sp = cos(rpy[1]), sin(rpy[1])
    cy, sy = cos(rpy[2]), sin(rpy[2])
    X[0], X[1], X[2] = cy*cp, cy*sp*sr - sy*cr, cy*sp*cr + sy*sr
    X[4], X[5], X[6] = sy*cp, sy*sp*sr + cy*cr, sy*sp*cr - cy*sr
    X[8], X[9], X[10] = -sp, cp*sr, cp*cr


cdef bint read_placement(XmlElement element, double* placement, unsigned long long* taken) except -1:
    """Read what is there of ``xyz`` and ``rpy``; return whether that is plain text and all there is of a pose."""
    cdef int k = 0, i
    memset(placement, 0, 6*sizeof(double))
    taken[0] = 0
    if element._attributes is not None or element.find("quat_xyzw") >= 0:
        return False
    for name in ("xyz", "rpy"):
        i = element.find(name)
        if i >= 0:
            if not element.read_numbers(i, 3, placement + k):
                return False
            taken[0] |= 1ULL << i
        k += 3
    return True


def take_plain_placement(XmlElement element not None):
    """Remove ``xyz`` and ``rpy`` from an element and return their six doubles in bytes; zero where one is not there.

    None, and nothing taken, where they are not plain text, or not all that says a pose.
    """
    cdef double[6] placement
    cdef unsigned long long taken
    if not read_placement(element, placement, &taken):
        return None
    element._taken |= taken
    return PyBytes_FromStringAndSize(<char*>placement, sizeof(placement))


def make_pose_of_placement(bytes placement not None):
    """Return the pose, shape (4, 4), read-only, of a position and roll, pitch and yaw: six doubles in bytes."""
    if PyBytes_GET_SIZE(placement) != 6*sizeof(double):
        raise ValueError("placement: expected six doubles")
    X = new2(4, 4)
    set_pose(<const double*>PyBytes_AS_STRING(placement), data(X))
    return frozen(X)


cdef XmlElement find_only(XmlElement element, str tag, bint* is_only):
    """Return the child of a tag, or None; `is_only` becomes false where there are several."""
    cdef XmlElement child, found = None
    for child in element.children:
        if child.tag == tag:
            is_only[0] = is_only[0] and found is None
            found = child
    return found


def take_plain_shape(
    XmlElement element not None, dict kinds not None, dict attributes not None
):
    """Remove geometry and pose from a ``<visual>`` or ``<collision>`` of URDF; return kind, size, pose and mesh.

    Size is a tuple, the pose as `take_plain_placement` returns it, and mesh the place of one, or None. None, and
    nothing taken, where something is not plain text, missing, there twice, or no shape.

    Parameters
    ----------
    kinds : dict of str to str
        Kinds of shapes, by the tag inside ``<geometry>``.
    attributes : dict of str to tuple of str
        The attributes that hold the numbers of a kind, one each; those of a box are three in one.
    """
    cdef double[MAX_NUMBERS] numbers
    cdef double[6] placement
    cdef unsigned long long taken = 0, of_origin = 0
    cdef bint is_only = True
    cdef int i, k, count = 0
    cdef XmlElement geometry = find_only(element, "geometry", &is_only), origin = find_only(element, "origin", &is_only)
    cdef XmlElement shape
    if not is_only or geometry is None or not geometry.children:
        return None
    shape = geometry.children[0]
    kind = kinds.get(shape.tag)
    if kind is None or shape._attributes is not None:
        return None
    mesh = None
    if kind == "mesh":
        i = shape.find("filename")
        if i < 0:
            return None
        mesh = shape.text_of(i).strip()
        taken, count = 1ULL << i, 3
        numbers[0] = numbers[1] = numbers[2] = 1.0
        i = shape.find("scale")
        if i >= 0:
            taken |= 1ULL << i
            if not shape.read_numbers(i, 3, numbers):
                return None
        if not mesh or numbers[0] == 0.0 or numbers[1] == 0.0 or numbers[2] == 0.0:
            return None
    elif kind == "box":
        i, count = shape.find("size"), 3
        if not shape.read_numbers(i, 3, numbers):
            return None
        taken = 1ULL << i
    else:
        for name in <tuple>attributes[kind]:
            i = shape.find(name)
            if not shape.read_numbers(i, 1, numbers + count):
                return None
            taken |= 1ULL << i
            count += 1
    for k in range(count):
        if numbers[k] < 0.0 and mesh is None:
            return None
    if origin is not None:
        if not read_placement(origin, placement, &of_origin):
            return None
        origin._taken |= of_origin
        origin.is_read = True
    else:
        memset(placement, 0, sizeof(placement))
    geometry.is_read = shape.is_read = True
    shape._taken |= taken
    size = tuple([numbers[k] for k in range(count)])
    return kind, size, PyBytes_FromStringAndSize(<char*>placement, sizeof(placement)), mesh


cdef bint is_clearly_possible(double mass, const double* p, const double* G) noexcept:
    """`SpatialInertia._is_clearly_possible`: twice the second moments per mass have positive leading minors."""
    cdef double jx = G[1] + G[2] - G[0] - 2.0*p[0]*p[0]
    cdef double jy = G[0] + G[2] - G[1] - 2.0*p[1]*p[1]
    cdef double jz = G[0] + G[1] - G[2] - 2.0*p[2]*p[2]
    cdef double jxy = -2.0*(G[3] + p[0]*p[1]), jxz = -2.0*(G[4] + p[0]*p[2]), jyz = -2.0*(G[5] + p[1]*p[2])
    cdef double minor = jx*jy - jxy*jxy
    cdef double det = jz*minor - jx*jyz*jyz - jy*jxz*jxz + 2.0*jxy*jxz*jyz
    return (
        mass > 0.0 and isfinite(mass*(G[0] + G[1] + G[2])) and jx > 0.0 and minor > 0.0 and det > 0.0 and isfinite(det)
    )


cdef tuple calc_inertia_in_body(double mass, const double* X, const double* I):
    """`move_inertia_to_body`; `I` are the moments xx yy zz xy xz yz about the mass centre, in the frame at X."""
    cdef double ax, ay, az, dx, dy, dz, gx, gy, gz, mx, my, mz, moment = 0.0
    cdef double xx = I[0], yy = I[1], zz = I[2], xy = I[3], xz = I[4], yz = I[5]
    cdef double x = X[3], y = X[7], z = X[11]
    cdef double* p
    cdef double* G
    cdef int k
    if not (X[0] == 1.0 and X[5] == 1.0 and X[10] == 1.0):
        # I_SScm_B = R_BI I_SScm_I R_BI^T, by its rows R_BI I_SScm_I.
        ax, ay, az = X[0]*xx + X[1]*xy + X[2]*xz, X[0]*xy + X[1]*yy + X[2]*yz, X[0]*xz + X[1]*yz + X[2]*zz
        dx, dy, dz = X[4]*xx + X[5]*xy + X[6]*xz, X[4]*xy + X[5]*yy + X[6]*yz, X[4]*xz + X[5]*yz + X[6]*zz
        gx, gy, gz = X[8]*xx + X[9]*xy + X[10]*xz, X[8]*xy + X[9]*yy + X[10]*yz, X[8]*xz + X[9]*yz + X[10]*zz
        xx, yy, zz = ax*X[0] + ay*X[1] + az*X[2], dx*X[4] + dy*X[5] + dz*X[6], gx*X[8] + gy*X[9] + gz*X[10]
        xy, xz, yz = ax*X[4] + ay*X[5] + az*X[6], ax*X[8] + ay*X[9] + az*X[10], dx*X[8] + dy*X[9] + dz*X[10]
    # I_SBo = I_SScm + m (|p|^2 1 - p p^T)
    mx, my, mz = mass*x, mass*y, mass*z
    com, components = new1(3), new1(6)
    p, G = data(com), data(components)
    p[0], p[1], p[2] = x, y, z
    G[0], G[1], G[2] = xx + (my*y + mz*z), yy + (mx*x + mz*z), zz + (mx*x + my*y)
    G[3], G[4], G[5] = xy - mx*y, xz - mx*z, yz - my*z
    for k in range(6):
        moment += fabs(G[k])
        if mass != 0.0:
            G[k] /= mass
    is_possible = is_clearly_possible(mass, p, G) or mass == 0.0 and moment == 0.0
    return frozen(com), frozen(components), moment, is_possible


def move_inertia_to_body(double mass, X_BI not None, I_SScm_I not None):
    """Return the mass centre p_BoBcm_B, shape (3,), and the unit inertia G_SBo_B of an inertia about it.

    Also a moment that no entry of the rotational inertia exceeds, and whether a body clearly can have this. Without a
    mass the second is the rotational inertia. Arrays are read-only.

    Parameters
    ----------
    mass : float
        Mass [kg].
    X_BI : ndarray, shape (4, 4)
        Pose of a frame I whose origin is the mass centre.
    I_SScm_I : array_like, shape (6,)
        Moments and products xx yy zz xy xz yz about the mass centre, expressed in I [kg m^2].
    """
    X, I = in2(X_BI, "X_BI", 4, 4), in1(I_SScm_I, "I_SScm_I", 6)
    return calc_inertia_in_body(mass, data(X), data(I))


def take_plain_inertia(XmlElement mass not None, XmlElement inertia not None, XmlElement origin):
    """Remove mass, inertia and pose from elements of URDF and return their 13 doubles in bytes.

    They are the mass, position, roll, pitch and yaw, and moments and products as `move_inertia_to_body` takes them.
    None, and nothing taken, where they are not plain text, one is missing, or the mass is negative.
    """
    cdef double[13] numbers
    cdef unsigned long long of_origin = 0, of_inertia = 0
    cdef int k = 7, i, of_mass
    if mass._attributes is not None or inertia._attributes is not None:
        return None
    of_mass = mass.find("value")
    if not mass.read_numbers(of_mass, 1, numbers) or numbers[0] < 0.0:
        return None
    for name in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"):
        i = inertia.find(name)
        if not inertia.read_numbers(i, 1, &numbers[k]):
            return None
        of_inertia |= 1ULL << i
        k += 1
    if origin is None:
        memset(numbers + 1, 0, 6*sizeof(double))
    elif not read_placement(origin, numbers + 1, &of_origin):
        return None
    else:
        origin._taken |= of_origin
    mass._taken |= 1ULL << of_mass
    inertia._taken |= of_inertia
    return PyBytes_FromStringAndSize(<char*>numbers, sizeof(numbers))


def move_plain_inertia_to_body(bytes numbers not None):
    """Return the mass, and what `move_inertia_to_body` does, of what `take_plain_inertia` returned."""
    cdef double[16] X
    cdef const double* x = <const double*>PyBytes_AS_STRING(numbers)
    if PyBytes_GET_SIZE(numbers) != 13*sizeof(double):
        raise ValueError("numbers: expected 13 doubles")
    set_pose(x + 1, X)
    return (x[0], *calc_inertia_in_body(x[0], X, x + 7))
