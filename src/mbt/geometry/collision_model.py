"""Pairs of shapes whose distances are asked for."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.engines.lane_engine import get_num_threads
from mbt._core.geometry.distances import DistanceCore, is_known
from mbt._core.geometry.scene import Scene
from mbt.context.checks import compile_copy
from mbt.context.context import Context
from mbt.errors import ArgumentTypeError, ArgumentValueError, ContextMismatchError, quote
from mbt.geometry.pair_rules import Names, find_pairs, read_disabled
from mbt.geometry.placed_shapes import KINDS, PlacedShape, list_shapes, name_bodies, place
from mbt.math.arrays import FloatArray, as_bool, as_finite, as_float_array
from mbt.tree.shape import Shape

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.tree.body import RigidBody
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["CollisionModel", "model_without_meshes"]

_NAMES = {number: kind for kind, number in KINDS.items()}


class CollisionModel:
    """The shapes in ``body.collisions`` and obstacles, in pairs whose distances it computes.

    Shapes that never move against each other make no pair: two on one body, on bodies that are welded
    together, on World and an obstacle.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree of doubles.
    pairs : str or sequence of pairs, optional
        ``"not adjacent"``, the default: shapes of all bodies, but for bodies that a joint connects; a joint
        on World itself does not count. ``"all"``: these as well. Or a list of two bodies each, as `RigidBody`
        or by name; obstacles have names too.
    obstacles : sequence of Shape, optional
        Shapes that stand still; ``X_BG`` is their pose in World. Each makes a pair with all bodies that move.
        One without a name is called ``"obstacle[0]"``, after its place.
    exclude : sequence of pairs, optional
        Two bodies or obstacles each, which make no pair.
    padding : float or mapping, optional
        By how much every shape is larger than it says [m]; or a mapping from bodies or obstacles to that.
        Distances become less by the padding of both; witness points stay on the shapes themselves.
    rules : str or path, optional
        A file of SRDF, whose ``disable_collisions`` are left out, or of MJCF, whose ``exclude`` are; or its
        text. Names of bodies that the tree does not have are passed over.
    hulls : bool, optional
        Whether meshes are opened, by trimesh, and replaced by their convex hulls. By default a mesh is an
        error.
    package_paths : sequence of paths, optional
        Where meshes are looked for, see `mbt.parsing.resolve_mesh`.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, UnknownNameError, NotFinalizedError
        When an argument is not what it should be, or the distance of two kinds of shapes is not known.
    MissingPackageError, ParseError
        When a mesh or a file of rules cannot be read.

    Examples
    --------
    A ball on a slider moves towards a wall and away from a post:

    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> inertia = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
    >>> ball = tree.add_body(mbt.RigidBody("ball", inertia))
    >>> _ = ball.add_collision(mbt.Shape("sphere", [0.1]))
    >>> _ = tree.add_joint(mbt.PrismaticJoint, "slider", tree.world_body, None, ball, None, axis=[1, 0, 0])
    >>> tree.finalize()
    >>> wall = mbt.Shape("box", [0.2, 2, 2], mbt.math.make_pose([1.1, 0, 0]), name="wall")
    >>> post = mbt.Shape("capsule", [0.05, 1.0], mbt.math.make_pose([-1, 0, 0]), name="post")
    >>> scene = mbt.CollisionModel(tree, obstacles=[wall, post])
    >>> scene.pairs
    (('ball', 'wall'), ('ball', 'post'))
    >>> scene.distances([[0.0], [0.85], [0.95]]).round(3)
    array([[ 0.9 ,  0.85],
           [ 0.05,  1.7 ],
           [-0.05,  1.8 ]])
    >>> scene.is_free([[0.0], [0.85], [0.95]]).tolist()
    [True, True, False]
    >>> scene.distance_jacobian([0.0])
    array([[-1.],
           [ 1.]])
    """

    def __init__(
        self,
        tree: MultibodyTree,
        pairs: str | Sequence[tuple[str | RigidBody, str | RigidBody]] = "not adjacent",
        *,
        obstacles: Iterable[Shape] = (),
        exclude: Iterable[tuple[str | RigidBody, str | RigidBody]] = (),
        padding: float | Mapping[str | RigidBody, float] = 0.0,
        rules: str | os.PathLike[str] | None = None,
        hulls: bool = False,
        package_paths: Sequence[str | os.PathLike[str]] = (),
    ) -> None:
        compile_copy(tree)
        if tree.scalar_type.name != "double":
            raise ArgumentValueError(f"tree: expected one of doubles, got one of {tree.scalar_type.name}")
        named = name_bodies(tree)
        standing = _name_obstacles(obstacles, named)
        names = Names(named, standing)
        left_out = names.read_pairs(exclude, "exclude")
        if rules is not None:
            left_out |= read_disabled(rules, named)
        hulls = as_bool(hulls, "hulls")
        known: dict[Any, FloatArray] = {}
        shapes = [place(*one, hulls, package_paths, known) for one in list_shapes(named)]
        shapes += [
            place(shape, name, name, 0, hulls, package_paths, known) for name, shape in standing.items()
        ]
        found = find_pairs(tree._compiled, shapes, pairs, left_out, names)
        _check_known(shapes, found)
        thickness = names.read_padding(padding)
        self._set(
            tree, shapes, [(i, j, thickness[shapes[i].owner] + thickness[shapes[j].owner]) for i, j in found]
        )

    def _set(
        self, tree: MultibodyTree, shapes: list[PlacedShape], pairs: list[tuple[int, int, float]]
    ) -> None:
        self._tree = tree
        self._shapes = shapes
        self._pairs = pairs
        self._names = tuple((shapes[i].name, shapes[j].name) for i, j, _ in pairs)
        # For default parameters; and for the last others, with these.
        self._core: DistanceCore | None = None
        self._last: tuple[FloatArray, DistanceCore] | None = None

    @property
    def tree(self) -> MultibodyTree:
        """The tree."""
        return self._tree

    @property
    def num_pairs(self) -> int:
        """How many pairs there are."""
        return len(self._pairs)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """What the pairs are called, in the order of results: the names of their bodies and obstacles.

        A body with several shapes has the name of the shape, or its place, behind its own: ``"hand/thumb"``,
        ``"hand[1]"``.
        """
        return self._names

    def distances(
        self,
        q: npt.ArrayLike,
        *,
        witness: bool = False,
        jacobian: bool = False,
        context: Context | None = None,
    ) -> Any:
        """Return the signed distance of each pair.

        Parameters
        ----------
        q : array_like, shape (..., num_positions)
            Positions. Where one is NaN, so are results of its sample.
        witness : bool, optional
            Whether to return the points that are closest, and the normal.
        jacobian : bool, optional
            Whether to return how distances change with velocities, last.
        context : Context, optional
            Its parameters apply, poses of frames for example; it must be of one state. Without one, the
            default parameters apply.

        Returns
        -------
        d : ndarray, shape (..., num_pairs)
            Distances [m]. A negative one is how far the shapes must move for them only to touch.
        p_WA, p_WB : ndarray, shape (..., num_pairs, 3)
            Points on the first and the second shape [m], in World. Where several are equally close, one of
            them.
        n_W : ndarray, shape (..., num_pairs, 3)
            Unit normals from the first to the second shape: without padding ``p_WB - p_WA = d n_W``.
        J : ndarray, shape (..., num_pairs, num_velocities)
            As `distance_jacobian` returns it.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, ShapeError, ContextMismatchError
            When an argument is not what it should be.

        Examples
        --------
        >>> import numpy as np
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> inertia = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
        >>> link = tree.add_body(mbt.RigidBody("link", inertia))
        >>> _ = link.add_collision(mbt.Shape("capsule", [0.1, 1.0], mbt.math.make_pose([0, 0, 0.5])))
        >>> _ = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, link, None, axis=[0, 1, 0])
        >>> tree.finalize()
        >>> ball = mbt.Shape("sphere", [0.2], mbt.math.make_pose([1, 0, 1]), name="ball")
        >>> scene = mbt.CollisionModel(tree, obstacles=[ball])
        >>> d, p_WA, p_WB, n_W = scene.distances([0.0], witness=True)
        >>> d
        array([0.7])
        >>> p_WA, p_WB
        (array([[0.1, 0. , 1. ]]), array([[0.8, 0. , 1. ]]))
        """
        witness, jacobian = as_bool(witness, "witness"), as_bool(jacobian, "jacobian")
        rows, batch = self._take(q)
        core = self._prepare(context)
        count, shape = len(rows), (len(rows), self.num_pairs)
        d = np.empty(shape)
        points = [np.empty((*shape, 3)) for _ in range(3)] if witness else [None] * 3
        J = np.empty((*shape, self._tree.num_velocities)) if jacobian else None
        if count:
            core.run(rows, get_num_threads(), d, points[0], points[1], points[2], J, None, 0.0)
        found = [d, *(points if witness else []), *([J] if jacobian else [])]
        results = tuple(x.reshape(*batch, *x.shape[1:]) for x in found if x is not None)
        return results if len(results) > 1 else results[0]

    def distance_jacobian(self, q: npt.ArrayLike, *, context: Context | None = None) -> FloatArray:
        """Return how the distances change with velocities: their rates are ``J v``.

        For each pair it is the normal times how the witness points move against each other, as if they were
        fixed to their bodies. That is the derivative of the distance wherever there is one. Where other
        points are as close, of a box flat on a box for example, it is one of several limits, and finite.

        Parameters
        ----------
        q : array_like, shape (..., num_positions)
            Positions.
        context : Context, optional
            As in `distances`.

        Returns
        -------
        ndarray, shape (..., num_pairs, num_velocities)

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, ShapeError, ContextMismatchError
            As `distances`.
        """
        rows, batch = self._take(q)
        core = self._prepare(context)
        J = np.empty((len(rows), self.num_pairs, self._tree.num_velocities))
        if len(rows):
            core.run(rows, get_num_threads(), None, None, None, None, J, None, 0.0)
        return J.reshape(*batch, *J.shape[1:])

    def is_free(self, q: npt.ArrayLike, *, margin: float = 0.0, context: Context | None = None) -> Any:
        """Return whether all pairs are at least `margin` apart.

        That takes less time than all distances: spheres about the shapes tell most pairs apart.

        Parameters
        ----------
        q : array_like, shape (..., num_positions)
            Positions. A state with a NaN is not free.
        margin : float, optional
            The distance that is wanted [m]; a negative one allows that much overlap.
        context : Context, optional
            As in `distances`.

        Returns
        -------
        bool, or ndarray of bool, shape (...,)

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, ShapeError, ContextMismatchError
            As `distances`.
        """
        wanted = as_finite(margin, "margin")
        rows, batch = self._take(q)
        core = self._prepare(context)
        free = np.empty(len(rows), np.bool_)
        if len(rows):
            core.run(rows, get_num_threads(), None, None, None, None, None, free, wanted)
        return free.reshape(batch) if batch else bool(free[0])

    def nearest(self, q: npt.ArrayLike, *, context: Context | None = None) -> tuple[Any, Any]:
        """Return which pair is the nearest, as its place in `pairs`, and its distance.

        Parameters
        ----------
        q : array_like, shape (..., num_positions)
            Positions.
        context : Context, optional
            As in `distances`.

        Returns
        -------
        pair : int, or ndarray of int, shape (...,)
        d : float, or ndarray, shape (...,)
            [m]

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, ShapeError, ContextMismatchError
            As `distances`; also when there is no pair.
        """
        if not self._pairs:
            raise ArgumentValueError("nearest: this model has no pair of shapes")
        d = self.distances(q, context=context)
        pair = d.argmin(axis=-1)
        smallest = np.take_along_axis(d, pair[..., np.newaxis], -1)[..., 0]
        return (pair, smallest) if pair.ndim else (int(pair), float(smallest))

    def __repr__(self) -> str:
        """Tell how much there is."""
        return f"<CollisionModel: {len(self._shapes)} shapes, {self.num_pairs} pairs>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what was found; no file is read again."""
        return _restore, (self._tree, self._shapes, self._pairs)

    def _take(self, q: npt.ArrayLike) -> tuple[FloatArray, tuple[int, ...]]:
        """Return rows of positions, and the leading axes."""
        nq = self._tree.num_positions
        positions = as_float_array(q, "q", (..., nq))
        batch = positions.shape[:-1]
        return positions.reshape(math.prod(batch), nq), batch

    def _prepare(self, context: Context | None) -> DistanceCore:
        """Return the pairs with the parameters of a context, or the default ones."""
        if context is None and self._core is not None:
            return self._core
        compile_copy(self._tree)
        compiled = self._tree._compiled
        assert compiled is not None
        if context is None:
            self._core = self._make(compiled.default_parameters)
            return self._core
        if not isinstance(context, Context):
            raise ArgumentTypeError(f"context: expected a Context, got {quote(context)}")
        if context.tree is not self._tree:
            raise ContextMismatchError("context: expected one of the tree of this model")
        if context.batch_shape:
            raise ArgumentValueError(f"context: expected one state, got a batch {context.batch_shape}")
        vector = np.array(context._parameter_vector)
        last = self._last
        if last is None or not np.array_equal(last[0], vector):
            # Threads may share a model: they see this whole, or not at all.
            self._last = last = (vector, self._make(vector))
        return last[1]

    def _make(self, vector: FloatArray) -> DistanceCore:
        shapes = [shape.as_tuple() for shape in self._shapes]
        assert self._tree._compiled is not None
        return DistanceCore(Scene(self._tree._compiled, shapes, self._pairs), vector)


