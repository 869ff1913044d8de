"""Robot descriptions: files and texts that become a tree.

The formats are URDF, SDF, MJCF (with the package mujoco) and the JSON that `mbt.save_model` writes.
`load_model` makes a tree of one robot; `add_model` adds a robot to a tree that may hold others.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal, overload

from mbt._core.above import above
from mbt.errors import ArgumentTypeError, ArgumentValueError, ModelWarning, quote, show_path
from mbt.parsing.assembly import (
    ListedPair,
    add_description,
    check_can_change,
    check_tree,
    finish_tree,
    make_mount,
)
from mbt.parsing.description import ModelDescription
from mbt.parsing.formats import read_description
from mbt.parsing.garbage import collection_paused
from mbt.parsing.meshes import resolve_mesh
from mbt.parsing.options import Actuators, Base, ReadOptions, as_gravity
from mbt.parsing.packages import as_folders
from mbt.parsing.placement import place_on
from mbt.parsing.report import MimicJoint, ParseRemark, ParseReport
from mbt.parsing.sources import Source, read_source
from mbt.parsing.xacro_files import expand_xacro
from mbt.saving.json_text import is_json
from mbt.saving.permission import Permission, as_permission
from mbt.tree.element import as_name
from mbt.tree.shape import as_shapes

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from mbt.geometry import ShapeContact
    from mbt.saving.json_reader import JsonModel
    from mbt.tree.body import RigidBody
    from mbt.tree.element import MultibodyElement
    from mbt.tree.frame import Frame
    from mbt.tree.indices import ModelInstanceIndex
    from mbt.tree.multibody_tree import MultibodyTree
    from mbt.tree.shape import Shape

__all__ = [
    "MimicJoint",
    "ParseRemark",
    "ParseReport",
    "add_model",
    "expand_xacro",
    "load_model",
    "resolve_mesh",
]


@overload
def load_model(
    path_or_text_or_bytes: str | os.PathLike[str] | bytes,
    *,
    model_name: str | None = None,
    base: Base = None,
    base_pose: npt.ArrayLike | None = None,
    gravity: npt.ArrayLike | Literal["file"] | None = "file",
    package_paths: Sequence[str | os.PathLike[str]] = (),
    strict: bool = False,
    actuators: Actuators = "declared",
    joint_friction: bool = False,
    prefix: str = "",
    user_elements: bool | Iterable[type[MultibodyElement]] = False,
    contacts: Literal[False] = False,
    obstacles: Iterable[Shape] = (),
) -> MultibodyTree: ...
@overload
def load_model(
    path_or_text_or_bytes: str | os.PathLike[str] | bytes,
    *,
    model_name: str | None = None,
    base: Base = None,
    base_pose: npt.ArrayLike | None = None,
    gravity: npt.ArrayLike | Literal["file"] | None = "file",
    package_paths: Sequence[str | os.PathLike[str]] = (),
    strict: bool = False,
    actuators: Actuators = "declared",
    joint_friction: bool = False,
    prefix: str = "",
    user_elements: bool | Iterable[type[MultibodyElement]] = False,
    contacts: Literal[True],
    obstacles: Iterable[Shape] = (),
) -> tuple[MultibodyTree, ShapeContact]: ...
def load_model(
    path_or_text_or_bytes: str | os.PathLike[str] | bytes,
    *,
    model_name: str | None = None,
    base: Base = None,
    base_pose: npt.ArrayLike | None = None,
    gravity: npt.ArrayLike | Literal["file"] | None = "file",
    package_paths: Sequence[str | os.PathLike[str]] = (),
    strict: bool = False,
    actuators: Actuators = "declared",
    joint_friction: bool = False,
    prefix: str = "",
    user_elements: bool | Iterable[type[MultibodyElement]] = False,
    contacts: bool = False,
    obstacles: Iterable[Shape] = (),
) -> MultibodyTree | tuple[MultibodyTree, ShapeContact]:
    """Load a robot into a new tree and finalize it.

    Links, joints and actuators are added depth first, with children in file order. So the index of a body
    is its row in per-body arrays, and actuators are in the order of the velocities that they drive.

    Parameters
    ----------
    path_or_text_or_bytes : str, path or bytes
        Path of a URDF, SDF, MJCF or JSON file, or the text itself: a string that begins with ``<`` or ``{``,
        or bytes. The format is detected from the content. MJCF needs the package mujoco:
        ``pip install "multibodytree[mjcf]"``.
    model_name : str, optional
        Name of the model instance; by default the robot's own name, or that of the file. A world of several
        models is a model instance that holds them: ``"hall::robot"``.
    base : {"fixed", "floating"}, optional
        Weld the root links to World, or leave them free. None follows the file: unattached links of SDF and
        free joints of MJCF are free; in URDF, which cannot express this, roots are fixed. A link named
        ``world`` is World; ``"floating"`` removes the joints that fix links to it.
    base_pose : array_like, shape (4, 4), optional
        Pose in World at which the roots are welded, and the default pose of a floating base; also the pose of
        a link named ``world``.
    gravity : array_like, shape (3,), "file" or None, optional
        Gravity in World [m/s^2]. ``"file"`` takes it from the file: from ``<option>`` of MJCF, ``<world>``
        of SDF, or a model in JSON, which may have none. Where the file does not specify it, as in URDF, it
        is ``(0, 0, -9.81)``. Numbers replace it, and None adds none.
    package_paths : sequence of paths, optional
        Where to look for a source ``package://name/...``: package folders, or folders that contain them. The
        folders in ``ROS_PACKAGE_PATH`` and ``AMENT_PREFIX_PATH`` come after these. Meshes are never opened;
        `mbt.parsing.resolve_mesh` finds them.
    strict : bool, optional
        Raise an error for physically impossible inertias and for every repair; otherwise these are
        warnings. Content that is read as written still gives a warning: joints that mimic others, the inertia
        of a link ``world``, joints that ``base="floating"`` leaves out, massless dofs.
    actuators : {"declared", "all"}, optional
        Add only the actuators that the file declares, or one for every joint with one degree of freedom:
        joints without one get an actuator with the joint's name and effort limit. A joint whose effort limit
        is zero gets none.
    joint_friction : bool, optional
        Whether the `JointFriction` of each joint with friction in the description acts in all computations.
        By default it acts in implicit steps only, and ``tree.parse_reports`` counts these joints. Most other
        libraries ignore friction too, so results agree.
    prefix : str, optional
        Text to put before the names of all elements, and before that of the model unless `model_name` is
        given: with ``"left_"`` a link ``palm`` becomes ``"left_palm"``. The report has the names of the file.
    user_elements : bool, or classes of elements, optional
        User-written classes that a model in JSON may name; True allows any class that can be imported.
        Importing a module runs its code, so nothing is imported by default.
    contacts : bool, optional
        Also return the contact of shapes that the file describes, for `simulate`: between the shapes in
        ``body.collisions``, with the friction, stiffness and dissipation of their `Surface`. In MJCF, pairs
        are those that MuJoCo tests, ``<contact><pair>`` included; otherwise, shapes of any two bodies that no
        joint connects. Meshes are opened, with the package trimesh, and replaced by their convex hulls.
    obstacles : sequence of Shape, optional
        With ``contacts=True``: shapes that stand still in World, such as a floor, which URDF does not have.

    Returns
    -------
    tree : MultibodyTree
        Finalized. ``tree.parse_reports`` lists ignored and changed content.
    contacts : ShapeContact
        With ``contacts=True`` only.

    Warns
    -----
    ModelWarning
        Once, when the report has warnings; and when loops cannot close, or are locked by rounded numbers.

    Raises
    ------
    ParseError
        When the description cannot be read; the error gives the file and the line. With ``contacts=True``,
        also when a mesh cannot be read.

    Examples
    --------
    >>> import mbt
    >>> text = '''<robot name="pendulum">
    ...   <link name="base"/>
    ...   <link name="bob"><inertial><mass value="2"/><origin xyz="0 0 -1"/>
    ...     <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
    ...   <joint name="hinge" type="continuous">
    ...     <parent link="base"/><child link="bob"/><axis xyz="0 1 0"/></joint>
    ... </robot>'''
    >>> tree = mbt.load_model(text)
    >>> tree.num_bodies, tree.num_positions
    (3, 1)

    A ball that falls on a floor:

    >>> text = '''<robot name="ball"><link name="ball"><inertial><mass value="1"/>
    ...     <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.004" iyz="0" izz="0.004"/></inertial>
    ...   <collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>'''
    >>> floor = mbt.Shape("plane", name="floor")
    >>> X_WB = mbt.math.make_pose([0, 0, 0.5])
    >>> tree, contacts = mbt.load_model(
    ...     text, base="floating", base_pose=X_WB, contacts=True, obstacles=[floor]
    ... )
    >>> context = tree.create_default_context()
    >>> motion = mbt.simulate(tree, context, 1.0, 5e-3, method="implicit", contacts=contacts)
    >>> motion.q[-1, 6].round(3)
    np.float64(0.1)
    """
    from mbt.tree.multibody_tree import MultibodyTree

    gravity = as_gravity(gravity)
    tree = MultibodyTree()
    folders = tuple(as_folders(package_paths))
    options = ReadOptions(
        model_name, base, strict, joint_friction, actuators, prefix, folders, gravity, contacts
    )
    standing = as_shapes(obstacles, "obstacles")
    if standing and not contacts:
        raise ArgumentValueError("obstacles: nothing touches them without contacts=True")
    source = read_source(path_or_text_or_bytes, package_paths, "path_or_text_or_bytes")
    with collection_paused():
        _, listed = _add_model(
            tree, source, options, base_pose, None, None, user_elements=as_permission(user_elements)
        )
        if is_json(source.data):
            from mbt.parsing.json_models import finish_json_tree

            finish_json_tree(tree, source)
        else:
            finish_tree(tree, tree.parse_reports[0].gravity if isinstance(gravity, str) else gravity)
            _warn_of_closures(tree)
    if not contacts:
        return tree
    rule = "mjcf" if tree.parse_reports[0].format == "MJCF" else "not adjacent"
    return tree, above.contacts_of_file(tree, rule, standing, package_paths, listed)


def add_model(
    tree: MultibodyTree,
    source: str | os.PathLike[str] | bytes,
    *,
    model_name: str | None = None,
    base: Base = None,
    base_pose: npt.ArrayLike | None = None,
    parent: Frame | RigidBody | str | None = None,
    X_PF: npt.ArrayLike | None = None,
    child_frame: str | None = None,
    package_paths: Sequence[str | os.PathLike[str]] = (),
    strict: bool = False,
    actuators: Actuators = "declared",
    joint_friction: bool = False,
    prefix: str = "",
    user_elements: bool | Iterable[type[MultibodyElement]] = False,
) -> ModelInstanceIndex:
    """Add a robot to a tree that is not finalized yet. If that fails, the tree is unchanged.

    The tree gets no gravity: ``tree.add_force_element(mbt.UniformGravityFieldElement())`` adds it, once for
    all models. ``tree.parse_reports[-1].gravity`` has the gravity of the file.

    Parameters
    ----------
    tree : MultibodyTree
        The tree.
    source, model_name, base, base_pose, package_paths, strict, actuators, joint_friction, prefix
        As in `load_model`.
    user_elements : bool, or classes of elements, optional
        As in `load_model`.
    parent : Frame, RigidBody or str, optional
        Where to mount the model instead of World: a frame P of the tree, a body (for its frame) or the name
        of either. The root of the model is welded there.
    X_PF : array_like, shape (4, 4), optional
        Pose of the model in the parent frame; by default the identity. If the model has several roots, or a
        link named ``world``, this is the pose of its World.
    child_frame : str, optional
        Name in the file of the link or frame to place at `X_PF`, or `base_pose`, in place of the root. It
        must be fixed relative to the root. ``"__model__"`` is the frame of the model, as SDF calls it; in
        URDF and MJCF that is its World. Not for a model in JSON.

    Returns
    -------
    ModelInstanceIndex
        The model instance of everything that was added.

    Raises
    ------
    ParseError
        When the description cannot be read.
    AlreadyFinalizedError
        When the tree is finalized.
    ArgumentValueError
        When a model instance of this name exists already, or the model has no such `child_frame`.
    ForeignElementError
        When the parent is a frame of another tree.

    Examples
    --------
    A tool on the flange of an arm:

    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> arm = mbt.parsing.add_model(tree, mbt.models.model_path("mbt_arm"))
    >>> tool = '<robot name="tool"><link name="camera"/></robot>'
    >>> mbt.parsing.add_model(tree, tool, parent="flange", X_PF=mbt.math.make_pose([0, 0, 0.1]))
    3
    >>> tree.get_joint_by_name("camera_to_flange").parent_body.name
    'flange'

    Two of them:

    >>> spare = mbt.parsing.add_model(tree, tool, prefix="spare_")
    >>> tree.get_body_by_name("spare_camera").scoped_name
    'spare_tool::spare_camera'
    """
    folders = tuple(as_folders(package_paths))
    options = ReadOptions(model_name, base, strict, joint_friction, actuators, prefix, folders)
    permission = as_permission(user_elements)
    if child_frame is not None:
        as_name(child_frame, "child_frame")
    data = read_source(source, package_paths)
    with collection_paused():
        instance, _ = _add_model(
            tree, data, options, base_pose, parent, X_PF, user_elements=permission, child_frame=child_frame
        )
    return instance


def _add_model(
    tree: MultibodyTree,
    source: Source,
    options: ReadOptions,
    base_pose: object,
    parent: object,
    X_PF: object,
    *,
    user_elements: Permission,
    child_frame: str | None = None,
) -> tuple[ModelInstanceIndex, list[ListedPair] | None]:
    """Add a model, without gravity unless it is in JSON; return it, and the contact that it lists."""
    from mbt.tree.multibody_tree import MultibodyTree

    if not isinstance(tree, MultibodyTree):
        raise ArgumentTypeError(f"tree: expected an mbt.MultibodyTree, got {type(tree).__name__}")
    mount = make_mount(tree, options.base, base_pose, parent, X_PF)
    model: JsonModel | ModelDescription
    if is_json(source.data):
        from mbt.parsing.json_models import read_json_model

        check_can_change(tree)
        if child_frame is not None:
            raise ArgumentValueError(
                "child_frame: not allowed for a model in JSON, which is placed by its World; leave it out"
            )
        model = read_json_model(tree, source, options, mount, user_elements)
    else:
        model = read_description(source, options)
        model.set_prefix(options.prefix, of_model=options.model_name is None)
        check_tree(tree, model.name)
        mount = place_on(mount, model, child_frame)
    if model.report.warnings:
        # Attributed to the caller of load_model or add_model. A filter may raise it: so the tree comes later.
        warnings.warn(model.report.summarize_warnings(), ModelWarning, stacklevel=3)
    if isinstance(model, ModelDescription):
        return add_description(tree, model, mount, base=options.base)
    return model.add(), []


def _warn_of_closures(tree: MultibodyTree) -> None:
    """Warn of loops that cannot close, or are locked by rounded numbers."""
    if not tree.num_constraints:
        return
    from mbt.tree.constraints.closing import describe_gap

    gap = describe_gap(tree)
    if gap:
        report = tree.parse_reports[0]
        report.warn(gap)
        text = f"{show_path(report.file)}: model {quote(report.model_name)} has {gap}"
        warnings.warn(text, ModelWarning, stacklevel=3)
