"""A running program whose lines can be awaited."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from .program import BluebenchError

GUARD = 60.0
"""The time in seconds to wait for a line. It protects against hanging and is not a requirement."""
FAREWELL = 2.0
"""The time in seconds to wait for the rest of the output of a program that has ended."""


class Process:
    """A running program whose output can be awaited. It is terminated by its process id and reaped."""

    guard = GUARD

    def __init__(self, *command: object, **options: Any) -> None:
        self.command = [str(part) for part in command]
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self._ended = False
        self.is_stopped = False
        """True after `stop`."""
        self._process = self._start(**options)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _start(self, **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **options)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, or None while the program runs."""
        return self._process.poll()

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._changed:
                self.lines.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def wait_for(self, pattern: str, count: int = 1) -> list[re.Match[str]]:
        """The first `count` matches of a regular expression in the output, one in a line, waiting for them if necessary."""
        wanted = re.compile(pattern)
        deadline = time.monotonic() + self.guard
        with self._changed:
            while True:
                found = [match for line in self.lines if (match := wanted.search(line))]
                if len(found) >= count:
                    return found[:count]
                if self._ended:
                    raise BluebenchError(f"{self.command} ended without printing {pattern!r} {count} times:\n{self.text}")
                left = deadline - time.monotonic()
                if left <= 0:
                    raise BluebenchError(f"{self.command} did not print {pattern!r} {count} times:\n{self.text}")
                self._changed.wait(left)

    def when_ended(self, call: Callable[[], object]) -> None:
        """Calls a function in a thread of its own once the program has ended, for whatever reason; its output is complete then."""
        def watch() -> None:
            self._process.wait()
            # A child of the program may hold its output open.
            self._reader.join(FAREWELL)
            call()
        threading.Thread(target=watch, daemon=True).start()

    @property
    def last_words(self) -> str:
        """Reason for the end of a program in one line: the last error that it printed, or else its last line."""
        lines = [line.strip() for line in self.lines if line.strip()]
        errors = [line for line in lines if re.match(r"(\w*Error|error)\b", line)]
        return f"exit code {self.returncode}: {(errors or lines or ['it printed nothing'])[-1]}"

    def wait(self) -> int:
        """The exit code after the program has ended by itself."""
        code = self._process.wait(self.guard * 5)
        self._reader.join(self.guard)
        return code

    def running(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        self.is_stopped = True
        if self.running():
            self._process.terminate()
            try:
                self._process.wait(self.guard)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._reader.join(self.guard)

    def __enter__(self) -> Process:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
