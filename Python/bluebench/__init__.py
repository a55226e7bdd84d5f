"""Bluebench from Python: simulated controllers for the program's own tests, runs of cases, and their results.

    with bluebench.Air(count=2) as air:                    two virtual dongles on one simulated air
        first, second = air.dongles
    results = bluebench.run_cases("phy", "hci/read-*")     a run of cases
    assert results.failed == []
    print(bluebench.show("capture.pcapng", limit=20))      packets of a capture, one line each

The package starts the program `bluebench` and reads what it writes. `bluebench.virtualtime` lets asyncio programs share the
simulation's clock, `bluebench.pytest_plugin` has the fixtures.
"""

from .air import Air, Dongle
from .process import Process
from .program import BluebenchError, find_program, run
from .results import run_cases
from .results_types import Case, Evidence, FailedStep, Results, RunFacts, Summary
from .captures import show

__all__ = [
    "Air", "BluebenchError", "Case", "Dongle", "Evidence", "FailedStep", "Process", "Results", "RunFacts", "Summary", "find_program", "run",
    "run_cases", "show",
]
