"""Captures as text, by `bluebench show`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

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


_LINE = re.compile(r"(\d+) +(-?[\d.]+) (?:(.+?) )?([<>~]) (.*)")
_WIDTH = 120


def ladder(path: str | os.PathLike[str], *, last: int | None = None, names: Mapping[str, str] | None = None) -> str:
    """A capture as a chart: time runs down, and each interface has a column. `>` is from its host, `<` from its controller, `~` on the air.

    names: other names for interfaces.
    """
    rows = [match.groups() for line in show(path, last=last).splitlines() if (match := _LINE.fullmatch(line))]
    if not rows:
        return ""
    columns = sorted({row[2] or "" for row in rows})
    width = max(26, _WIDTH // len(columns))
    lines = [(" " * 11 + "".join((names or {}).get(column, column).ljust(width) for column in columns)).rstrip()]
    for _, time, name, way, text in rows:
        # The name of the packet and as many fields as fit.
        what = f"{way} {text}"
        what = what if len(what) < width else what[:width - 2] + "\u2026"
        cells = [what if column == (name or "") else "|" for column in columns]
        lines.append(f"{float(time):10.3f} {''.join(cell.ljust(width) for cell in cells)}".rstrip())
    return "\n".join(lines) + "\n"
