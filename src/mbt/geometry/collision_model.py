"""Pairs of shapes, and their distances."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.engines.lane_engine import get_num_threads
from mbt._core.geometry.distances import DistanceCore, is_known
from mbt._core.geometry.scene import find_groups
from mbt.context.checks import compile_copy
from mbt.context.context import Context
from mbt.errors import ArgumentValueError
from mbt.geometry.distance_cores import DistanceCores
from mbt.geometry.outputs import check_outs
from mbt.geometry.pair_rules import Names, check_known, find_pairs, read_disabled
from mbt.geometry.placed_shapes import (
    KINDS,
    PlacedShape,
    name_bodies,
    name_obstacles,
    open_meshes,
    place_all,
)
from mbt.math.arrays import FloatArray, as_bool, as_finite, as_float_array
from mbt.tree.report_tables import plural
from mbt.tree.shape import Shape

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

    from mbt.tree.body import RigidBody
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["CollisionModel", "model_without_meshes"]

# In the order of `DistanceCore.run`.
_RESULTS = ("d", "p_WA", "p_WB", "n_W", "J", "is_free")


class CollisionModel:
    """Pairs of the shapes in ``body.collisions`` and of obstacles, and their distances.

    Shapes that never move relative to each other form no pair: two on one body or on bodies that are welded
    together, or a shape on World and an obstacle.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree of doubles.
    pairs : str or sequence of pairs, optional
        ``"not adjacent"``, the default: shapes of all bodies, except of two bodies that a joint connects; a
        joint on World itself does not count. ``"all"``: these as well. ``"mjcf"``: the pairs that MuJoCo
        tests: as ``"not adjacent"``, but a body that is welded to World counts as World. Or a list of pairs
        of bodies, as `RigidBody` or by name, or of obstacles by name.

        `MultibodyTree.exclude_collisions` removes pairs from all of these, `Shape.contact_bits` from all but
        a list.
    obstacles : sequence of Shape, optional
        Fixed shapes; ``X_BG`` is their pose in World. Each forms pairs with all bodies that move. One without
        a name is called ``"obstacle[0]"``, after its place.
    exclude : sequence of pairs, optional
        Pairs of bodies or obstacles to leave out.
    padding : float or mapping, optional
        Thickness by which every shape is enlarged [m]; or a mapping from bodies or obstacles to theirs.
        Distances decrease by the padding of both shapes; witness points stay on the shapes themselves.
    rules : str or path, optional
        A file of SRDF, whose ``disable_collisions`` are left out, or of MJCF, whose ``exclude`` are; or its
        text. Names of bodies that the tree does not have are ignored.
    hulls : bool, optional
        Whether meshes in a pair are read, with trimesh, and replaced by their convex hulls. By default a mesh
        in a pair is an error.
    package_paths : sequence of paths, optional
        Where to look for meshes, see `mbt.parsing.resolve_mesh`.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, UnknownNameError, NotFinalizedError
        When an argument is invalid, or the distance between two kinds of shapes is not implemented.
    MissingPackageError, ParseError
        When a file of rules, or a mesh in a pair, cannot be read.

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
            raise ArgumentValueError(f"tree: expected a tree of doubles, got one of {tree.scalar_type.name}")
        named = name_bodies(tree)
        standing = name_obstacles(obstacles, named)
        names = Names(named, standing)
        left_out = names.read_pairs(exclude, "exclude")
        left_out |= {frozenset(map(names.of, pair)) for pair in tree.collision_exclusions}
        if rules is not None:
            left_out |= read_disabled(rules, named)
        hulls = as_bool(hulls, "hulls")
        shapes = place_all(named, standing, package_paths)
        found = find_pairs(tree._compiled, shapes, pairs, left_out, names)
        check_known(shapes, found)
        thickness = names.read_padding(padding)
        padded = [(i, j, thickness[shapes[i].owner] + thickness[shapes[j].owner]) for i, j in found]
        self._set(tree, shapes, padded, standing, hulls)

    def _set(
        self,
        tree: MultibodyTree,
        shapes: list[PlacedShape],
        pairs: list[tuple[int, int, float]],
        obstacles: Mapping[str, Shape],
        hulls: bool,
    ) -> None:
        self._tree = tree
        self._shapes = shapes = open_meshes(shapes, pairs, hulls)
        self._pairs = pairs
        self._obstacles = obstacles
        self._hulls = hulls
        self._names = tuple((shapes[i].name, shapes[j].name) for i, j, _ in pairs)
        self._cores = DistanceCores(tree, shapes, pairs)

    @property
    def tree(self) -> MultibodyTree:
        """The tree."""
        return self._tree

    @property
    def obstacles(self) -> tuple[Shape, ...]:
        """The fixed shapes."""
        return tuple(self._obstacles.values())

    @property
    def num_pairs(self) -> int:
        """The number of pairs."""
        return len(self._pairs)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The names of the bodies and obstacles in each pair, in the order of results.

        If a body has several shapes, the name of the shape or its place follows: ``"hand/thumb"``,
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
        out: Any = None,
    ) -> Any:
        """Return the signed distance of each pair.

        Parameters
        ----------
        q : array_like, shape (..., num_positions)
            Positions. If one is NaN, or puts a shape farther than 3e153 m from World, the results of its
            sample are NaN.
        witness : bool, optional
            Whether to return the closest points and the normal.
        jacobian : bool, optional
            Whether to return the Jacobian of the distances, last.
        context : Context, optional
            Its parameters apply, for example poses of frames. Those of a batch apply to each sample, and its
            leading axes broadcast with those of `q`. Without a context, the default parameters apply.
        out : ndarray or tuple of ndarray, optional
            Arrays to write the results into, one array or None for each in order; they are then returned.
            Reusing memory saves up to half the time for large results.

        Returns
        -------
        d : ndarray, shape (..., num_pairs)
            Distances [m]. A negative one is how far overlapping shapes must move until they only touch.
        p_WA, p_WB : ndarray, shape (..., num_pairs, 3)
            Closest points on the first and the second shape [m], in World. If several are equally close, one
            of them.
        n_W : ndarray, shape (..., num_pairs, 3)
            Unit normals from the first to the second shape: without padding ``p_WB - p_WA = d n_W``.
        J : ndarray, shape (..., num_pairs, num_velocities)
            The Jacobian as returned by `distance_jacobian`.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, ShapeError, ContextMismatchError
            When an argument is invalid.

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
        shapes: dict[str, tuple[int, ...]] = {"d": (self.num_pairs,)}
        if as_bool(witness, "witness"):
            shapes |= dict.fromkeys(("p_WA", "p_WB", "n_W"), (self.num_pairs, 3))
        if as_bool(jacobian, "jacobian"):
            shapes["J"] = self.num_pairs, self._tree.num_velocities
        results = self._fill(q, context, shapes, out)
        return tuple(results) if len(results) > 1 else results[0]

    def distance_jacobian(
        self, q: npt.ArrayLike, *, context: Context | None = None, out: FloatArray | None = None
    ) -> FloatArray:
        """Return the Jacobian of the distances, whose rates are ``J v``.

        For each pair it is the normal times the relative velocity Jacobian of the witness points, as if they
        were fixed to their bodies. That is the derivative of the distance wherever it exists. Where other
        points are equally close, as for a box flat on a box, it is one of several limits, and finite.

        Parameters
        ----------
        q : array_like, shape (..., num_positions)
            Positions.
        context : Context, optional
            As in `distances`.
        out : ndarray, shape (..., num_pairs, num_velocities), optional
            The array to write the result into.

        Returns
        -------
        ndarray, shape (..., num_pairs, num_velocities)

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, ShapeError, ContextMismatchError
            As `distances`.
        """
        shape = self.num_pairs, self._tree.num_velocities
        J: FloatArray = self._fill(q, context, {"J": shape}, out)[0]
        return J

    def is_free(
        self, q: npt.ArrayLike, *, margin: float = 0.0, context: Context | None = None, out: Any = None
    ) -> Any:
        """Return whether all pairs are at least `margin` apart.

        This is faster than computing all distances, because bounding spheres separate most pairs.

        Parameters
        ----------
        q : array_like, shape (..., num_positions)
            Positions. A state with a NaN is not free.
        margin : float, optional
            The required distance [m]; a negative one allows that much overlap.
        context : Context, optional
            As in `distances`.
        out : ndarray of bool, shape (...,), optional
            The array to write the result into.

        Returns
        -------
        bool, or ndarray of bool, shape (...,)

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, ShapeError, ContextMismatchError
            As `distances`.
        """
        free = self._fill(q, context, {"is_free": ()}, out, as_finite(margin, "margin"))[0]
        return free if free.ndim or out is not None else bool(free)

    def nearest(self, q: npt.ArrayLike, *, context: Context | None = None) -> tuple[Any, Any]:
        """Return the pair with the smallest distance, as its place in `pairs`, and this distance.

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
            As `distances`; also when there are no pairs.
        """
        if not self._pairs:
            raise ArgumentValueError("nearest: this model has no pair of shapes")
        d = self.distances(q, context=context)
        pair = d.argmin(axis=-1)
        smallest = np.take_along_axis(d, pair[..., np.newaxis], -1)[..., 0]
        return (pair, smallest) if pair.ndim else (int(pair), float(smallest))

    def edit(
        self,
        *,
        add: Iterable[Shape] = (),
        remove: Iterable[str] = (),
        exclude: Iterable[tuple[str | RigidBody, str | RigidBody]] = (),
        padding: float | Mapping[str | RigidBody, float] | None = None,
    ) -> Self:
        """Return a model with these changes; this one is not modified. Known meshes are not read again.

        Parameters
        ----------
        add : sequence of Shape, optional
            More obstacles. Each forms pairs with all bodies that move.
        remove : sequence of str, optional
            Names of obstacles to remove; new ones may use them again.
        exclude : sequence of pairs, optional
            Pairs of bodies or obstacles to leave out from now on.
        padding : float or mapping, optional
            The new padding, as for the class. By default all pairs keep theirs; it is required when obstacles
            are added to a model with padding.

        Returns
        -------
        CollisionModel

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, UnknownNameError
            When an argument is invalid, or `padding` is missing.
        MissingPackageError, ParseError
            When a mesh of a new pair cannot be read.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> ball = mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1))
        >>> _ = tree.add_body(ball.add_collision(mbt.Shape("sphere", [0.1])))
        >>> tree.finalize()
        >>> scene = mbt.CollisionModel(tree, obstacles=[mbt.Shape("plane", [], name="floor")])
        >>> post = mbt.Shape("capsule", [0.05, 1.0], mbt.math.make_pose([1, 0, 0.5]), name="post")
        >>> scene.edit(add=[post]).pairs
        (('ball', 'floor'), ('ball', 'post'))
        >>> scene.edit(add=[post], remove=["floor"], padding={"post": 0.02}).pairs
        (('ball', 'post'),)
        """
        from mbt.geometry.scene_edits import edit_scene

        shapes, pairs, obstacles = edit_scene(self, add, remove, exclude, padding)
        model = type(self).__new__(type(self))
        model._set(self._tree, shapes, pairs, obstacles, self._hulls)
        return model

    def _with_pairs(self, more: Iterable[tuple[int, int]]) -> CollisionModel:
        """Return a model with more pairs, given as places of shapes.

        Pairs that never move relative to each other, or whose distance is not implemented, are ignored.
        """
        assert self._tree._compiled is not None
        groups = find_groups(self._tree._compiled)
        shapes, present = self._shapes, {(i, j) for i, j, _ in self._pairs}
        added = [
            (i, j, 0.0)
            for i, j in more
            if (i, j) not in present
            and groups[shapes[i].node][2] != groups[shapes[j].node][2]
            and is_known(shapes[i].kind, shapes[j].kind)
        ]
        return _restore(self._tree, shapes, self._pairs + added, self._obstacles, self._hulls)

    def to_json(self) -> str:
        """Return obstacles, pairs and padding as text for `from_json`; the tree is not included.

        Returns
        -------
        str

        Raises
        ------
        ArgumentValueError
            When two shapes have the same name.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> ball = mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1))
        >>> _ = tree.add_body(ball.add_collision(mbt.Shape("sphere", [0.1])))
        >>> tree.finalize()
        >>> scene = mbt.CollisionModel(tree, obstacles=[mbt.Shape("plane", [], name="floor")], padding=0.01)
        >>> again = mbt.CollisionModel.from_json(tree, scene.to_json())
        >>> again.pairs, again.to_json() == scene.to_json()
        ((('ball', 'floor'),), True)
        """
        from mbt.geometry.scene_json import write_scene

        return write_scene(self._shapes, self._pairs, self._obstacles, hulls=self._hulls)

    @classmethod
    def from_json(
        cls,
        tree: MultibodyTree,
        source: str | os.PathLike[str],
        *,
        package_paths: Sequence[str | os.PathLike[str]] = (),
    ) -> Self:
        """Return a model from the output of `to_json`, for a tree whose shapes have the same names.

        Parameters
        ----------
        tree : MultibodyTree
            A finalized tree of doubles.
        source : str or path
            The text, or a file that contains it.
        package_paths : sequence of paths, optional
            Where to look for meshes.

        Returns
        -------
        CollisionModel

        Raises
        ------
        ParseError, NotFinalizedError, ArgumentTypeError, ArgumentValueError
            When the text cannot be read, or the tree does not have the shapes of its pairs.
        """
        from mbt.geometry.scene_json import read_scene

        file = read_scene(source)
        model = cls(tree, [], obstacles=file.obstacles, hulls=file.hulls, package_paths=package_paths)
        pairs = file.find_pairs(model._shapes)
        check_known(model._shapes, [(i, j) for i, j, _ in pairs])
        model._set(tree, model._shapes, pairs, model._obstacles, file.hulls)
        return model

    def __repr__(self) -> str:
        """Show the numbers of shapes and pairs."""
        return f"<CollisionModel: {plural(len(self._shapes), 'shape')}, {plural(self.num_pairs, 'pair')}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle shapes and pairs, so that no file is read again."""
        return _restore, (self._tree, self._shapes, self._pairs, self._obstacles, self._hulls)

    def _fill(
        self,
        q: npt.ArrayLike,
        context: Context | None,
        shapes: Mapping[str, tuple[int, ...]],
        out: object = None,
        margin: float = 0.0,
    ) -> list[Any]:
        """Return arrays of results by name, with shapes (..., *shape)."""
        nq = self._tree.num_positions
        positions = as_float_array(q, "q", (..., nq))
        batch = self._cores.join(positions.shape[:-1], context)
        count = math.prod(batch)
        rows = np.ascontiguousarray(np.broadcast_to(positions, (*batch, nq))).reshape(count, nq)
        dtype = np.bool_ if "is_free" in shapes else np.float64
        if out is None:
            results: list[Any] = [np.empty((*batch, *shape), dtype) for shape in shapes.values()]
        else:
            results = check_outs(out, [(*batch, *shape) for shape in shapes.values()], dtype, positions)
        flat = {
            name: x.reshape(count, *shape) for (name, shape), x in zip(shapes.items(), results, strict=True)
        }
        for core, part in self._cores.share(batch, context):
            parts = {name: x[part] for name, x in flat.items()}
            d, p_WA, p_WB, n_W, J, free = map(parts.get, _RESULTS)
            core.run(rows[part], get_num_threads(), d, p_WA, p_WB, n_W, J, free, margin)
        return results

    def _prepare(self, context: Context | None) -> DistanceCore:
        return self._cores.prepare(context)


def _restore(
    tree: MultibodyTree,
    shapes: list[PlacedShape],
    pairs: list[tuple[int, int, float]],
    obstacles: Mapping[str, Shape] = {},
    hulls: bool = False,
) -> CollisionModel:
    model = CollisionModel.__new__(CollisionModel)
    model._set(tree, shapes, pairs, obstacles, hulls)
    return model


def model_without_meshes(tree: MultibodyTree, rules: Any = None) -> CollisionModel:
    """Return a model that needs no files: without meshes and pairs whose distance is not implemented."""
    compile_copy(tree)
    named = name_bodies(tree)
    shapes = place_all(named, {})
    names = Names(named, ())
    left_out = {frozenset(map(names.of, pair)) for pair in tree.collision_exclusions}
    if rules is not None:
        left_out |= read_disabled(rules, named)
    pairs = []
    for i, j in find_pairs(tree._compiled, shapes, "not adjacent", left_out, names):
        kinds = shapes[i].kind, shapes[j].kind
        if KINDS["mesh"] not in kinds and is_known(*kinds):
            pairs.append((i, j, 0.0))
    return _restore(tree, shapes, pairs)
