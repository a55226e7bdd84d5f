"""pytest fixtures: simulated Bluetooth devices on one air, in virtual time. docs/guide/pytest.md has examples.

- `air`: the air of a test, `dongle`: a virtual controller on it, `dongles(2)`: more of them, `accessory("heart-rate")`: a simulated product,
  `phone`: a Bumble host.
- `@pytest.mark.bluebench(loss=0.1)` sets up the air; `real_time=True` gives its hosts real time.
- A test that is a coroutine runs on the air's clock, with random numbers from the seed.
"""

from __future__ import annotations

import inspect
import pathlib
import re
import shutil
from collections.abc import Callable, Generator
from typing import Any

import pytest

from .air import Dongle
from .airtest import LAST_PACKETS, Accessory, Phone, TestAir
from .program import BluebenchError

MARKER = """bluebench(count=4, loss=None, neighbours=None, distance=None, chip=None, quirks=(), dual=False, seed=None, real_time=False, timeout=None): \
the simulated air of the test. count: dongles that it may use; loss: packet error rate, 0 to 1; neighbours: other devices on the air; \
distance: of the devices in metres; chip, quirks: of all dongles; dual: with BR/EDR; timeout: seconds, in virtual time by default."""
_AIR: pytest.StashKey[TestAir] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("bluebench", "simulated Bluetooth devices")
    group.addoption("--bluebench-seed", type=int, default=1, metavar="N", help="seed of everything that is random in tests with an air (1)")
    group.addoption(
        "--bluebench-folder", default="bluebench-failures", metavar="DIR", help="folder for captures and air logs of failed tests (bluebench-failures)")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def air(request: pytest.FixtureRequest) -> Generator[TestAir, None, None]:
    """The simulated air of the test; `@pytest.mark.bluebench` sets it up."""
    options: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers("bluebench"))):
        options.update(mark.kwargs)
    options.setdefault("seed", request.config.getoption("--bluebench-seed"))
    made, problem = None, ""
    try:
        made = TestAir(**options)
    except TypeError as error:
        problem = f"@pytest.mark.bluebench {str(error).partition('() ')[2] or error}; it takes {MARKER.partition(': ')[0]}"
    except BluebenchError as error:
        problem = str(error)
    if made is None:
        pytest.fail(problem, pytrace=False)
    request.node.stash[_AIR] = made
    try:
        yield made
        made.finish()
    finally:
        made.finish()
        shutil.rmtree(made.folder)


@pytest.fixture
def dongle(air: TestAir) -> Dongle:
    """A virtual controller on the test's air."""
    return air.dongle()


@pytest.fixture
def dongles(air: TestAir) -> Callable[[int], list[Dongle]]:
    """Virtual controllers on the test's air: `first, second = dongles(2)`."""
    return air.dongles


@pytest.fixture
def accessory(air: TestAir) -> Callable[..., Accessory]:
    """Simulated products on the test's air: `accessory("heart-rate")`."""
    return air.accessory


@pytest.fixture
def phone(air: TestAir) -> Phone:
    """A Bumble host on a dongle of its own: `peer = await phone.peer(accessory("heart-rate"))`."""
    return air.phone()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    __tracebackhide__ = True
    made = pyfuncitem.stash.get(_AIR, None)
    if made is None or not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    made.play(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


def _clean(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    made = item.stash.get(_AIR, None)
    if made is None or call.when != "call" or not report.failed:
        return report
    try:
        made.finish()
    except BluebenchError as error:
        report.sections.append(("the simulation ended with an error", str(error)))
    folder = pathlib.Path(item.config.getoption("--bluebench-folder"), _clean(item.nodeid))
    made.keep(folder)
    report.sections.append((f"last {LAST_PACKETS} packets", made.last_packets()))
    if chart := made.last_exchange():
        report.sections.append(("the same as a chart", chart))
    if made.said():
        report.sections.append(("output of bluebench", made.said()))
    report.sections.append(
        ("capture", f"{folder}/hci.pcapng has all packets, {folder}/air.pcapng all transmissions; seed {made.seed}\n"
                    f"bluebench show {folder}/hci.pcapng --tree"))
    return report
