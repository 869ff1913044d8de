"""Small models in MJCF, each with one feature, and several with many."""

# ruff: noqa: E501 - elements of XML are not broken

from __future__ import annotations

__all__ = [
    "BODY",
    "COUPLED",
    "EQUALITIES",
    "KEYS",
    "LIMITS",
    "LOSSY",
    "LUMP",
    "MODELS",
    "SEVERAL_CONTROLS",
    "SHAPES",
    "TWO_FREE_BODIES",
]

BALL = '<geom type="sphere" size="0.1" density="800"/>'
LUMP = '<inertial pos="0.1 0.02 -0.05" mass="1.3" fullinertia="0.02 0.03 0.025 0.001 -0.002 0.003"/>'
BODY = f'<body name="a"><joint name="j"/>{LUMP}</body>'


def _model(bodies: str, more: str = "", head: str = "") -> str:
    return f'<mujoco model="robot">{head}<worldbody>{bodies}</worldbody>{more}</mujoco>'


#: Models that convert without loss, by name.
MODELS = {
    "hinge": _model(
        f'<body name="a" pos="1 2 3" euler="20 30 40"><joint name="j" axis="1 2 3"/>{LUMP}</body>'
    ),
    "slide": _model(
        f'<body name="a" quat="1 2 3 4"><joint name="j" type="slide" axis="1 2 3"/>{LUMP}</body>'
    ),
    "ball": _model(
        f'<body name="a" pos="0 0 1" euler="20 30 40"><joint name="j" type="ball" pos=".1 .2 .3" damping=".3"/>'
        f'{LUMP}<body name="b" pos=".3 0 0"><joint name="k" type="ball"/>{LUMP}</body></body>'
    ),
    "free": _model(
        f'<body name="a" pos="0 0 1" euler="20 30 40"><freejoint name="root"/>{LUMP}'
        f'<body name="b" pos=".3 0 0"><joint name="k"/>{LUMP}</body></body>'
    ),
    "free_damped": _model(f'<body name="a" pos="0 0 1"><joint type="free" damping="0.7"/>{LUMP}</body>'),
    "anchor": _model(
        f'<body name="a" pos="0 0 1"><joint name="j" pos=".3 -.2 .1" axis="0 1 1"/>{LUMP}</body>'
    ),
    "several_joints": _model(
        f'<body name="a" pos="0 0 1" euler="20 30 40"><joint name="x" type="slide" axis="1 1 0"/>'
        f'<joint name="turn" axis="0 1 0" pos=".1 .2 .3"/><joint name="y" type="slide" axis="0 1 1"/>'
        f'<joint name="roll" axis="1 0 1" pos="-.1 0 .3"/>{LUMP}'
        f'<body name="b" pos=".3 0 0"><joint axis="1 0 0"/><joint axis="0 1 0" pos="0 0 .3"/>'
        f'<joint type="ball" pos=".2 .1 0"/>{LUMP}</body>'
        f"</body>"
    ),
    "ref": _model(
        f'<body name="a" pos="0 0 1" euler="20 30 40"><joint name="j" axis="0 1 1" ref="35" pos=".1 0 .2"/>'
        f'<joint name="s" type="slide" axis="1 1 0" ref="0.4"/><joint name="k" axis="1 0 0" ref="-70"/>{LUMP}</body>'
    ),
    "springs": _model(
        f'<body name="a"><joint name="j" axis="0 1 0" ref="20" springref="35" stiffness="3" damping="0.2"/>'
        f'{LUMP}<body name="b" pos=".2 0 0"><joint name="s" type="slide" axis="1 1 0" ref="0.1" springref="-0.2"'
        f' stiffness="30" damping="4"/>{LUMP}</body></body>'
    ),
    "springdamper": _model(
        f'<body name="a"><joint name="j" axis="0 1 0" springdamper="0.1 0.7"/>{LUMP}</body>'
    ),
    "armature": _model(
        f'<body name="a"><joint name="j" axis="0 1 0" armature="0.3"/>{LUMP}'
        f'<body name="b" pos=".2 0 0"><joint name="s" type="slide" armature="2"/>{LUMP}</body></body>',
        '<actuator><motor name="m" joint="j" gear="7"/><motor name="n" joint="j" gear="3"/></actuator>',
    ),
    "armatures": _model(
        f'<body name="a"><joint name="j" type="ball" pos=".1 0 .2" armature="0.3"/>{LUMP}'
        f'<body name="b" pos=".2 0 0"><joint name="k" type="ball" armature="0.2"/>{LUMP}</body></body>'
        f'<body name="c" pos="0 2 0"><joint name="loose" type="free" armature="0.7"/>{LUMP}</body>'
    ),
    "rotors": _model(
        f'<body name="a"><joint name="j" axis="0 1 0" armature="0.3"/>{LUMP}'
        f'<body name="b" pos=".2 0 0"><joint name="s" type="slide"/>{LUMP}</body></body>',
        '<actuator><motor joint="j" gear="7" armature="0.01" damping="0.02"/>'
        '<motor joint="s" gear="3" armature="0.2" damping="0.3"/></actuator>',
    ),
    "gravcomp": _model(
        f'<body name="a"><joint name="j" axis="0 1 0"/>{LUMP}'
        f'<body name="b" pos=".2 0 0" gravcomp="1"><joint name="k" axis="1 0 0" pos="0 .1 0"/>{LUMP}'
        f'<body name="c" pos=".2 0 0"><joint name="l" axis="0 0 1"/>{LUMP}</body></body></body>'
        f'<body name="d" gravcomp="1"><freejoint name="loose"/>{LUMP}</body>'
    ),
    "part_of_gravity": _model(
        f'<body name="a" gravcomp="0.3"><joint name="j" axis="0 1 0"/>{LUMP}'
        f'<body name="b" pos=".2 0 0" gravcomp="0.9"><joint name="k" axis="1 0 0" pos="0 .1 0"/>{LUMP}'
        f'<body name="c" pos=".2 0 0"><joint name="l" axis="0 0 1"/>{LUMP}</body></body></body>'
        f'<body name="d" gravcomp="0.5"><freejoint name="loose"/>{LUMP}</body>'
    ),
    "geoms": _model(
        '<body name="a"><joint name="j" axis="0 1 0"/><geom type="box" size=".1 .2 .3" pos=".1 0 0" euler="10 20 30"/>'
        '<geom type="capsule" fromto="0 0 0 .3 .2 .1" size=".02"/><geom type="cylinder" size=".1 .2" mass="2"/>'
        '<geom type="ellipsoid" size=".1 .2 .3" pos="0 1 0"/></body>'
    ),
    "defaults": _model(
        f'<body name="a" childclass="stiff"><joint name="j"/>{LUMP}'
        f'<body name="b" pos=".2 0 0"><joint name="s" class="soft"/>{LUMP}</body></body>',
        head='<default><default class="stiff"><joint axis="0 1 0" stiffness="20" damping="2"/>'
        '<default class="soft"><joint stiffness="1" type="slide"/></default></default></default>',
    ),
    "radians": _model(
        f'<body name="a" euler=".1 .2 .3"><joint name="j" axis="0 1 0" ref=".3" range="-1 2"/>{LUMP}</body>',
        head='<compiler angle="radian" eulerseq="zyx"/>',
    ),
    "welded": _model(
        f'<body name="floor" pos="0 0 -1">{BALL}</body><body name="a" pos="0 0 1"><joint name="j" axis="0 1 0"/>'
        f'{LUMP}<body name="b" pos=".2 0 0" euler="30 0 0">{LUMP}<body name="c" pos=".2 0 0">'
        f'<joint name="k" axis="1 1 0"/>{LUMP}</body></body></body>'
    ),
    "forest": _model(
        f'<body name="a"><freejoint/>{LUMP}<body><joint axis="1 0 0"/>{LUMP}</body><body><joint axis="0 1 0"/>{LUMP}'
        f"</body></body><body><joint/>{LUMP}</body><body><freejoint/>{LUMP}</body>"
        f'<body><joint type="ball"/>{LUMP}</body><body pos="1 0 0">{BALL}<body><joint/>{LUMP}</body></body>'
    ),
    "frames": _model(
        f'<frame pos="1 2 3" euler="10 0 0"><body name="a"><joint name="j"/>{LUMP}</body></frame>'
        f'<replicate count="3" offset="0 0 1"><body name="r"><joint name="s" type="slide"/>{BALL}</body></replicate>'
    ),
    "moon": _model(
        f'<body name="a"><joint name="j" axis="0 1 0"/>{LUMP}</body>', head='<option gravity="0.1 0 -1.62"/>'
    ),
    "no_gravity": _model(
        f'<body name="a"><joint name="j" axis="0 1 0" stiffness="3" damping="2"/>{LUMP}</body>',
        head='<option><flag gravity="disable" spring="disable"/></option>',
    ),
    "no_damping": _model(
        f'<body name="a"><joint name="j" axis="0 1 0" stiffness="3" damping="2"/>{LUMP}</body>',
        head='<option><flag damper="disable"/></option>',
    ),
}

