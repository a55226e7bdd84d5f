"""HCI_Read_BD_ADDR round trips per second over TCP from one raw socket: our virtual dongle, a plain blocking C server, Bumble's controller.

Each is measured in turn, many short rounds; the best round counts, as load on the machine can only take away, and leaves a short round alone more often
than a long one. Bumble, which is far from its line, has few of them. Client and server take turns, so all of it is kept on one core: left to the
scheduler, a pair on two cores is less than half as fast as one on the same core, and which it gets is chance.
Ends with 1 when a ratio is missed.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support import Process, dongles  # noqa: E402

ROUNDS, SECONDS = 30, "0.2"
ROUNDS_OF_BUMBLE = 3
AT_LEAST = {"plain C server": 0.8, "Bumble's controller": 2.0}


def compile_client(folder):
    program = pathlib.Path(folder) / "roundtrips"
    subprocess.run(["clang", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, HERE / "roundtrips.c"], check=True)
    return program


def rate(program, port, *options):
    return int(subprocess.run([program, str(port), SECONDS, *options], check=True, capture_output=True, text=True).stdout)


def plain(program):
    with Process(program, "echo") as server:
        return rate(program, server.wait_for(r":(\d+)")[0].group(1), "bare")


def bumble(program):
    with Process(sys.executable, HERE.parent / "bumble_controllers.py", 1) as server:
        return rate(program, server.wait_for(r"127\.0\.0\.1:(\d+)")[0].group(1))


def ours(program):
    with dongles(1) as [port]:
        return rate(program, port)


def stay_on_one_core():
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def main():
    stay_on_one_core()
    with tempfile.TemporaryDirectory() as folder:
        program = compile_client(folder)
        sides = {"our virtual dongle": ours, "plain C server": plain, "Bumble's controller": bumble}
        best = {name: 0 for name in sides}
        for turn in range(ROUNDS):
            for name, side in sides.items():
                if side is bumble and turn >= ROUNDS_OF_BUMBLE:
                    continue
                best[name] = max(best[name], side(program))
    for name, figure in best.items():
        print(f"{figure:>8} round trips/s  {name}")
    missed = 0
    for name, wanted in AT_LEAST.items():
        ratio = best["our virtual dongle"] / best[name]
        print(f"{ratio:>8.2f} times the {name} (wanted: {wanted})")
        missed += ratio < wanted
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
