import numpy.typing as npt

from mbt._core.door.xml_elements import XmlElement
from mbt.math.arrays import FloatArray

def take_plain_placement(element: XmlElement) -> bytes | None:
    """Remove ``xyz`` and ``rpy`` from an element and return their six doubles in bytes; zero where one is not there.

    None, and nothing taken, where they are not plain text, or not all that says a pose.
    """

def make_pose_of_placement(placement: bytes) -> FloatArray:
    """Return the pose, shape (4, 4), read-only, of a position and roll, pitch and yaw: six doubles in bytes."""

def take_plain_shape(
    element: XmlElement, kinds: dict[str, str], attributes: dict[str, tuple[str, ...]]
) -> tuple[str, tuple[float, ...], bytes, str | None] | None:
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

def move_inertia_to_body(
    mass: float, X_BI: FloatArray, I_SScm_I: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, float, bool]:
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

def take_plain_inertia(mass: XmlElement, inertia: XmlElement, origin: XmlElement | None) -> bytes | None:
    """Remove mass, inertia and pose from elements of URDF and return their 13 doubles in bytes.

    They are the mass, position, roll, pitch and yaw, and moments and products as `move_inertia_to_body` takes them.
    None, and nothing taken, where they are not plain text, one is missing, or the mass is negative.
    """

def move_plain_inertia_to_body(numbers: bytes) -> tuple[float, FloatArray, FloatArray, float, bool]:
    """Return the mass, and what `move_inertia_to_body` does, of what `take_plain_inertia` returned."""
