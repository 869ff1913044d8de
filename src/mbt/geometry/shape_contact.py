"""Contact of shapes in implicit steps: stiffness, dissipation and friction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbt._core.geometry.scene import Scene, find_groups
from mbt._core.solvers.shape_contact import ContactCore
from mbt.context.checks import compile_copy
from mbt.errors import ArgumentTypeError, ArgumentValueError, quote, unknown_name_error
from mbt.geometry.collision_model import CollisionModel
from mbt.geometry.placed_shapes import PlacedShape
from mbt.geometry.surfaces import by_surfaces, in_a_row, mean, mean_of_inverses, total
from mbt.math.arrays import FloatArray, as_finite, as_float_array, as_nonnegative

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.context.context import Context
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["ShapeContact", "TouchingPoints"]

#: Defaults: friction; the least stiffness [N/m]; the period, divided by 2 pi, with which a mass on one point
#: oscillates [s]; the inverse of the largest speed at which shapes separate [s/m].
_FRICTION, _LEAST_STIFFNESS, _TIME, _DISSIPATION = 0.8, 1e5, 5e-3, 10.0
#: Upper limit of each constant: if products of larger ones overflowed, shapes would pass through each other.
_MOST = 1e100


class TouchingPoints(NamedTuple):
    """Points where shapes touch or almost touch.

    Attributes
    ----------
    pair : ndarray of int, shape (n,)
        Place of the pair in ``scene.pairs``.
    p_W : ndarray, shape (n, 3)
        Points in World, midway between both surfaces [m].
    n_W : ndarray, shape (n, 3)
        Unit normals from the first to the second shape of the pair, in World.
    gap : ndarray, shape (n,)
        Distance between the surfaces along the normal [m], negative where they overlap.
    """

    pair: npt.NDArray[np.intp]
    p_W: FloatArray
    n_W: FloatArray
    gap: FloatArray


class ShapeContact:
    """Contact of the shapes of a scene, for `simulate` with ``method="implicit"``.

    Each pair touches at up to four points: a sphere at one, a capsule on a plane at two, a box on a plane at
    four. At each point act a Hunt-Crossley normal force, ``k x (1 - d u)`` for the depth x and the speed of
    separation u, and Coulomb friction.

    Parameters
    ----------
    scene : CollisionModel
        The shapes and the pairs that touch.
    friction : float, mapping or array_like, optional
        Coefficient of friction of all pairs; by default that of their surfaces, see `Surface`, and 0.8 if
        neither shape has one. A mapping specifies it for bodies and obstacles, or for pairs of them, by name:
        ``{"foot": 1.0, ("foot", "ice"): 0.05}``. Two bodies that both have a coefficient get
        ``2 a b / (a + b)``; if only one has, its value applies, and if none has, the default. An array has
        one entry for each pair of the scene.
    stiffness : float, mapping or array_like, optional
        k of each point [N/m]; by default that of the surfaces. Without them it is the larger of 100 kN/m and
        ``m / (5 ms)^2``, where 1/m is the sum of the inverse masses of both sides, each including everything
        connected to it by joints, other than through World. Two bodies in a mapping act as springs in series:
        ``a b / (a + b)``.
    dissipation : float, mapping or array_like, optional
        d [s/m]; by default that of the surfaces, else 10: shapes separate with at most 1/d = 0.1 m/s. Two
        bodies in a mapping get the mean.
    margin : float, mapping or array_like, optional
        The distance at which contact begins [m]; by default that of the surfaces, else zero. Two bodies in a
        mapping get the sum.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, UnknownNameError, ShapeError
        When an argument is invalid.

    Examples
    --------
    A box slides on a plane, and friction stops it:

    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.1, 0.1)))
    >>> _ = box.add_collision(mbt.Shape("box", [0.1, 0.1, 0.1]))
    >>> _ = tree.add_force_element(mbt.UniformGravityFieldElement())
    >>> tree.finalize()
    >>> floor = mbt.Shape("plane", name="floor")
    >>> contacts = mbt.ShapeContact(mbt.CollisionModel(tree, obstacles=[floor]), friction=0.5)
    >>> context = tree.create_default_context()
    >>> context.q = [1, 0, 0, 0, 0, 0, 0.05]
    >>> context.v = [0, 0, 0, 1.0, 0, 0]
    >>> motion = mbt.simulate(tree, context, 1.0, 5e-3, method="implicit", contacts=contacts)
    >>> motion.q[-1, 4].round(2)  # v^2 / (2 mu g) = 0.102
    np.float64(0.1)
    >>> touching = motion.contacts[-1]
    >>> touching.names
    (('box', 'floor'), ('box', 'floor'), ('box', 'floor'), ('box', 'floor'))
    >>> round(-float(touching.force_W[:, 2].sum()), 6)  # on the floor
    9.81
    """

    def __init__(
        self,
        scene: CollisionModel,
        friction: float | Mapping[Any, float] | npt.ArrayLike | None = None,
        *,
        stiffness: float | Mapping[Any, float] | npt.ArrayLike | None = None,
        dissipation: float | Mapping[Any, float] | npt.ArrayLike | None = None,
        margin: float | Mapping[Any, float] | npt.ArrayLike | None = None,
    ) -> None:
        if not isinstance(scene, CollisionModel):
            raise ArgumentTypeError(f"scene: expected an mbt.CollisionModel, got {quote(scene)}")
        compile_copy(scene.tree)
        count = scene.num_pairs
        constants = (
            _read(scene, friction, "friction", np.full(count, _FRICTION), mean_of_inverses),
            _read(scene, stiffness, "stiffness", _find_stiffnesses(scene), in_a_row),
            _read(scene, dissipation, "dissipation", np.full(count, _DISSIPATION), mean),
            _read(scene, margin, "margin", np.zeros(count), total),
        )
        for what, array in zip(("friction", "stiffness", "dissipation", "margin"), constants, strict=True):
            if array.max(initial=0.0) > _MOST:
                raise ArgumentValueError(f"{what}: expected at most {_MOST:g}, got {array.max()}")
        self._set(scene, *constants)

    def _set(self, scene: CollisionModel, *constants: FloatArray) -> None:
        self._scene = scene
        self._friction, self._stiffness, self._dissipation, self._margin = constants
        for array in constants:
            array.flags.writeable = False
        self._core: ContactCore | None = None

    @property
    def scene(self) -> CollisionModel:
        """The shapes and their pairs."""
        return self._scene

    @property
    def tree(self) -> MultibodyTree:
        """The tree."""
        return self._scene.tree

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The names of the pairs of the scene."""
        return self._scene.pairs

    def nodes_of_pairs(self) -> npt.NDArray[np.intp]:
        """Return the `node_index` of the two bodies of each pair, shape (num_pairs, 2); 0 for obstacles."""
        shapes, pairs = self._scene._shapes, self._scene._pairs
        nodes = [(shapes[i].node, shapes[j].node) for i, j, _ in pairs]
        return np.array(nodes, dtype=np.intp).reshape(-1, 2)

    @property
    def friction(self) -> FloatArray:
        """Coefficient of friction of each pair, shape (num_pairs,), read-only."""
        return self._friction

    @property
    def stiffness(self) -> FloatArray:
        """Stiffness of a point of each pair [N/m], shape (num_pairs,), read-only."""
        return self._stiffness

    @property
    def dissipation(self) -> FloatArray:
        """Dissipation of each pair [s/m], shape (num_pairs,), read-only."""
        return self._dissipation

    @property
    def margin(self) -> FloatArray:
        """Distance at which contact of each pair begins [m], shape (num_pairs,), read-only."""
        return self._margin

    def points(
        self, q: npt.ArrayLike, *, margin: float = 0.0, context: Context | None = None
    ) -> TouchingPoints:
        """Return the points at which shapes touch, or are less than `margin` apart, at one state.

        Parameters
        ----------
        q : array_like, shape (num_positions,)
            Positions.
        margin : float, optional
            The distance [m].
        context : Context, optional
            Its parameters apply, for example poses of frames; by default those of the tree.

        Returns
        -------
        TouchingPoints

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, ShapeError, ContextMismatchError
            When an argument is invalid.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
        >>> _ = ball.add_collision(mbt.Shape("sphere", [0.1]))
        >>> tree.finalize()
        >>> scene = mbt.CollisionModel(tree, obstacles=[mbt.Shape("plane", name="floor")])
        >>> found = mbt.ShapeContact(scene).points([1, 0, 0, 0, 0, 0, 0.09])
        >>> found.p_W, found.n_W, found.gap.round(9)
        (array([[ 0.   ,  0.   , -0.005]]), array([[-0., -0., -1.]]), array([-0.01]))
        """
        margin = as_finite(margin, "margin")
        self._scene._prepare(context)
        tree = self.tree
        positions = as_float_array(q, "q", (tree.num_positions,))
        moved = tree.create_default_context() if context is None else context.clone()
        moved.q = positions
        X_WB = tree.eval_position_kinematics(moved).X_WB
        return TouchingPoints(*self.core().find(X_WB, margin))

    def core(self) -> ContactCore:
        """Return the core that implicit steps use."""
        if self._core is None:
            compile_copy(self.tree)
            shapes = [shape.as_tuple() for shape in self._scene._shapes]
            assert self.tree._compiled is not None
            margins = zip(self._scene._pairs, self._margin.tolist(), strict=True)
            pairs = [(i, j, padding + margin) for (i, j, padding), margin in margins]
            scene = Scene(self.tree._compiled, shapes, pairs)
            self._core = ContactCore(scene, self._stiffness, self._dissipation, self._friction)
        return self._core

    def __repr__(self) -> str:
        """Show the number of pairs."""
        return f"<ShapeContact: {self._scene.num_pairs} pairs>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the scene and the constants."""
        return _restore, (self._scene, self._friction, self._stiffness, self._dissipation, self._margin)