#: Models that convert with losses, and words of the message about them.
LOSSY = {
    "spring of a ball": (
        _model(f'<body name="a"><joint name="j" type="ball" stiffness="2"/>{LUMP}</body>'),
        "ball joint 'j': its spring",
    ),
    "springs that are not linear": (
        _model(f'<body name="a"><joint name="j" stiffness="2 3"/>{LUMP}</body>'),
        "springs whose stiffness is not constant: the constant part is kept (1)",
    ),
    "more than gravity": (
        _model(f'<body name="a" gravcomp="1.5"><joint name="j"/>{LUMP}</body>'),
        "gravcomp is negative or more than 1, and left out: 'a'",
    ),
    "negative damping": (
        _model(f'<body name="a"><joint name="j" damping="-0.5"/>{LUMP}</body>'),
        "damping is negative, and left out: 'j'",
    ),
    "air": (
        _model(f'<body name="a"><joint name="j"/>{LUMP}</body>', head='<option density="1.2"/>'),
        "the medium",
    ),
    "tendon": (
        _model(
            f'<body name="a"><joint name="j"/>{LUMP}</body>',
            '<tendon><fixed name="t"><joint joint="j" coef="2"/></fixed></tendon>'
            '<actuator><motor name="m" tendon="t"/></actuator>',
        ),
        "Read but not applied: 1 actuator on no hinge or slide, 1 tendon",
    ),
    "motor on a tendon": (
        _model(
            f'<body name="a"><joint name="j"/>{LUMP}</body>',
            '<tendon><fixed name="t"><joint joint="j" coef="2"/></fixed></tendon>'
            '<actuator><motor name="m" tendon="t"/></actuator>',
        ),
        "1 actuator is not on a hinge or slide, and left out: 'm'",
    ),
    "equality of one joint": (
        _model(
            f'<body name="a"><joint name="j"/>{LUMP}</body>',
            '<equality><joint name="stop" joint1="j" polycoef="0.5 0 0 0 0"/></equality>',
        ),
        "equality 'stop' fixes one joint",
    ),
    "weld of what is welded": (
        _model(
            f'<body name="a"><joint name="j"/>{LUMP}<body name="b">{LUMP}</body></body>',
            '<equality><weld body1="a" body2="b"/></equality>',
        ),
        "equality 0 connects two bodies that do not move relative to each other",
    ),
    "equality of a tendon": (
        _model(
            f'<body name="a"><joint name="j"/>{LUMP}</body>',
            '<tendon><fixed name="t"><joint joint="j" coef="2"/></fixed></tendon>'
            '<equality><tendon name="taut" tendon1="t"/></equality>',
        ),
        "equality 'taut' (tendon) has no counterpart",
    ),
    "curved coupling": (
        _model(
            f'<body name="a"><joint name="j"/><joint name="k" axis="1 0 0"/>{LUMP}</body>',
            '<equality><joint joint1="j" joint2="k" polycoef="0 1 2 0 0"/></equality>',
        ),
        "equality 0 is not linear",
    ),
}

