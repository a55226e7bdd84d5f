"""Coroutine tests run on their own event loop, those marked `virtual_time` on the simulation's clock; every test has a guard against hanging."""

import asyncio
import collections
import inspect
import os

import pytest

import support


def pytest_configure(config):
    config.addinivalue_line("markers", "virtual_time: the dongles' time is virtual, and all hosts are Bumble's in the test's process")
    config.addinivalue_line("markers", "wall_time: its dongles or programs run in real time, so that it could depend on the machine's load")
    config.addinivalue_line("markers", "corpus(kind): a product with a defect that must be found, or a legal one that must fail nothing; counted at the end")


LONG = [
    "test_btp_bumble", "test_report", "test_power_cycle", "test_products", "test_variants", "test_l2cap_pipe", "test_mutants", "test_stranger",
    "test_new_user", "test_determinism", "test_wireshark", "test_product_flow", "test_labgrid", "test_our_host", "test_product_log",
    "test_capture_page"]
"""Modules with a test of ten seconds or more. They begin first, each module on one worker, so that none is left alone at the end."""


def begin_with_long_ones(items):
    """Orders tests so that the modules are spread over the beginnings of the workers' equal shares."""
    assert all((support.HERE / f"{name}.py").exists() for name in LONG), "a module in LONG has another name now"
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    rest = [item for item in items if item.path.stem not in LONG]
    share = -(-len(items) // workers)
    ordered = []
    for worker in range(workers):
        first = [item for name in LONG[worker::workers] for item in items if item.path.stem == name]
        ordered += first
        taken = max(0, share - len(first)) if worker < workers - 1 else len(rest)
        ordered += rest[:taken]
        rest = rest[taken:]
    items[:] = ordered


def pytest_collection_modifyitems(items):
    begin_with_long_ones(items)
    for item in items:
        for marker in item.iter_markers("corpus"):
            # It reaches the process that prints the summary.
            item.user_properties.append(("corpus", marker.args[0]))


def pytest_terminal_summary(terminalreporter):
    counts = collections.defaultdict(collections.Counter)
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            for key, kind in report.user_properties:
                if key == "corpus" and report.when == "call":
                    name, passed, failed = kind if isinstance(kind, (list, tuple)) else (kind, outcome == "passed", outcome == "failed")
                    counts[name].update(passed=passed, failed=failed)
    if counts:
        terminalreporter.section("products")
        terminalreporter.write_line(f"{'kind':<28}{'tried':>7}{'right':>7}{'wrong':>7}")
        for kind, count in sorted(counts.items()):
            terminalreporter.write_line(f"{kind:<28}{count.total():>7}{count['passed']:>7}{count['failed']:>7}")


def is_virtual(item):
    return item.get_closest_marker("virtual_time") is not None


def pytest_pyfunc_call(pyfuncitem):
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    call = pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
    if is_virtual(pyfuncitem):
        support.in_virtual_time(call)
    else:
        asyncio.run(asyncio.wait_for(call, support.TIMEOUT))
    return True


@pytest.fixture
def ports(request):
    """The TCP ports of two virtual dongles on one air, new for each test."""
    with support.dongles(2, virtual_time=is_virtual(request.node)) as found:
        yield found


@pytest.fixture
def dual_ports(request):
    """The ports of two dongles with BR/EDR."""
    with support.dongles(2, "--profile", "dual", virtual_time=is_virtual(request.node)) as found:
        yield found
