"""How long `show` takes for the capture of a whole run, beside btmon and tshark on the same file in the same minute.

btmon 5.66 dies on some LE packets. Then it and `show` are timed on the longest beginning of the capture that btmon reads.
The best of several rounds counts, as load on the machine can only take away. Ends with 1 when a ratio is missed.
"""

import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = ROOT / os.environ.get("BLUEBENCH", ".build/release/bluebench")
ROUNDS = 7
BTMON_AT_MOST = 1.0
TSHARK_AT_MOST = 0.1
FILE_HEADER, RECORD_HEADER = 16, 24


def run(*command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def best(*commands):
    """The shortest time of each command; they take turns, so that load meets all of them."""
    shortest = [float("inf")] * len(commands)
    for _ in range(ROUNDS):
        for index, command in enumerate(commands):
            start = time.perf_counter()
            status = run(*command)
            taken = time.perf_counter() - start
            assert status == 0, f"{command} ended with {status}"
            shortest[index] = min(shortest[index], taken)
    return shortest


def record_ends(capture):
    """Where each record of a btsnoop file ends."""
    ends, position = [], FILE_HEADER
    while position + RECORD_HEADER <= len(capture):
        position += RECORD_HEADER + struct.unpack_from(">I", capture, position + 4)[0]
        ends.append(position)
    return ends


def readable_by_btmon(capture, file):
    """Writes the longest beginning that btmon reads to the file; how many packets that are."""
    ends = record_ends(capture)
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high + 1) // 2
        file.write_bytes(capture[: ends[middle - 1]])
        low, high = (middle, high) if run("btmon", "-r", file) == 0 else (low, middle - 1)
    file.write_bytes(capture[: ends[low - 1]] if low else capture[:FILE_HEADER])
    return low, len(ends)


def compare(name, ours, theirs, at_most):
    ratio = ours / theirs
    print(f"{ours * 1000:>10.1f} ms, {name} {theirs * 1000:.1f} ms: {ratio:.3f} of it (at most {at_most})")
    return ratio <= at_most


def main():
    with tempfile.TemporaryDirectory() as folder:
        capture = pathlib.Path(folder) / "run.btsnoop"
        subprocess.run([PROGRAM, "run", "--capture", capture], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
        show = [PROGRAM, "show"]
        kept = True
        for peer in ("tshark", "btmon"):
            if not shutil.which(peer):
                print(f"{peer} is not installed: no comparison with it")
        if shutil.which("tshark"):
            kept &= compare("tshark", *best([*show, capture], ["tshark", "-r", capture]), TSHARK_AT_MOST)
        if shutil.which("btmon"):
            part = pathlib.Path(folder) / "part.btsnoop"
            packets, of = readable_by_btmon(capture.read_bytes(), part)
            if packets < of:
                print(f"{packets:>10} of {of} packets: after those, btmon dies")
            kept &= compare("btmon", *best([*show, part], ["btmon", "-r", part]), BTMON_AT_MOST)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
