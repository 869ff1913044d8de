"""Mass properties and rotations agree with Drake's."""

import numpy as np
import pytest

from mbt.math import SpatialInertia, UnitInertia, quaternion_to_matrix, rpy_to_matrix

pytestmark = pytest.mark.oracle
drake_tree = pytest.importorskip("pydrake.multibody.tree")
drake_math = pytest.importorskip("pydrake.math")

UNIT = np.array([2.0, -1.0, 2.0]) / 3.0


@pytest.mark.parametrize(
    ("mine", "drake_name", "arguments"),
    [
        (SpatialInertia.solid_box_with_density, "SolidBoxWithDensity", (700.0, 0.1, 0.2, 0.3)),
        (SpatialInertia.solid_box_with_mass, "SolidBoxWithMass", (2.0, 0.1, 0.2, 0.3)),
        (SpatialInertia.solid_cube_with_density, "SolidCubeWithDensity", (700.0, 0.1)),
        (SpatialInertia.solid_capsule_with_density, "SolidCapsuleWithDensity", (700.0, 0.1, 0.5, UNIT)),
        (SpatialInertia.solid_capsule_with_mass, "SolidCapsuleWithMass", (2.0, 0.1, 0.5, UNIT)),
        (SpatialInertia.solid_cylinder_with_density, "SolidCylinderWithDensity", (700.0, 0.1, 0.5, UNIT)),
        (SpatialInertia.solid_cylinder_with_mass, "SolidCylinderWithMass", (2.0, 0.1, 0.5, UNIT)),
        (
            SpatialInertia.solid_cylinder_with_density_about_end,
            "SolidCylinderWithDensityAboutEnd",
            (700.0, 0.1, 0.5, UNIT),
        ),
        (
            SpatialInertia.solid_cylinder_with_mass_about_end,
            "SolidCylinderWithMassAboutEnd",
            (2.0, 0.1, 0.5, UNIT),
        ),
        (SpatialInertia.solid_ellipsoid_with_density, "SolidEllipsoidWithDensity", (700.0, 0.1, 0.2, 0.3)),
        (SpatialInertia.solid_ellipsoid_with_mass, "SolidEllipsoidWithMass", (2.0, 0.1, 0.2, 0.3)),
        (SpatialInertia.solid_sphere_with_density, "SolidSphereWithDensity", (700.0, 0.1)),
        (SpatialInertia.solid_sphere_with_mass, "SolidSphereWithMass", (2.0, 0.1)),
        (SpatialInertia.hollow_sphere_with_density, "HollowSphereWithDensity", (7.0, 0.1)),
        (SpatialInertia.hollow_sphere_with_mass, "HollowSphereWithMass", (2.0, 0.1)),
        (SpatialInertia.thin_rod_with_mass, "ThinRodWithMass", (2.0, 0.5, UNIT)),
        (SpatialInertia.thin_rod_with_mass_about_end, "ThinRodWithMassAboutEnd", (2.0, 0.5, UNIT)),
    ],
)
def test_shapes(mine, drake_name, arguments):
    theirs = getattr(drake_tree.SpatialInertia, drake_name)(*arguments)
    # A few products and sums of numbers near 1.
    np.testing.assert_allclose(
        mine(*arguments).as_matrix6(), theirs.CopyToFullMatrix6(), rtol=1e-14, atol=1e-14
    )


def test_validity_agrees_on_random_inertias():
    rng = np.random.default_rng(5)
    verdicts = []
    for _ in range(400):
        mass, com = rng.uniform(0, 3), rng.normal(size=3) * 0.3
        moments, products = rng.uniform(0, 1, 3), rng.normal(size=3) * 0.05
        mine = SpatialInertia(mass, com, UnitInertia(*moments, *products), skip_validity_check=True)
        theirs = drake_tree.SpatialInertia(mass, com, drake_tree.UnitInertia(*moments, *products), True)
        assert mine.is_physically_valid() == theirs.IsPhysicallyValid()
        verdicts.append(mine.is_physically_valid())
    assert 50 < sum(verdicts) < 350


def test_shift_and_re_express():
    rng = np.random.default_rng(6)
    R = rpy_to_matrix([0.3, -0.4, 2.0])
    theirs = drake_tree.SpatialInertia.SolidBoxWithMass(2.0, 0.1, 0.2, 0.3).Shift([0.1, 0.2, 0.3])
    mine = SpatialInertia.solid_box_with_mass(2.0, 0.1, 0.2, 0.3).shift([0.1, 0.2, 0.3])
    theirs = theirs.ReExpress(drake_math.RotationMatrix(R))
    np.testing.assert_allclose(mine.re_express(R).as_matrix6(), theirs.CopyToFullMatrix6(), atol=1e-14)
    for rpy in rng.uniform(-3, 3, (10, 3)):
        np.testing.assert_allclose(
            rpy_to_matrix(rpy), drake_math.RollPitchYaw(rpy).ToRotationMatrix().matrix(), atol=1e-14
        )
    for wxyz in rng.normal(size=(10, 4)):
        unit = wxyz / np.linalg.norm(wxyz)
        theirs = drake_math.RotationMatrix(drake_tree_quaternion(unit)).matrix()
        np.testing.assert_allclose(quaternion_to_matrix(wxyz), theirs, atol=1e-14)


def drake_tree_quaternion(wxyz):
    return pytest.importorskip("pydrake.common.eigen_geometry").Quaternion(wxyz)
