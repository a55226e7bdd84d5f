"""The program `bluebench`: its place, and one call of it."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sysconfig


class BluebenchError(Exception):
    """The program could not be started, or ended with an exit code that was not expected."""


def find_program() -> str:
    """The path of the program: the variable BLUEBENCH, the one of this environment's wheel, or the one in PATH."""
    if named := os.environ.get("BLUEBENCH"):
        return named
    schemes = [sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")]
    for scheme in schemes:
        path = pathlib.Path(sysconfig.get_path("scripts", scheme), "bluebench")
        if path.is_file():
            return str(path)
    if found := shutil.which("bluebench"):
        return found
    raise BluebenchError("there is no program bluebench: pip install a wheel that has it, or name it in the variable BLUEBENCH")


def run(
    *arguments: object, expected: int | None = 0, timeout: float | None = None, cwd: str | os.PathLike[str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end and returns its output. `expected` is its exit code, or None for any."""
    command = [find_program(), *map(str, arguments)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, cwd=cwd)
    if expected is not None and done.returncode != expected:
        raise BluebenchError(f"{' '.join(command)} ended with exit code {done.returncode}:\n{done.stdout}{done.stderr}")
    return done
