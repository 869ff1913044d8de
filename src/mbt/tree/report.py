"""The report of ``finalize()``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from mbt._core.above import above
from mbt.errors import ArgumentTypeError, quote
from mbt.topology import SpanningForest, draw_branches, make_graphviz
from mbt.tree.joints.weld import WeldMobilizer
from mbt.tree.pictures.svg import draw_stick_figure, draw_topology
from mbt.tree.report_massless import MasslessBranch, find_massless_branches
from mbt.tree.report_tables import (
    Section,
    Table,
    as_html,
    as_text,
    distinct_names,
    plural,
    show_limit,
    show_number,
    show_range,
)

if TYPE_CHECKING:
    from mbt.tree.body import RigidBody
    from mbt.tree.element import MultibodyElement
    from mbt.tree.joint import Joint
    from mbt.tree.mobilizer import Mobilizer
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["Coordinate", "FinalizeReport", "describe_tree_as_html", "draw_tree", "make_tree_graphviz"]

# Rows of a table that are shown by default.
_MAX_ROWS = 200
# Rows shown in a notebook as the representation of a tree.
_MAX_ROWS_OF_REPR = 60


@dataclass(frozen=True)
class Coordinate:
    """A position or a velocity.

    Attributes
    ----------
    index : int
        Its index in q or v.
    name : str
        Its name, one of ``tree.position_names`` or ``tree.velocity_names``.
    mobilizer : Mobilizer
        The mobilizer to which it belongs.
    """

    index: int
    name: str
    mobilizer: Mobilizer

    @property
    def joint(self) -> Joint | None:
        """The joint to which it belongs; None if the mobilizer was added without a joint."""
        return self.mobilizer.joint


class FinalizeReport:
    """The result of ``finalize()``, as ``tree.finalize_report`` returns it.

    ``str()`` gives the whole report as text; a notebook shows it as HTML. Each part is computed on demand.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> link = tree.add_body(mbt.RigidBody("link", mbt.SpatialInertia.zero()))
    >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    >>> hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, link, None, axis=[0, 0, 1])
    >>> tree.finalize()
    >>> report = tree.finalize_report
    >>> report
    <FinalizeReport of <MultibodyTree: 3 bodies, 2 joints, 8 positions, 7 velocities, no gravity>>
    >>> print(report.draw())
    node  body     joint   type                 q    v
       0  world
       1  ├─ link  hinge   revolute             0    0
       2  └─ ball  (ball)  quaternion floating  1-7  1-6
    >>> [coordinate.name for coordinate in report.positions][:3]
    ['hinge_q', 'ball_qw', 'ball_qx']
    >>> for branch in report.massless_branches:
    ...     print(branch.reason)
    body 'link' has no mass
    """

    def __init__(self, tree: MultibodyTree) -> None:
        if not isinstance(tree, above.MultibodyTree):
            raise ArgumentTypeError(f"tree: expected a MultibodyTree, got {type(tree).__name__}")
        self._plan = tree._finalized("finalize_report")
        self._tree = tree

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the tree only: the report is made again."""
        return type(self), (self._tree,)

    @property
    def tree(self) -> MultibodyTree:
        """The tree."""
        return self._tree

    @property
    def forest(self) -> SpanningForest:
        """The place of each body between World and the tips: the same as ``tree.topology``."""
        return self._plan.forest

    @cached_property
    def node_order(self) -> tuple[RigidBody, ...]:
        """The bodies in the order of the rows of all per-body arrays."""
        return tuple(self._tree.bodies[body] for body in self.forest.body)

    @cached_property
    def positions(self) -> tuple[Coordinate, ...]:
        """The positions, in the order of q."""
        owners = [m for m in self._plan.mobilizer_of_node for _ in m._position_range()]
        return _make_coordinates(self._tree.position_names, owners)

    @cached_property
    def velocities(self) -> tuple[Coordinate, ...]:
        """The velocities, in the order of v."""
        owners = [m for m in self._plan.mobilizer_of_node for _ in m._velocity_range()]
        return _make_coordinates(self._tree.velocity_names, owners)

    @cached_property
    def ephemeral_elements(self) -> tuple[MultibodyElement, ...]:
        """The elements that ``finalize()`` added: joints of free bodies, frames, and mobilizers of joints."""
        elements = (*self._tree.joints, *self._tree.frames, *self._tree.mobilizers)
        return tuple(element for element in elements if element.is_ephemeral)

    @cached_property
    def ephemeral_joints(self) -> tuple[Joint, ...]:
        """The joints that ``finalize()`` gave to bodies without a path to World."""
        return tuple(joint for joint in self._tree.joints if joint.is_ephemeral)

    @cached_property
    def reversed_joints(self) -> tuple[Joint, ...]:
        """The joints whose child is nearer World than their parent."""
        return tuple(joint for joint in self._tree.joints if joint.mobilizer.is_reversed)

    @cached_property
    def welded_bodies(self) -> tuple[tuple[RigidBody, ...], ...]:
        """The groups of bodies that welds connect, two or more each, from World outwards."""
        group_of_node: list[list[RigidBody]] = [[self.node_order[0]]]
        groups = [group_of_node[0]]
        for b, mobilizer in enumerate(self._plan.mobilizer_of_node, start=1):
            if isinstance(mobilizer, WeldMobilizer):
                group = group_of_node[self.forest.parent[b]]
            else:
                group = []
                groups.append(group)
            group.append(self.node_order[b])
            group_of_node.append(group)
        return tuple(tuple(group) for group in groups if len(group) > 1)

    @cached_property
    def unactuated_velocities(self) -> tuple[Coordinate, ...]:
        """The velocities without an actuator."""
        driven = {actuator.velocity_start for actuator in self._tree.joint_actuators}
        return tuple(coordinate for coordinate in self.velocities if coordinate.index not in driven)

    @cached_property
    def massless_branches(self) -> tuple[MasslessBranch, ...]:
        """The joints without inertia, with the reason and the cure.

        If there is one, the mass matrix is singular and forward dynamics raises `SingularityError`, which
        names the first; this lists all. They are found with default parameters, at the default positions.
        Massless links that a loop moves are not among them.
        """
        return find_massless_branches(self._tree)

    # As text, graph and HTML.

    def draw(self, max_rows: int | None = _MAX_ROWS) -> str:
        """Return the forest as text: bodies, joints, types, nodes, and the indices of each joint in q and v.

        Parameters
        ----------
        max_rows : int or None, optional
            Number of bodies shown; the rest is only counted; None shows all.
        """
        return "\n".join(as_text(draw_tree(self._tree, max_rows)))

    def to_graphviz(self) -> str:
        """Return the forest in the language of Graphviz: ``tree.get_topology_graphviz_string()``."""
        return make_tree_graphviz(self._tree)

    def to_text(self, max_rows: int | None = _MAX_ROWS) -> str:
        """Return the whole report as text.

        Parameters
        ----------
        max_rows : int or None, optional
            Number of rows shown per table; the rest is only counted; None shows all.
        """
        lines = [repr(self._tree)]
        for section in self._sections(max_rows):
            lines += ["", section.title]
            lines += ["  " + line for line in section.text_lines()]
        return "\n".join(lines)

    def __str__(self) -> str:
        """Return the report as text."""
        return self.to_text()

    def __repr__(self) -> str:
        """Return which tree it is for."""
        return f"<FinalizeReport of {self._tree!r}>"

    def _repr_html_(self) -> str:
        """Return the report for a notebook."""
        picture = draw_topology(self._tree)
        drawing = [Section("Topology", picture=picture)] if picture else []
        return as_html(repr(self._tree), [*drawing, *self._sections(_MAX_ROWS)])

    def _sections(self, max_rows: int | None) -> list[Section]:
        forest = self.forest
        trees = f"{plural(forest.num_trees, 'tree')}, height {forest.height}"
        sections = [Section(f"Forest: {trees}", table=draw_tree(self._tree, max_rows), is_open=True)]
        positions, velocities = self._coordinate_tables(max_rows)
        sections += [
            Section(f"Positions: {len(self.positions)}", table=positions),
            Section(f"Velocities: {len(self.velocities)}", table=velocities),
        ]
        free, reversed_, welded = self.ephemeral_joints, self.reversed_joints, self.welded_bodies
        unactuated, massless = self.unactuated_velocities, self.massless_branches
        bodies, joints = distinct_names(self._tree.bodies), distinct_names(self._tree.joints)
        notes = [
            Section(
                f"Free bodies: {len(free)}",
                [
                    f"{quote(bodies[joint.child_body])} has no path to World: finalize() gave it the "
                    f"{_type_of(joint.mobilizer)} joint {quote(joint.name)}."
                    for joint in free
                ],
            ),
            Section(
                f"Reversed joints: {len(reversed_)}",
                [
                    f"{quote(joints[joint])}: its child {quote(bodies[joint.child_body])} is nearer "
                    f"World than its parent {quote(bodies[joint.parent_body])}. "
                    "q and v keep their meaning."
                    for joint in reversed_
                ],
            ),
            Section(
                f"Groups of welded bodies: {len(welded)}",
                [", ".join(quote(bodies[body]) for body in group) for group in welded],
            ),
            Section(
                f"Velocities without an actuator: {len(unactuated)} of {len(self.velocities)}",
                [", ".join(coordinate.name for coordinate in unactuated)] if unactuated else [],
            ),
            Section(
                f"Joints without inertia: {len(massless)}",
                [str(branch) for branch in massless],
                is_open=bool(massless),
            ),
        ]
        constraints = self._tree.constraints
        if constraints:
            equations = [f"{quote(entry.scoped_name)}: {entry.equation}" for entry in constraints]
            title = f"Constraints, which forward dynamics obeys: {len(constraints)}"
            notes.append(Section(title, equations))
        return sections + [section.cut(max_rows) for section in notes]

    def _coordinate_tables(self, max_rows: int | None) -> tuple[Table, Table]:
        tree = self._tree
        defaults = tree.default_positions
        owners = distinct_names(self._plan.mobilizer_of_node)
        lower, upper = tree.position_lower_limits, tree.position_upper_limits
        positions = Table(("q", "name", "joint", "lower", "upper", "default"), left=(1, 2), max_rows=max_rows)
        for c in self.positions[:max_rows]:
            limits = (show_limit(float(array[c.index])) for array in (lower, upper))
            default = show_number(float(defaults[c.index]))
            positions.add(str(c.index), c.name, owners[c.mobilizer], *limits, default)
        positions.num_rows = len(self.positions)

        lower, upper = tree.velocity_lower_limits, tree.velocity_upper_limits
        motors: dict[int, list[str]] = {}
        for actuator in tree.joint_actuators:
            motors.setdefault(actuator.velocity_start, []).append(actuator.name)
        velocities = Table(
            ("v", "name", "joint", "lower", "upper", "actuator"), left=(1, 2, 5), max_rows=max_rows
        )
        for c in self.velocities[:max_rows]:
            limits = (show_limit(float(array[c.index])) for array in (lower, upper))
            names = ", ".join(motors.get(c.index, ["-"]))
            velocities.add(str(c.index), c.name, owners[c.mobilizer], *limits, names)
        velocities.num_rows = len(self.velocities)
        return positions, velocities