def _restore(scene: CollisionModel, *constants: FloatArray) -> ShapeContact:
    contact = ShapeContact.__new__(ShapeContact)
    contact._set(scene, *constants)
    return contact


def _read(
    scene: CollisionModel,
    value: Any,
    what: str,
    default: FloatArray,
    join: Callable[[float, float], float],
) -> FloatArray:
    """Return one constant for each pair."""
    if value is None or isinstance(value, Mapping):
        default = by_surfaces(scene, what, default)
    if value is None:
        return default
    if not isinstance(value, Mapping):
        array = as_float_array(value, what).copy()
        if array.ndim == 0:
            return np.full(scene.num_pairs, as_nonnegative(array, what))
        array = as_float_array(array, what, (scene.num_pairs,))
        if not (np.isfinite(array).all() and (array >= 0.0).all()):
            raise ArgumentValueError(f"{what}: expected finite numbers >= 0, got {quote(value)}")
        return array
    single, paired = _read_mapping(scene, value, what)
    numbers = default.copy()
    for i, (a, b, _) in enumerate(scene._pairs):
        names = [(shape.name, shape.owner) for shape in (scene._shapes[a], scene._shapes[b])]
        listed = [paired[key] for x in names[0] for y in names[1] if (key := frozenset((x, y))) in paired]
        own = [next((single[x] for x in each if x in single), None) for each in names]
        if listed:
            numbers[i] = listed[0]
        elif own[0] is not None and own[1] is not None:
            numbers[i] = join(own[0], own[1])
        elif own[0] is not None or own[1] is not None:
            numbers[i] = own[0] if own[0] is not None else own[1]
    return numbers


