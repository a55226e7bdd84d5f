"""Surroundings of the tests' own: a home, folders for data and temporary files, signals that are heard, and a limit of time."""

import atexit
import contextlib
import faulthandler
import os
import pathlib
import shutil
import signal
import sys
import tempfile

import pytest

MARK = "BLUEBENCH_TEST_HOME"
"""The folder of this run of the tests, also for the workers and for a pytest that a test starts."""
IGNORED = "BLUEBENCH_TEST_IGNORES"
"""The signals that the user's shell ignores, as numbers."""
LIMIT = float(os.environ.get("BLUEBENCH_TEST_LIMIT") or (6 * 3_600 if os.environ.get("SOAK") else 900))
"""Seconds until a test that waits for something is failed."""
PYTHONS_OWN = {signal.SIGPIPE, signal.SIGXFSZ}
"""Signals that Python ignores; `subprocess` restores them."""


def move_in():
    """Replaces the user's home and folders in the environment, unless this run of the tests has done so already."""
    if MARK in os.environ:
        return
    # pytest keeps the folders of its last runs.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    home = pathlib.Path(tempfile.mkdtemp(prefix="bluebench"))
    folders = {"HOME": "home", "TMPDIR": "tmp", "XDG_CACHE_HOME": "cache", "XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state"}
    for name, folder in folders.items():
        (home / folder).mkdir()
        os.environ[name] = str(home / folder)
    os.environ[MARK] = str(home)
    tempfile.tempdir = None
    # Last of all: what registers later, such as multiprocessing, has files in it until its own end.
    atexit.register(shutil.rmtree, home, ignore_errors=True)


def hear_signals():
    """Programs inherit ignored and blocked signals: SIGHUP under nohup, SIGINT in a shell's background job. pytest and its workers go on ignoring
    them, by a handler, which programs do not inherit."""
    ignored = {number for number in signal.valid_signals() - PYTHONS_OWN if signal.getsignal(number) == signal.SIG_IGN}
    ignored |= {int(number) for number in os.environ.get(IGNORED, "").split()}
    os.environ[IGNORED] = " ".join(f"{number:d}" for number in ignored)
    for number in ignored:
        signal.signal(number, signal.SIG_DFL if number == signal.SIGCHLD else lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals())


@contextlib.contextmanager
def limited():
    """Ends a wait of the main thread, such as a readline, by an exception; a process that ignores this ends two minutes later."""
    def over(*_):
        pytest.fail(f"it had not ended after {LIMIT:g} s")
    before = signal.signal(signal.SIGALRM, over)
    # Again and again: an exception in a callback does not end the wait.
    signal.setitimer(signal.ITIMER_REAL, LIMIT, 10)
    faulthandler.dump_traceback_later(LIMIT + 120, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    with limited():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    with limited():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item):
    with limited():
        return (yield)


move_in()
hear_signals()
