"""The output of a run on a terminal: a progress line that fits into any width."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import pytest

from support import ROOT, TIMEOUT, bluebench

ERASED = "\r\x1b[K"


def on_a_terminal(columns, *arguments):
    """All that the program writes on a terminal with this number of columns."""
    master, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([bluebench(), *arguments], stdout=terminal, stderr=terminal, stdin=subprocess.DEVNULL, cwd=ROOT)
    os.close(terminal)
    written = b""
    try:
        while part := os.read(master, 65536):
            written += part
    except OSError:
        pass  # The other end is closed.
    os.close(master)
    assert process.wait(TIMEOUT) == 0
    return written.decode()


@pytest.mark.parametrize("columns", [20, 10, 80])
def test_the_progress_line_fits_into_the_terminal(columns):
    """A longer line wraps, and its first row is never erased."""
    written = on_a_terminal(columns, "run", "phy")
    shown = [text for text in re.split("\r\n|" + re.escape(ERASED), written) if "/" in text and "PASS" not in text]
    assert len(shown) > 10
    assert max(map(len, shown)) < columns
    if columns == 80:
        assert any("phy/central-asks-2m" in text for text in shown)