LIMITS = """<mujoco><worldbody><body><joint name="a" range="-90 45"/><joint name="b" axis="1 0 0"/>
<joint name="c" actuatorfrcrange="-3 5" axis="0 1 0"/><joint name="d" limited="false" range="-1 1" type="slide"/><geom size=".1"/></body>
</worldbody><actuator><motor name="plain" joint="a"/><motor name="control" joint="a" ctrlrange="-2 1" gear="4"/>
<motor name="force" joint="a" forcerange="-2 1" ctrlrange="-1 1" gear="-4"/><motor name="joint" joint="c" gear="9"/>
<position name="servo" joint="b" kp="3" forcerange="-7 7" gear="2"/></actuator></mujoco>"""

#: Actuators with several controls among others: indices of forces, gears and limits differ.
SEVERAL_CONTROLS = """<mujoco><worldbody><body name="a"><joint name="a" axis="0 1 0" armature="0.1"/><geom size=".1"/>
<body name="b" pos=".3 0 0"><joint name="b" axis="1 0 0"/><geom size=".1"/><site name="s"/>
<body name="c" pos=".3 0 0"><joint name="c" axis="0 0 1"/><geom size=".1"/></body></body></body></worldbody><actuator>
<motor name="first" joint="b" gear="2" ctrlrange="-3 3"/>
<dcmotor name="second" joint="a" gear="5" input="pos vel" motorconst="0.1" resistance="1"/>
<motor name="third" joint="c" gear="7" ctrlrange="-0.5 0.25" armature="0.02" damping="0.03"/></actuator></mujoco>"""

