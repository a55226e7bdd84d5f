"""How long `show` takes for the capture of a whole run, beside btmon and tshark on the same file in the same minute.

btmon 5.66 dies on some LE packets. Packets of such a kind are left out, and it and `show` are timed on what remains.
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
ROUNDS_BESIDE_TSHARK = 2
PIECE = 4_096
BTMON_AT_MOST = 1.0
TSHARK_AT_MOST = 0.1
FILE_HEADER, RECORD_HEADER = 16, 24
MOST_KINDS = 60


def run(*command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def best(rounds, *commands):
    """The shortest time of each command; the commands alternate, so that system load affects all of them."""
    shortest = [float("inf")] * len(commands)
    for _ in range(rounds):
        for index, command in enumerate(commands):
            start = time.perf_counter()
            status = run(*command)
            taken = time.perf_counter() - start
            assert status == 0, f"{command} ended with {status}"
            shortest[index] = min(shortest[index], taken)
    return shortest


def records(capture):
    """The records of a btsnoop file, each with its header."""
    found, position = [], FILE_HEADER
    while position + RECORD_HEADER <= len(capture):
        end = position + RECORD_HEADER + struct.unpack_from(">I", capture, position + 4)[0]
        found.append(capture[position:end])
        position = end
    return found


def kind(record):
    """The kind of a packet: direction and packet type, then its first octets; for data, the channel and the code."""
    packet = record[RECORD_HEADER:]
    is_event, is_data = packet[:1] == b"\x04", packet[:1] == b"\x02"
    return record[8:12] + (packet[:1] + packet[7:10] if is_data else packet[:2] + packet[3:4] if is_event else packet[:3])


def readable_by_btmon(capture, file):
    """Writes the packets that btmon can read; returns their number and the total."""
    head, all_records = capture[:FILE_HEADER], records(capture)
    deadly = set()

    def survives(some):
        file.write_bytes(head + b"".join(some))
        return run("btmon", "-r", file) == 0

    def without_deadly(some):
        left = [record for record in some if kind(record) not in deadly]
        while left and not survives(left):
            if len(deadly) == MOST_KINDS:
                raise SystemExit(f"btmon dies on more than {MOST_KINDS} kinds of packets")
            low, high = 0, len(left) - 1
            while low < high:
                middle = (low + high + 1) // 2
                low, high = (middle, high) if survives(left[:middle]) else (low, middle - 1)
            deadly.add(kind(left[low]))
            left = [record for record in left if kind(record) not in deadly]
        return left

    # Most kinds are found in a small piece, with short runs of btmon.
    for start in range(0, len(all_records), PIECE):
        without_deadly(all_records[start:start + PIECE])
    return len(without_deadly(all_records)), len(all_records)


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
            kept &= compare("tshark", *best(ROUNDS_BESIDE_TSHARK, [*show, capture], ["tshark", "-r", capture]), TSHARK_AT_MOST)
        if shutil.which("btmon"):
            part = pathlib.Path(folder) / "part.btsnoop"
            packets, of = readable_by_btmon(capture.read_bytes(), part)
            if packets < of:
                print(f"{packets:>10} of {of} packets: btmon dies on the others")
            kept &= compare("btmon", *best(ROUNDS, [*show, part], ["btmon", "-r", part]), BTMON_AT_MOST)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