def draw_tree(tree: MultibodyTree, max_rows: int | None = _MAX_ROWS) -> Table:
    """Return a drawing of the forest of a finalized tree as a table."""
    plan = tree._finalized("The drawing")
    table = Table(("node", "body", "joint", "type", "q", "v"), left=(1, 2, 3, 4, 5), max_rows=max_rows)
    bodies = distinct_names(tree.bodies)
    for b, branch in draw_branches(plan.forest)[:max_rows]:
        body = tree.bodies[plan.forest.body[b]]
        joint = ("", "", "", "")
        if b:
            mobilizer = plan.mobilizer_of_node[b - 1]
            joint = (
                _joint_name(mobilizer),
                _type_of(mobilizer) + (", reversed" if mobilizer.is_reversed else ""),
                show_range(mobilizer._position_range()),
                show_range(mobilizer._velocity_range()),
            )
        table.add(str(b), branch + bodies[body], *joint)
    table.num_rows = tree.num_bodies
    return table


def describe_tree_as_html(tree: MultibodyTree) -> str:
    """Return the forest of a tree for a notebook; before ``finalize()`` its bodies with their joints."""
    pictures = []
    if tree.is_finalized:
        picture = draw_stick_figure(tree)
        pictures = [Section("At the default positions", picture=picture, is_open=True)] if picture else []
        table = draw_tree(tree, _MAX_ROWS_OF_REPR)
        title = "Forest"
    else:
        table = Table(("body", "joints"), left=(0, 1), max_rows=_MAX_ROWS_OF_REPR)
        title = "Bodies, and the joints of which they are the child"
        joints: dict[object, list[str]] = {}
        for joint in tree.joints:
            joints.setdefault(joint.child_body, []).append(f"{joint.name} ({joint.type_name})")
        bodies = distinct_names(tree.bodies)
        for body in tree.bodies[:_MAX_ROWS_OF_REPR]:
            table.add(bodies[body], ", ".join(joints.get(body, [])))
        table.num_rows = tree.num_bodies
    return as_html(repr(tree), [*pictures, Section(title, table=table, is_open=True)])