def _restore(
    tree: MultibodyTree, shapes: list[PlacedShape], pairs: list[tuple[int, int, float]]
) -> CollisionModel:
    model = CollisionModel.__new__(CollisionModel)
    model._set(tree, shapes, pairs)
    return model


def model_without_meshes(tree: MultibodyTree, rules: Any = None) -> CollisionModel:
    """Return what can be compared without opening a file: no meshes, no pairs of unknown distance."""
    compile_copy(tree)
    named = name_bodies(tree)
    shapes = [place(*one, False, (), {}) for one in list_shapes(named) if one[0].kind != "mesh"]
    left_out = set() if rules is None else read_disabled(rules, named)
    pairs = find_pairs(tree._compiled, shapes, "not adjacent", left_out, Names(named, ()))
    return _restore(tree, shapes, [(i, j, 0.0) for i, j in pairs if is_known(shapes[i].kind, shapes[j].kind)])


def _name_obstacles(obstacles: object, bodies: Mapping[str, RigidBody]) -> dict[str, Shape]:
    """Return obstacles by name."""
    if isinstance(obstacles, Shape) or not isinstance(obstacles, Iterable):
        raise ArgumentTypeError(f"obstacles: expected a list of mbt.Shape, got {quote(obstacles)}")
    found: dict[str, Shape] = {}
    for i, shape in enumerate(obstacles):
        if not isinstance(shape, Shape):
            raise ArgumentTypeError(f"obstacles[{i}]: expected a mbt.Shape, got {quote(shape)}")
        name = shape.name or f"obstacle[{i}]"
        if name in found or name in bodies:
            raise ArgumentValueError(f"obstacles[{i}]: the name {quote(name)} is taken")
        found[name] = shape
    return found


def _check_known(shapes: list[PlacedShape], pairs: list[tuple[int, int]]) -> None:
    known = {kinds: is_known(*kinds) for kinds in {(shapes[i].kind, shapes[j].kind) for i, j in pairs}}
    for i, j in pairs:
        a, b = shapes[i], shapes[j]
        if not known[a.kind, b.kind]:
            raise ArgumentValueError(
                f"pairs: no distance is known of a {_NAMES[a.kind]} ({a.name}) and a {_NAMES[b.kind]} "
                f"({b.name}); leave this pair out by exclude, or describe one of them by another shape"
            )
