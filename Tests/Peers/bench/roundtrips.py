"""HCI_Read_BD_ADDR round trips over TCP from one raw socket each: our virtual dongle, two plain C servers, Bumble's controller.

One of the plain servers blocks in read, which only a server of a single descriptor can; the other waits with epoll, as a server of several clients has to,
and is the measure of what we add.

They take turns, many short rounds long, and each round gives a ratio: load on the machine, which comes and goes in longer stretches, is on both sides of
it. The median of the ratios counts. Client and server take turns, too, so all of it is kept on one core: left to the scheduler, a pair on two cores is
less than half as fast as one on the same core, and which it gets is chance.
Ends with 1 when a ratio is missed.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support import Process, dongles  # noqa: E402

ROUNDS, TRIPS = 300, 500
AT_LEAST = {"plain C server": 0.9, "plain C server with epoll": 0.9, "Bumble's controller": 2.0}


def compile_client(folder):
    program = pathlib.Path(folder) / "roundtrips"
    subprocess.run(["clang", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, HERE / "roundtrips.c"], check=True)
    return program


def microseconds(program):
    """For each round, the microseconds per round trip with our virtual dongle, the plain servers and Bumble."""
    with (
        dongles(1) as [ours],
        Process(program, "echo") as plain,
        Process(program, "epoll") as waiting,
        Process(sys.executable, HERE.parent / "bumble_controllers.py", 1) as bumble,
    ):
        servers = [server.wait_for(r":(\d+)")[0].group(1) for server in (plain, waiting)]
        ports = [ours, *servers, bumble.wait_for(r"127\.0\.0\.1:(\d+)")[0].group(1)]
        client = subprocess.run([program, str(ROUNDS), str(TRIPS), *map(str, ports)], check=True, capture_output=True, text=True)
    return [[float(figure) for figure in line.split()] for line in client.stdout.splitlines()]


def stay_on_one_core():
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def main():
    stay_on_one_core()
    with tempfile.TemporaryDirectory() as folder:
        ours, *others = zip(*microseconds(compile_client(folder)))
    for name, figures in zip(["our virtual dongle", *AT_LEAST], [ours, *others]):
        print(f"{1e6 / statistics.median(figures):>8.0f} round trips/s  {name}")
    missed = 0
    for (name, wanted), theirs in zip(AT_LEAST.items(), others):
        ratios = [their / our for our, their in zip(ours, theirs)]
        low, ratio, high = statistics.quantiles(ratios, n=4)
        print(f"{ratio:>8.3f} times the {name} (wanted: {wanted}; a quarter of the rounds below {low:.3f}, a quarter above {high:.3f})")
        missed += ratio < wanted
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
