"""Peers written in Python. A process that has imported Bumble forks them: the import takes more processor time than most of them need."""

import multiprocessing
import multiprocessing.connection
import os
import pathlib
import runpy
import subprocess
import sys

from bluebench import process

HERE = pathlib.Path(__file__).resolve().parent
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["bumble.avdtp", "bumble.controller", "bumble.device", "bumble.hfp", "bumble.pairing", "bumble.transport.tcp_client"])


class PythonPeer(process.Process):
    """A script of this folder as a process, like `support.Process` in all else."""

    def __init__(self, script, *arguments):
        super().__init__(HERE / script, *arguments)

    def _start(self):
        return Forked(self.command)


class Forked:
    """The part of `subprocess.Popen` that `process.Process` uses."""

    def __init__(self, command):
        reader, writer = os.pipe()
        self.stdout = open(reader, errors="replace")
        # A connection is the kind of object whose descriptor reaches the new process.
        with multiprocessing.connection.Connection(writer, readable=False) as output:
            self._process = SERVER.Process(target=run, args=(command, output), daemon=True)
            self._process.start()
        self.pid = self._process.pid

    def poll(self):
        return self._process.exitcode

    def wait(self, timeout=None):
        self._process.join(timeout)
        if self.poll() is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout)
        return self.poll()

    def terminate(self):
        self._process.terminate()

    def kill(self):
        self._process.kill()


def run(command, output):
    """Becomes the script, in the new process."""
    for descriptor in (1, 2):
        os.dup2(output.fileno(), descriptor)
    output.close()
    os.chdir(HERE.parents[1])
    sys.argv[:] = command
    sys.path[0] = str(pathlib.Path(command[0]).parent)
    runpy.run_path(command[0], run_name="__main__")
