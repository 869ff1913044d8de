"""Mass properties: identities of mechanics, validity, value semantics."""

import copy
import pickle

import numpy as np
import pytest

from mbt.errors import ArgumentTypeError, ArgumentValueError, InvalidInertiaError, ShapeError
from mbt.math import SpatialInertia, UnitInertia, rpy_to_matrix, skew

EPS = np.finfo(float).eps
RNG = np.random.default_rng(11)


def random_particles(n=6):
    return RNG.uniform(0.1, 2.0, n), RNG.normal(size=(n, 3))


def of_particles(masses, points):
    """Return mass properties of particles about the origin, by definition."""
    m = masses.sum()
    I = sum(mass * -skew(p) @ skew(p) for mass, p in zip(masses, points, strict=True))  # noqa: E741
    return SpatialInertia(m, masses @ points / m, I / m)


def assert_same(a, b, tol=64 * EPS):
    np.testing.assert_allclose(
        a.as_matrix6(), b.as_matrix6(), rtol=0, atol=tol * max(1.0, np.abs(b.as_matrix6()).max())
    )


def test_kinetic_energy_of_a_cloud_of_particles():
    masses, points = random_particles()
    w, v = RNG.normal(size=(2, 3))
    V = np.concatenate([w, v])
    velocities = v + np.cross(w, points)
    expected = 0.5 * masses @ (velocities**2).sum(axis=1)
    assert 0.5 * V @ of_particles(masses, points).as_matrix6() @ V == pytest.approx(expected, rel=64 * EPS)


def test_shift_and_re_express_of_a_cloud_of_particles():
    masses, points = random_particles()
    p_PQ, R = RNG.normal(size=3), rpy_to_matrix([0.3, -1.0, 2.0])
    M = of_particles(masses, points)
    assert_same(M.shift(p_PQ), of_particles(masses, points - p_PQ))
    assert_same(M.re_express(R), of_particles(masses, points @ R.T))


def test_sum_of_two_clouds():
    (m1, p1), (m2, p2) = random_particles(), random_particles()
    assert_same(
        of_particles(m1, p1) + of_particles(m2, p2),
        of_particles(np.concatenate([m1, m2]), np.concatenate([p1, p2])),
    )
    assert SpatialInertia.zero() + SpatialInertia.zero() == SpatialInertia.zero()


def test_central_inertia_is_the_shift_to_the_mass_centre():
    M = of_particles(*random_particles())
    central = M.shift(M.com)
    np.testing.assert_allclose(central.com, 0, atol=8 * EPS)
    np.testing.assert_allclose(central.calc_rotational_inertia(), M.calc_central_inertia(), atol=256 * EPS)
    assert_same(SpatialInertia.make_from_central_inertia(M.mass, M.com, M.calc_central_inertia()), M)


def test_unit_inertia_shifts_are_inverse():
    G = UnitInertia(2.0, 3.0, 4.0, 0.1, -0.2, 0.3)
    p = RNG.normal(size=3)
    back = G.shift_from_center_of_mass(p).shift_to_center_of_mass(p)
    np.testing.assert_allclose(back.components, G.components, atol=64 * EPS)


def test_products_are_matrix_entries():
    G = UnitInertia(2.0, 3.0, 4.0, 0.1, -0.2, 0.3)
    np.testing.assert_array_equal(G.as_matrix(), [[2, 0.1, -0.2], [0.1, 3, 0.3], [-0.2, 0.3, 4]])
    np.testing.assert_array_equal(G.components, [2, 3, 4, 0.1, -0.2, 0.3])
    assert UnitInertia.from_matrix(G.as_matrix()) == G


# --- Shapes: each is compared with its volume cut into particles along an exact quadrature. ---


def gauss(a, b, n=6):
    x, w = np.polynomial.legendre.leggauss(n)
    return 0.5 * (b - a) * x + 0.5 * (a + b), 0.5 * (b - a) * w


def revolved(radius_squared, z_low, z_high):
    """Return particles of a solid of revolution about z; exact for moments up to the second order."""
    angles = np.arange(4) * np.pi / 2
    points, masses = [], []
    for z, wz in zip(*gauss(z_low, z_high), strict=True):
        for u, wu in zip(*gauss(0.0, radius_squared(z)), strict=True):
            for angle in angles:
                points.append([np.sqrt(u) * np.cos(angle), np.sqrt(u) * np.sin(angle), z])
                masses.append(wz * wu * np.pi / 4)
    return np.array(masses), np.array(points)


