"""Coroutine tests run on their own event loop; every test has a guard against hanging."""

import asyncio
import inspect

import pytest

import support


def pytest_pyfunc_call(pyfuncitem):
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    call = pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
    asyncio.run(asyncio.wait_for(call, support.TIMEOUT))
    return True


@pytest.fixture
def ports():
    """The TCP ports of two virtual dongles on one air, fresh for each test."""
    with support.dongles(2) as found:
        yield found


@pytest.fixture
def dual_ports():
    """The ports of two dongles with BR/EDR."""
    with support.dongles(2, "--profile", "dual") as found:
        yield found
