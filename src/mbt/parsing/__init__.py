"""Robot descriptions: files and texts that become a tree.

URDF is read. `load_model` makes a tree of one robot; `add_model` adds a robot to a tree that may hold others.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal

from mbt.errors import ArgumentTypeError, ModelWarning
from mbt.math.arrays import as_finite_array
from mbt.parsing.assembly import add_description, check_base, check_tree
from mbt.parsing.report import MimicJoint, ParseRemark, ParseReport
from mbt.parsing.sources import read_source
from mbt.parsing.urdf import read_urdf

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import numpy.typing as npt

    from mbt.tree.indices import ModelInstanceIndex
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["MimicJoint", "ParseRemark", "ParseReport", "add_model", "load_model"]

Base = Literal["fixed", "floating"]


def load_model(
    path_or_text_or_bytes: str | os.PathLike[str] | bytes,
    *,
    model_name: str | None = None,
    base: Base = "fixed",
    gravity: npt.ArrayLike | None = (0.0, 0.0, -9.81),
    package_paths: Sequence[str | os.PathLike[str]] = (),
    strict: bool = False,
    joint_friction: bool = False,
) -> MultibodyTree:
    """Load a robot into a tree of its own and finalize it.

    Parameters
    ----------
    path_or_text_or_bytes : str, path or bytes
        Path of a URDF file, or the text itself: a string that begins with ``<``, or bytes.
    model_name : str, optional
        Name of the model instance; otherwise the robot's own, or that of the file.
    base : {"fixed", "floating"}, optional
        Weld the root link to World, or leave it free. A link named ``world`` is World, whatever `base` says.
    gravity : array_like, shape (3,), or None, optional
        Gravity in World [m/s^2]; None adds none.
    package_paths : sequence of paths, optional
        Where to look for a source ``package://name/...``: folders of packages, or folders that contain such
        folders. Meshes are never opened.
    strict : bool, optional
        Refuse what is loaded with a warning otherwise: inertias that no physical body has, and repairs.
    joint_friction : bool, optional
        Add a `JointFriction` for each joint whose description has a friction. Otherwise none is added, and
        ``tree.parse_reports`` counts them: most other libraries ignore friction, so results agree.

    Returns
    -------
    MultibodyTree
        Finalized. ``tree.parse_reports`` tells what was ignored or changed.

    Warns
    -----
    ModelWarning
        Once, when the report has warnings.

    Raises
    ------
    ParseError
        When the description cannot be read; the error has the file and the line.

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
    """
    from mbt.tree.force_elements.uniform_gravity import UniformGravityFieldElement
    from mbt.tree.multibody_tree import MultibodyTree

    g_W = None if gravity is None else as_finite_array(gravity, "gravity", (3,))
    tree = MultibodyTree()
    _add_model(tree, path_or_text_or_bytes, model_name, base, package_paths, strict, joint_friction)
    if g_W is not None:
        tree.add_force_element(UniformGravityFieldElement(g_W))
    tree.finalize()
    return tree


def add_model(
    tree: MultibodyTree,
    source: str | os.PathLike[str] | bytes,
    *,
    model_name: str | None = None,
    base: Base = "fixed",
    package_paths: Sequence[str | os.PathLike[str]] = (),
    strict: bool = False,
    joint_friction: bool = False,
) -> ModelInstanceIndex:
    """Add a robot to a tree that is not finalized yet. When that fails, the tree is as it was.

    Parameters
    ----------
    tree : MultibodyTree
        The tree. It gets no gravity.
    source, model_name, base, package_paths, strict, joint_friction
        As in `load_model`.

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
        When a model instance has the name already.
    """
    return _add_model(tree, source, model_name, base, package_paths, strict, joint_friction)


def _add_model(
    tree: MultibodyTree,
    source: object,
    model_name: object,
    base: object,
    package_paths: object,
    strict: bool,
    joint_friction: bool,
) -> ModelInstanceIndex:
    from mbt.tree.element import as_name
    from mbt.tree.multibody_tree import MultibodyTree

    if not isinstance(tree, MultibodyTree):
        raise ArgumentTypeError(f"tree: expected a mbt.MultibodyTree, got {type(tree).__name__}")
    name = None if model_name is None else as_name(model_name, "model_name")
    base = check_base(base)
    document = read_source(source, package_paths)
    model = read_urdf(document, model_name=name, strict=strict, joint_friction=joint_friction)
    check_tree(tree, model)
    if model.report.warnings:
        # Seen from the caller of load_model or add_model. It may be an error there, so the tree comes later.
        warnings.warn(model.report.summarize_warnings(), ModelWarning, stacklevel=3)
    return add_description(tree, model, base)