def boxed(lx, ly, lz):
    grids = [gauss(-length / 2, length / 2) for length in (lx, ly, lz)]
    points = np.stack(np.meshgrid(*(g[0] for g in grids), indexing="ij"), -1).reshape(-1, 3)
    masses = np.einsum("i,j,k->ijk", *(g[1] for g in grids)).ravel()
    return masses, points


def joined(*clouds):
    return np.concatenate([c[0] for c in clouds]), np.concatenate([c[1] for c in clouds])


Z = [0.0, 0.0, 1.0]
SHAPES = {
    "box": (SpatialInertia.solid_box_with_density(1.0, 0.3, 0.5, 0.7), boxed(0.3, 0.5, 0.7)),
    "cube": (SpatialInertia.solid_cube_with_density(1.0, 0.5), boxed(0.5, 0.5, 0.5)),
    "sphere": (
        SpatialInertia.solid_sphere_with_density(1.0, 0.4),
        revolved(lambda z: 0.16 - z * z, -0.4, 0.4),
    ),
    "ellipsoid": (
        SpatialInertia.solid_ellipsoid_with_density(1.0, 0.4, 0.4, 0.9),
        revolved(lambda z: 0.16 * (1 - z * z / 0.81), -0.9, 0.9),
    ),
    "cylinder": (
        SpatialInertia.solid_cylinder_with_density(1.0, 0.3, 0.8, Z),
        revolved(lambda z: 0.09, -0.4, 0.4),
    ),
    "cylinder about end": (
        SpatialInertia.solid_cylinder_with_density_about_end(1.0, 0.3, 0.8, Z),
        revolved(lambda z: 0.09, 0.0, 0.8),
    ),
    "capsule": (
        SpatialInertia.solid_capsule_with_density(1.0, 0.3, 0.8, Z),
        joined(
            revolved(lambda z: 0.09, -0.4, 0.4),
            revolved(lambda z: 0.09 - (z - 0.4) ** 2, 0.4, 0.7),
            revolved(lambda z: 0.09 - (z + 0.4) ** 2, -0.7, -0.4),
        ),
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_against_their_volume_in_particles(name):
    shape, cloud = SHAPES[name]
    assert_same(shape, of_particles(*cloud), tol=1e3 * EPS)
    assert shape.is_physically_valid()


def test_rods_and_shells_are_limits_of_solids():
    rod = SpatialInertia.thin_rod_with_mass(2.0, 0.8, Z)
    assert_same(rod, SpatialInertia.solid_cylinder_with_mass(2.0, 1e-9, 0.8, Z))
    assert_same(SpatialInertia.thin_rod_with_mass_about_end(2.0, 0.8, Z), rod.shift([0, 0, -0.4]))
    outer, inner = (SpatialInertia.solid_sphere_with_density(1.0, r) for r in (0.5, 0.5 - 1e-6))
    shell = outer.calc_rotational_inertia()[0, 0] - inner.calc_rotational_inertia()[0, 0]
    hollow = SpatialInertia.hollow_sphere_with_mass(outer.mass - inner.mass, 0.5)
    # The shell's thickness is 2e-6 of its radius.
    assert hollow.calc_rotational_inertia()[0, 0] == pytest.approx(shell, rel=1e-5)
    assert SpatialInertia.hollow_sphere_with_density(2.0, 0.5).mass == pytest.approx(2.0 * np.pi)


def test_a_parallelepiped_is_six_tetrahedra():
    a, b, c = np.diag([0.3, 0.5, 0.7])
    total = SpatialInertia.zero()
    for i, j, k in ((a, b, c), (a, c, b), (b, a, c), (b, c, a), (c, a, b), (c, b, a)):
        total = total + SpatialInertia.solid_tetrahedron_about_point_with_density(
            2.0, np.zeros(3), i, i + j, i + j + k
        )
    box = SpatialInertia.solid_box_with_density(2.0, 0.3, 0.5, 0.7).shift([-0.15, -0.25, -0.35])
    assert_same(total, box)


def test_axis_of_a_shape_in_any_direction():
    R = rpy_to_matrix([0.4, -1.1, 2.0])
    for make in (SpatialInertia.solid_cylinder_with_mass_about_end, SpatialInertia.solid_capsule_with_mass):
        assert_same(make(2.0, 0.3, 0.8, R @ Z), make(2.0, 0.3, 0.8, Z).re_express(R))


def test_a_capsule_of_the_smallest_radius_is_a_rod():
    rod = SpatialInertia.thin_rod_with_mass(2.0, 0.8, Z)
    assert_same(SpatialInertia.solid_capsule_with_mass(2.0, 1e-320, 0.8, Z), rod)


def test_point_mass_far_away_is_accepted_as_a_shape():
    M = SpatialInertia.point_mass(1.0, [1e4, 0.3, 77.0])
    assert M.is_physically_valid()
    np.testing.assert_allclose(M.calc_central_inertia(), 0, atol=1e-7)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_shapes_refuse_sizes_and_densities(bad):
    with pytest.raises(ArgumentValueError, match=r"radius: expected a finite length > 0"):
        SpatialInertia.solid_sphere_with_mass(1.0, bad)
    with pytest.raises(ArgumentValueError, match=r"density: expected a finite number > 0"):
        SpatialInertia.solid_sphere_with_density(bad, 1.0)


@pytest.mark.parametrize("length", [1.1e100, 1e200, 1e308])
def test_lengths_whose_powers_overflow_are_refused(length):
    for make in (
        lambda: UnitInertia.solid_box(1.0, length, 1.0),
        lambda: UnitInertia.solid_ellipsoid(1.0, 1.0, length),
        lambda: UnitInertia.hollow_sphere(length),
        lambda: UnitInertia.thin_rod(length, Z),
        lambda: SpatialInertia.solid_cube_with_density(1.0, length),
        lambda: SpatialInertia.solid_capsule_with_density(1.0, length, 1.0, Z),
        lambda: SpatialInertia.solid_cylinder_with_mass_about_end(1.0, 1.0, length, Z),
        lambda: SpatialInertia.solid_sphere_with_mass(1.0, length),
    ):
        with pytest.raises(ArgumentValueError, match=r"expected a length of at most 1e\+100 m, got"):
            make()


def test_flat_tetrahedron_is_refused():
    with pytest.raises(ArgumentValueError, match=r"not in one plane"):
        SpatialInertia.solid_tetrahedron_about_point_with_density(
            1.0, [0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]
        )


# --- Validity ---


def test_triangle_inequality_message_names_everything():
    with pytest.raises(InvalidInertiaError) as caught:
        SpatialInertia(2.0, [0, 0, 0.5], np.diag([1.25, 1.25, 3.5]))
    text = str(caught.value)
    assert "principal moments about the centre of mass [2, 2, 7] kg m^2" in text
    assert "the triangle inequality fails: 2 + 2 < 7" in text
    assert "mass 2 kg, centre of mass [0, 0, 0.5] m" in text


def test_negative_moment_is_named():
    with pytest.raises(InvalidInertiaError, match=r"the smallest is negative: -0.5"):
        SpatialInertia(1.0, np.zeros(3), np.diag([-0.5, 1.0, 1.0]))


def test_products_can_make_an_inertia_impossible():
    with pytest.raises(InvalidInertiaError, match=r"negative"):
        SpatialInertia(1.0, np.zeros(3), UnitInertia(1.0, 1.0, 1.0, 1.5))


def test_moments_about_p_may_hide_impossible_ones_about_the_mass_centre():
    with pytest.raises(InvalidInertiaError, match=r"negative"):
        SpatialInertia(1.0, [0, 0, 1.0], np.diag([0.9, 0.9, 0.1]))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_limit_of_the_triangle_inequality_has_the_slack_of_rounding_only(scale):
    slack = 16 * EPS * max(1.0, 2 * scale)
    SpatialInertia(1.0, np.zeros(3), np.diag([scale, scale, 2 * scale]))
    SpatialInertia(1.0, np.zeros(3), np.diag([scale, scale, 2 * scale + 0.5 * slack]))
    with pytest.raises(InvalidInertiaError):
        SpatialInertia(1.0, np.zeros(3), np.diag([scale, scale, 2 * scale + 3 * slack]))


@pytest.mark.parametrize("mass", [-1.0, -1e-300, np.nan, np.inf])
@pytest.mark.parametrize("skip", [False, True])
def test_impossible_mass_is_always_an_error(mass, skip):
    with pytest.raises(InvalidInertiaError, match=r"mass: expected a finite number >= 0 kg, got"):
        SpatialInertia(mass, np.zeros(3), np.eye(3), skip_validity_check=skip)
    with pytest.raises(InvalidInertiaError, match=r"mass"):
        SpatialInertia.make_from_central_inertia(mass, np.zeros(3), np.eye(3), skip_validity_check=skip)


@pytest.mark.parametrize(
    ("com", "G", "text"),
    [
        ([0, np.nan, 0], np.eye(3), "centre of mass: expected finite"),
        ([0, 0, 0], np.full((3, 3), np.inf), "unit inertia: expected finite"),
        ([0, 0, 0], np.diag([1.0, 1.0, 5.0]), "triangle"),
        ([1e200, 0, 0], np.eye(3), "overflows"),
    ],
)
def test_everything_else_can_be_skipped(com, G, text):
    with pytest.raises(InvalidInertiaError, match=text):
        SpatialInertia(1.0, com, G)
    with np.errstate(invalid="ignore"):
        M = SpatialInertia(1.0, com, G, skip_validity_check=True)
    assert not M.is_physically_valid()
    assert text in M.criticize_not_physically_valid()


def test_massless_bodies_are_possible():
    M = SpatialInertia.zero()
    assert M.is_physically_valid()
    assert not M.as_matrix6().any()
    assert SpatialInertia(0.0, [1, 2, 3], np.eye(3)).is_physically_valid()
    assert SpatialInertia.make_from_central_inertia(0.0, [1, 2, 3], np.zeros((3, 3))).mass == 0.0


def rotor(com=(0.1, 0.2, 0.3)):
    """Return a rotational inertia about one axis, without mass."""
    return SpatialInertia.make_from_central_inertia(0.0, com, np.diag([0, 0.35, 0]))


def test_rotational_inertia_without_mass_is_kept():
    M = rotor()
    assert M.mass == 0.0
    assert M.is_physically_valid()
    np.testing.assert_array_equal(M.calc_rotational_inertia(), np.diag([0, 0.35, 0]))
    np.testing.assert_array_equal(M.calc_central_inertia(), np.diag([0, 0.35, 0]))
    np.testing.assert_array_equal(M.as_matrix6(), np.diag([0, 0.35, 0, 0, 0, 0]))
    assert not M.calc_com_moment().any()
    # A particle at the mass centre: its mass would add this.
    np.testing.assert_array_equal(
        M.unit_inertia.components, UnitInertia.point_mass([0.1, 0.2, 0.3]).components
    )


def test_rotational_inertia_without_mass_is_the_same_about_every_point():
    M, R = rotor(), rpy_to_matrix([0.3, -1.0, 2.0])
    np.testing.assert_array_equal(M.shift([1, 2, 3]).as_matrix6(), M.as_matrix6())
    I_A = R @ np.diag([0, 0.35, 0]) @ R.T
    np.testing.assert_allclose(M.re_express(R).calc_rotational_inertia(), I_A, atol=EPS)
    assert M.re_express(R).mass == 0.0


def test_rotational_inertia_without_mass_adds_up():
    box = SpatialInertia.solid_box_with_mass(2.0, 0.1, 0.2, 0.3).shift([0.1, 0, 0])
    for both in (box + rotor(), rotor() + box):
        np.testing.assert_array_equal(both.as_matrix6(), box.as_matrix6() + rotor().as_matrix6())
        assert both.is_physically_valid()
        assert_same(both.shift([1, 2, 3]), box.shift([1, 2, 3]) + rotor())
    np.testing.assert_array_equal((rotor() + rotor()).as_matrix6(), 2 * rotor().as_matrix6())


@pytest.mark.parametrize("M", [rotor(), SpatialInertia.point_mass(1.0, [1, 0, 0]) + rotor()])
def test_rotational_inertia_without_mass_is_copied_and_shown(M):
    for clone in (copy.copy(M), copy.deepcopy(M), pickle.loads(pickle.dumps(M)), eval(repr(M))):
        assert clone == M
    assert SpatialInertia(M.mass, M.com, M.unit_inertia) != M


def test_rotational_inertia_without_mass_that_is_negative_is_refused():
    for I in (np.diag([1, -1e-3, 1]), [[1, 2, 0], [2, 1, 0], [0, 0, 1]]):  # noqa: E741
        with pytest.raises(InvalidInertiaError, match="without mass, the smallest is negative"):
            SpatialInertia.make_from_central_inertia(0.0, np.zeros(3), I)
        M = SpatialInertia.make_from_central_inertia(0.0, np.zeros(3), I, skip_validity_check=True)
        np.testing.assert_array_equal(M.calc_rotational_inertia(), I)
        assert not M.is_physically_valid()
    with pytest.raises(InvalidInertiaError, match="expected finite numbers"):
        SpatialInertia.make_from_central_inertia(0.0, np.zeros(3), np.diag([1, np.nan, 1]))
    with pytest.raises(InvalidInertiaError, match="I_SScm_E: expected a symmetric matrix"):
        SpatialInertia.make_from_central_inertia(0.0, np.zeros(3), np.triu(np.ones((3, 3))))


@pytest.mark.parametrize("mass", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize(
    "make",
    [
        lambda m: SpatialInertia.point_mass(m, [1, 0, 0]),
        lambda m: SpatialInertia.solid_box_with_mass(m, 1, 2, 3),
        lambda m: SpatialInertia.solid_cube_with_mass(m, 1),
        lambda m: SpatialInertia.solid_sphere_with_mass(m, 1),
        lambda m: SpatialInertia.hollow_sphere_with_mass(m, 1),
        lambda m: SpatialInertia.solid_ellipsoid_with_mass(m, 1, 2, 3),
        lambda m: SpatialInertia.solid_cylinder_with_mass(m, 1, 2, [0, 0, 1]),
        lambda m: SpatialInertia.solid_cylinder_with_mass_about_end(m, 1, 2, [0, 0, 1]),
        lambda m: SpatialInertia.solid_capsule_with_mass(m, 1, 2, [0, 0, 1]),
        lambda m: SpatialInertia.thin_rod_with_mass(m, 1, [0, 0, 1]),
        lambda m: SpatialInertia.thin_rod_with_mass_about_end(m, 1, [0, 0, 1]),
    ],
)
def test_shapes_have_mass(make, mass):
    with pytest.raises(InvalidInertiaError, match=r"mass: expected a finite number > 0 kg"):
        make(mass)


def test_asymmetric_inertia_is_refused_and_rounding_is_not():
    G = np.eye(3)
    G[0, 1] = 1e-6
    with pytest.raises(InvalidInertiaError, match=r"G_SP_E: expected a symmetric matrix"):
        SpatialInertia(1.0, np.zeros(3), G, skip_validity_check=True)
    G[0, 1] = 1e-12
    np.testing.assert_array_equal(
        SpatialInertia(1.0, np.zeros(3), G).unit_inertia.as_matrix(), 0.5 * (G + G.T)
    )


def test_wrong_arguments():
    with pytest.raises(ShapeError, match=r"p_PScm_E: expected shape \(3,\), got \(2,\)"):
        SpatialInertia(1.0, [0, 0], np.eye(3))
    with pytest.raises(ShapeError, match=r"G_SP_E: expected shape \(3, 3\), got \(3,\)"):
        SpatialInertia(1.0, [0, 0, 0], [1, 1, 1])
    with pytest.raises(ArgumentTypeError, match=r"mass"):
        SpatialInertia("1 kg", [0, 0, 0], np.eye(3))
    with pytest.raises(ArgumentTypeError, match=r"Ixy"):
        UnitInertia(1, 1, 1, None)


# --- Values ---


def test_values_are_immutable_and_detached_from_their_inputs():
    com, G = np.array([0.0, 0.0, 0.1]), np.eye(3)
    M = SpatialInertia(1.0, com, G)
    com[0] = 9.0
    G[0, 0] = 9.0
    assert SpatialInertia(1.0, [0, 0, 0.1], np.eye(3)) == M
    for write in (
        lambda: setattr(M, "mass", 2.0),
        lambda: setattr(M, "_mass", 2.0),
        lambda: setattr(M.unit_inertia, "_components", 0),
    ):
        with pytest.raises(AttributeError):
            write()
    with pytest.raises(ValueError, match=r"read-only"):
        M.com[0] = 1.0
    with pytest.raises(ValueError, match=r"read-only"):
        M.unit_inertia.components[0] = 1.0


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_values_can_be_copied_and_pickled(clone):
    M = SpatialInertia(1.0, [0, 0, 0.1], np.diag([1.0, 1.0, 9.0]), skip_validity_check=True)
    assert clone(M) == M
    assert clone(M.unit_inertia) == M.unit_inertia


def test_equality_and_repr():
    M = SpatialInertia(1.0, [0, 0, 0.5], np.eye(3))
    assert SpatialInertia(2.0, [0, 0, 0.5], np.eye(3)) != M
    assert SpatialInertia(1.0, [0, 0, 0.4], np.eye(3)) != M
    assert SpatialInertia(1.0, [0, 0, 0.5], 1.1 * np.eye(3)) != M
    assert M != "M"
    assert M.unit_inertia != "G"
    assert eval(repr(M)) == M
