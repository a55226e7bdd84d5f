"""How fast the simulation carries a saturated link, over LE 2M in clear and encrypted, on L2CAP channels and over BR/EDR in 3-DH5, both hosts in the
process: virtual seconds per second, events per second, allocations per packet.

The best of several rounds counts, as load on the machine can only take away. Ends with 1 when the ratio is missed or packets allocate.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = ROOT / os.environ.get("BLUEBENCH", ".build/release/bluebench")
LINK = ["--phy", "2m", "--data-length", "251", "--interval", "15"]
LE = ["--over", "notify", *LINK, "--mtu", "247"]
CHANNEL = ["--over", "channel", *LINK]
# Options, times real time, allocations per packet; a host's BR/EDR channels allocate an array for each SDU, and an SDU that is longer than
# the room on the link is kept until it has gone.
KINDS = {
    "in clear": (LE, 100, 0.05),
    "encrypted": ([*LE, "--encrypted"], 150, 0.05),
    "a channel": (CHANNEL, 100, 0.05),
    "three channels, long SDUs": ([*CHANNEL, "--channels", "3", "--sdu", "1974"], 100, None),
    "3-DH5": (["--over", "l2cap", "--packets", "3-dh5"], 100, None),
}
ROUNDS = 3


def run(folder, kind, seconds, environment=None):
    file = pathlib.Path(folder) / "rows.json"
    command = [PROGRAM, "throughput", *KINDS[kind][0], "--seconds", str(seconds), "--json", file]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **(environment or {})})
    return json.loads(file.read_text())


def allocations(folder, kind, seconds, shim):
    counted = pathlib.Path(folder) / "allocations"
    report = run(folder, kind, seconds, {"LD_PRELOAD": str(shim), "COUNT_ALLOCATIONS": str(counted)})
    return int(counted.read_text()), report["rows"][0]["received"]["packets"], report["transmissions"]


def measure(folder, kind, shim):
    _, at_least, at_most = KINDS[kind]
    best = max((run(folder, kind, 60) for _ in range(ROUNDS)), key=lambda report: report["virtual_s"] / report["wall_s"])
    row = best["rows"][0]
    ratio = best["virtual_s"] / best["wall_s"]
    print(f"{kind}:")
    print(f"{row['goodput_kbps']:>10.1f} kbit/s, {row['percent']:.1f} % of the ceiling")
    print(f"{ratio:>10.0f} times real time (wanted: {at_least})")
    print(f"{best['steps'] / best['wall_s']:>10.0f} events/s of the run loop, {best['transmissions'] / best['wall_s']:.0f} packets/s on the air")
    short, long = allocations(folder, kind, 5, shim), allocations(folder, kind, 25, shim)
    made, values, packets = (later - earlier for later, earlier in zip(long, short))
    limit = "" if at_most is None else f" (at most {at_most})"
    print(f"{made / values:>10.2f} allocations per packet of the flow, {made / packets:.2f} per packet on the air{limit}")
    return ratio >= at_least and (at_most is None or made / packets <= at_most)


def main():
    with tempfile.TemporaryDirectory() as folder:
        shim = pathlib.Path(folder) / "count_allocations.so"
        source = pathlib.Path(__file__).with_name("count_allocations.c")
        subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", shim, source], check=True)
        is_enough = [measure(folder, kind, shim) for kind in KINDS]
    return 0 if all(is_enough) else 1


if __name__ == "__main__":
    sys.exit(main())
