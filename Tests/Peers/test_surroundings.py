"""The tests run on other machines, too: pytest with the surroundings of `Tests`, in another process that has been started in unusual ways."""

import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

from support import ROOT, TIMEOUT

HOMES = """
import os, pathlib, tempfile

def test_it(tmp_path):
    for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        folder = pathlib.Path(os.environ[name])
        assert folder.is_dir() and "theirs" not in folder.parts and not list(folder.iterdir()), name
        print("own", folder.parent)
    assert tempfile.gettempdir() == os.environ["TMPDIR"]
"""
SIGNALS = """
import os, signal, subprocess

def test_it():
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        assert subprocess.run(["sh", "-c", f"kill -{number:d} $$; sleep 9"]).returncode == -number
    # A handler of pytest's own.
    os.kill(os.getpid(), signal.SIGHUP)
"""
WAITS = {
    "a line": "subprocess.Popen(['sleep', '1000'], stdout=subprocess.PIPE).stdout.readline()",
    "a process": "subprocess.run(['sleep', '1000'])",
    "a thread": "thread = threading.Thread(target=threading.Event().wait, daemon=True); thread.start(); thread.join()",
    "a condition": "threading.Event().wait()",
    "a socket": "socket.create_server(('127.0.0.1', 0)).accept()",
    "a coroutine": "asyncio.run(asyncio.Event().wait())",
    "a callback": "asyncio.run(endless())",
}
CALLBACK = """
async def endless():
    loop = asyncio.get_running_loop()
    def again():
        loop.call_later(0.01, again)
    again()
    await loop.create_future()
"""


@pytest.fixture
def elsewhere(tmp_path):
    """Runs a test as a user with a home of their own does; returns the output and the exit code."""
    def run(text, limit=600, **options):
        (tmp_path / "test_it.py").write_text(f"import asyncio, socket, subprocess, threading\n{CALLBACK}\n{text}")
        (tmp_path / "theirs").mkdir()
        theirs = {"HOME": str(tmp_path / "theirs"), "XDG_DATA_HOME": str(tmp_path / "theirs"), "PYTHONPATH": str(ROOT / "Tests")}
        environment = {name: value for name, value in os.environ.items() if name != "BLUEBENCH_TEST_HOME"}
        command = [sys.executable, "-m", "pytest", "-q", "-rP", "-p", "surroundings", "-p", "no:cacheprovider", "-p", "no:labgrid", "--rootdir", tmp_path]
        done = subprocess.run(
            [*command, tmp_path], cwd=tmp_path, env=environment | theirs | {"BLUEBENCH_TEST_LIMIT": str(limit)}, capture_output=True, text=True,
            timeout=TIMEOUT, **options)
        return done.stdout + done.stderr, done.returncode
    return run


def test_nothing_is_the_users(elsewhere):
    output, code = elsewhere(HOMES)
    assert code == 0, output
    assert not any(pathlib.Path(folder).exists() for folder in re.findall(r"^own (.*)$", output, re.M)), "they are removed at the end"


def test_programs_hear_signals_that_the_shell_ignores(elsewhere):
    def ignore():
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    output, code = elsewhere(SIGNALS, preexec_fn=ignore)
    assert code == 0, output


@pytest.mark.parametrize("name", WAITS)
def test_every_wait_has_a_limit(elsewhere, name):
    output, code = elsewhere(f"def test_it():\n    {WAITS[name]}\n", limit=1)
    assert code == 1 and "it had not ended after 1 s" in output, output