def make_tree_graphviz(tree: MultibodyTree) -> str:
    """Return the forest of a finalized tree in the language of Graphviz."""
    plan = tree._finalized("The drawing")
    nodes, edges = [], []
    for b, index in enumerate(plan.forest.body):
        body = tree.bodies[index]
        group = "" if body.is_world else tree.get_model_instance_name(body.model_instance)
        nodes.append((b, f"{body.name}\nnode {b}", group))
    for b, mobilizer in enumerate(plan.mobilizer_of_node, start=1):
        label = f"{_joint_name(mobilizer)}\n{_type_of(mobilizer)}"
        label += ", reversed" if mobilizer.is_reversed else ""
        for letter, indices in (("q", mobilizer._position_range()), ("v", mobilizer._velocity_range())):
            label += f"\n{letter} {show_range(indices)}" if indices else ""
        is_ephemeral = mobilizer.joint is not None and mobilizer.joint.is_ephemeral
        edges.append((b, plan.forest.parent[b], label, is_ephemeral))
    return make_graphviz(nodes, edges, repr(tree).strip("<>"))


def _make_coordinates(names: tuple[str, ...], owners: list[Mobilizer]) -> tuple[Coordinate, ...]:
    return tuple(Coordinate(i, name, m) for i, (name, m) in enumerate(zip(names, owners, strict=True)))


def _joint_name(mobilizer: Mobilizer) -> str:
    """Return the name of the joint, in parentheses if ``finalize()`` made it."""
    if mobilizer.joint is None:
        return ""
    return f"({mobilizer.joint.name})" if mobilizer.joint.is_ephemeral else mobilizer.joint.name


def _type_of(mobilizer: Mobilizer) -> str:
    if mobilizer.joint is None:
        return type(mobilizer).__name__
    return mobilizer.joint.type_name.replace("_", " ")