COUPLED = """<mujoco><worldbody><body><joint name="a" ref="10"/><joint name="b" ref="-20" axis="1 0 0"/><geom size=".1"/></body>
</worldbody><equality><joint name="gears" joint1="a" joint2="b" polycoef="0.1 -2 0 0 0"/>
<joint joint1="b" joint2="a" active="false"/></equality></mujoco>"""

KEYS = """<mujoco><worldbody><body name="a"><freejoint/><geom size=".1"/><body><joint name="j"/><geom size=".1"/></body>
</body></worldbody><keyframe><key name="home" qpos="1 2 3 0 1 0 0 0.5"/><key/></keyframe></mujoco>"""

SHAPES = """<mujoco><asset><material name="red" rgba="1 0 0 1"/>
<mesh name="thing" vertex="0 0 0 1 0 0 0 1 0 0 0 1" scale="2 2 2"/></asset><worldbody>
<geom name="ground" type="plane" size="1 1 1"/><site name="origin" pos="1 2 3"/><body name="a"><joint/>
<geom name="box" type="box" size=".1 .2 .3" pos="1 2 3" material="red"/>
<geom name="cover" type="capsule" size=".1 .2" contype="0" conaffinity="0" group="2" rgba="0 1 0 .5"/>
<geom name="hull" type="cylinder" size=".1 .2" group="3"/><geom name="mesh" type="mesh" mesh="thing" pos="1 0 0"/>
<site name="tip" pos="0 0 1" euler="90 0 0"/><site/></body></worldbody></mujoco>"""

#: Equalities of two free bodies, and the number of their equations.
EQUALITIES = [
    ('<connect body1="a" body2="b" anchor="1 2 3"/>', 3),
    ('<connect body1="a" anchor="1 2 3"/>', 3),
    ('<connect site1="sa" site2="sb"/>', 3),
    ('<weld body1="a" body2="b"/>', 6),
    ('<weld body1="a" body2="b" anchor=".1 .2 .3"/>', 6),
    ('<weld body1="a" body2="b" relpose=".1 .2 .3 1 2 3 4" anchor=".5 .6 .7"/>', 6),
    ('<weld body1="a" relpose=".1 .2 .3 1 2 3 4"/>', 6),
    ('<weld site1="origin" site2="sb"/>', 6),
    ('<weld body1="a" body2="b" torquescale="0"/>', 3),
]
TWO_FREE_BODIES = f"""<mujoco><worldbody><site name="origin" pos=".1 .2 .3" euler="10 20 30"/>
<body name="a" pos="0 0 1" euler="20 30 40"><freejoint/>{LUMP}<site name="sa" pos=".3 .2 .1" euler="10 40 30"/></body>
<body name="b" pos="1 0 1" euler="-20 30 10"><freejoint/>{LUMP}<site name="sb" pos=".3 -.2 .1" euler="50 40 30"/></body>
</worldbody><equality>{{}}</equality></mujoco>"""
