"""Captures as text, by `bluebench show`."""

from __future__ import annotations

import os

from .program import run


def show(
    path: str | os.PathLike[str], *, filter: str | None = None, limit: int | None = None, last: int | None = None, tree: bool = False,
    bonds: str | os.PathLike[str] | None = None,
) -> str:
    """The packets of a capture, one line each; with `tree` every field. `last` keeps the end of the text, in lines."""
    arguments: list[object] = ["show", path]
    for option, value in (("--filter", filter), ("--limit", limit), ("--bonds", bonds)):
        if value is not None:
            arguments += [option, value]
    if tree:
        arguments.append("--tree")
    text = run(*arguments).stdout
    return text if last is None else "".join(text.splitlines(keepends=True)[-last:])
