"""Write the bill of materials of a wheel: `bill_of_materials.py WHEEL OUTPUT.json`.

It lists, in CycloneDX, the contents of an installation of the wheel: mbt and its dependencies, with versions
and licences; and, out of scope, the tools with which the wheel was built. Both environments are created from
scratch, from the package registry. The package `cyclonedx-bom` makes the list itself.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]


def make_environment(directory: Path, *requirements: str) -> Path:
    """Make an environment with some packages; return its interpreter."""
    venv.create(directory, with_pip=True)
    python = directory / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)
    return python


def main() -> None:
    """Write the bill of one wheel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        installed = make_environment(Path(directory, "installed"), str(options.wheel))
        subprocess.run([installed, "-m", "pip", "uninstall", "--quiet", "--yes", "setuptools"], check=True)
        lister = make_environment(Path(directory, "lister"), "cyclonedx-bom>=7")
        command = [lister, "-m", "cyclonedx_py", "environment", "--pyproject", ROOT / "pyproject.toml"]
        text = subprocess.run([*command, installed], check=True, capture_output=True, text=True).stdout
    bill = json.loads(text)
    # pip came with the environment, not with the wheel.
    bill["components"] = [component for component in bill["components"] if component["name"] != "pip"]
    bill["dependencies"] = [entry for entry in bill["dependencies"] if not entry["ref"].startswith("pip==")]
    with (ROOT / "pyproject.toml").open("rb") as file:
        build = tomllib.load(file)["build-system"]["requires"]
    for requirement in build:
        name = re.split(r"[<>=!~ ;\[]", requirement)[0]
        bill["components"].append(
            {
                "type": "library",
                "bom-ref": f"build:{name}",
                "name": name,
                "scope": "excluded",
                "description": f"{requirement}, with which the wheel was built",
                "purl": f"pkg:pypi/{name}",
            }
        )
    options.output.write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")
    names = ", ".join(
        f"{component['name']} {component.get('version', '')}" for component in bill["components"]
    )
    print(f"{options.output}: {bill['metadata']['component']['name']}, {names}")


if __name__ == "__main__":
    main()
