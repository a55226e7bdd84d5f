"""Coroutine tests run on their own event loop, those marked `virtual_time` on the simulation's clock; every test has a guard against hanging."""

import asyncio
import inspect

import pytest

import support


def pytest_configure(config):
    config.addinivalue_line("markers", "virtual_time: the dongles' time is virtual, and all hosts are Bumble's in the test's process")


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
