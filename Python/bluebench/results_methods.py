"""What the dataclasses of `results.json` can do, beside their fields."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .results_types import Case, Results


class CaseMethods:
    verdict: Any

    @property
    def passed(self) -> bool:
        """PASS, or N/A: the case does not concern the device."""
        return self.verdict in ("PASS", "N/A")


class ResultsMethods:
    cases: list[Any]

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Results:
        """Reads a file `results.json`."""
        from .results import load
        return load(path)

    @property
    def failed(self) -> list[Case]:
        """The cases that did not pass: FAIL, INCONC and ERROR."""
        return [case for case in self.cases if not case.passed]

    def __getitem__(self, case_id: str) -> Case:
        found: list[Case] = [case for case in self.cases if case.id == case_id]
        if not found:
            raise KeyError(case_id)
        return found[0]