def _read_mapping(
    scene: CollisionModel, value: Mapping[Any, Any], what: str
) -> tuple[dict[str, float], dict[frozenset[str], float]]:
    """Return a mapping's values for single names, and for pairs."""
    known = {name for shape in scene._shapes for name in (shape.name, shape.owner)}
    made = {
        frozenset((x, y))
        for a, b, _ in scene._pairs
        for x in _names_of(scene._shapes[a])
        for y in _names_of(scene._shapes[b])
    }
    single: dict[str, float] = {}
    paired: dict[frozenset[str], float] = {}
    for key, number in value.items():
        checked = as_nonnegative(number, f"{what}[{key!r}]")
        names = (key,) if isinstance(key, str) else key
        if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
            raise ArgumentTypeError(f"{what}: expected names or pairs of names as keys, got {quote(key)}")
        for name in names:
            if name not in known:
                raise unknown_name_error("body or obstacle with a shape", name, known, f"for {what}")
        if len(names) == 1:
            single[names[0]] = checked
        elif len(names) == 2 and frozenset(names) in made:
            paired[frozenset(names)] = checked
        else:
            raise ArgumentValueError(f"{what}: expected a pair of the scene, got {quote(key)}")
    return single, paired


def _names_of(shape: PlacedShape) -> tuple[str, str]:
    return shape.name, shape.owner


def _find_stiffnesses(scene: CollisionModel) -> FloatArray:
    """Return the default stiffness of each pair, from the masses of everything connected by joints."""
    tree = scene.tree
    compiled = tree._compiled
    assert compiled is not None
    groups = find_groups(compiled)
    inboard = {group: carrier for group, carrier, _ in groups}

    def root_of(node: int) -> int:
        group, _, mobod = groups[node]
        while mobod and inboard[group] > 0:
            group = inboard[group]
        return group if mobod else 0

    masses: dict[int, float] = {}
    for i in range(1, tree.num_bodies):
        body = tree.get_body(i)
        root = root_of(body.node_index)
        masses[root] = masses.get(root, 0.0) + body.default_mass
    numbers = np.full(scene.num_pairs, _LEAST_STIFFNESS)
    for i, (a, b, _) in enumerate(scene._pairs):
        roots = root_of(scene._shapes[a].node), root_of(scene._shapes[b].node)
        own = [masses[root] for root in roots if root and masses[root] > 0.0]
        if own:
            numbers[i] = max(_LEAST_STIFFNESS, 1.0 / (_TIME**2 * sum(1.0 / mass for mass in own)))
    return numbers
