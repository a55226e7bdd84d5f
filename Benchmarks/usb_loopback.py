"""ACL loopback through unmodified libusb on a fake usbfs, in the legacy mode or, with --serialised, in Bulk Serialization mode: packets per second of our
transport beside those of a plain C program on the same virtual dongle, in turns. Both have eight transfers in flight on each IN pipe and up to eight OUT,
keep the same credits, number every packet and check its CRC-32.

Each round runs both; the middle of the rounds' ratios counts, as load on the machine comes and goes. Ends with 1 when the ratio is missed or a
packet is lost. With --soak it runs ours alone, once, and looks for anything lost or left behind at both ends.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = ROOT / os.environ.get("BLUEBENCH", ".build/release/bluebench")
AT_LEAST = 0.95
OCTETS = 251
PRELOAD = "libumockdev-preload.so.0"


def compile_exerciser(folder):
    program = pathlib.Path(folder) / "usb_exerciser"
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libusb-1.0"], check=True, capture_output=True, text=True).stdout.split()
    source = ROOT / "Tests/Tools/usb_exerciser.c"
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, source, *flags], check=True)
    return program


class Dongle:
    """A virtual dongle, usb:1-1, on its own fake usbfs."""

    def __init__(self, folder, is_serialised):
        self.folder = folder
        self.chip = ["--chip", "serialised"] if is_serialised else []
        self.mode = ["serialised"] if is_serialised else []
        self.mode_option = ["--usb-mode", "serialised"] if is_serialised else []

    def __enter__(self):
        command = [PROGRAM, "dongle", "--usbfs", self.folder, *self.chip]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        if not self.process.stdout.readline().startswith("usbfs:"):
            raise SystemExit("the fake usbfs did not start")
        self.environment = {**os.environ, "UMOCKDEV_DIR": self.folder, "LD_PRELOAD": PRELOAD}
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.account = self.process.stdout.read().strip()
        self.process.wait()

    def plain(self, program, packets):
        run = subprocess.run([program, "1-1", str(packets), str(OCTETS), *self.mode], check=True, capture_output=True, text=True, env=self.environment)
        return float(run.stdout.split()[0])

    def ours(self, packets, *options):
        file = pathlib.Path(self.folder + ".json")
        command = [PROGRAM, "loopback", "usb:1-1", "--packets", str(packets), "--octets", str(OCTETS), "--json", file]
        command += [*self.mode_option, *options]
        run = subprocess.run(command, capture_output=True, text=True, env=self.environment)
        if run.returncode != 0:
            raise SystemExit(f"loopback ended with {run.returncode}\n{run.stdout}{run.stderr}")
        figures = json.loads(file.read_text())
        file.unlink()
        return figures


def compare(folder, packets, rounds, is_serialised):
    program = compile_exerciser(folder)
    ratios = []
    with Dongle(str(pathlib.Path(folder) / "u"), is_serialised) as dongle:
        for _ in range(rounds):
            plain = dongle.plain(program, packets)
            ours = dongle.ours(packets)["packets_per_second"]
            ratios.append(ours / plain)
            print(f"{ours:>10.0f} packets/s ours, {plain:.0f} plain C: {ratios[-1]:.2f}")
    ratio = statistics.median(ratios)
    print(f"{ratio:>10.2f} times the plain C program (wanted: {AT_LEAST})")
    return ratio >= AT_LEAST


def soak(folder, packets, is_serialised, switch_every):
    """With `switch_every`, the mode changes at this interval in milliseconds, from the legacy one."""
    with Dongle(str(pathlib.Path(folder) / "u"), is_serialised) as dongle:
        if switch_every:
            dongle.mode_option = ["--switch-every", str(switch_every)]
        # A busy machine may not run the dongle for seconds.
        figures = dongle.ours(packets, "--timeout", "120")
    print(
        f"{figures['returned']} of {figures['sent']} packets came back in {figures['time_us'] / 1e6:.0f} s, {figures['packets_per_second']:.0f} a "
        f"second, worst round trip {figures['worst_round_trip_us'] / 1000:.1f} ms; the dongle: {dongle.account}")
    wanted = rf"data {packets} out {packets} in, .* 0 dropped, 0 handles open, 0 requests pending"
    return figures["returned"] == packets and bool(re.search(wanted, dongle.account))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packets", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--soak", action="store_true")
    parser.add_argument("--serialised", action="store_true")
    parser.add_argument("--switch-every", type=int, default=0, metavar="MS", help="with --soak and --serialised")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(pathlib.Path(folder) / "u")
        mode = options.serialised
        good = soak(folder, options.packets, mode, options.switch_every) if options.soak else compare(folder, options.packets, options.rounds, mode)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
