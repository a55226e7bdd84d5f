"""The page of `capture --web` under load: packets per second from two virtual dongles, none of them lost, and the time of answers to new selections
meanwhile. Ends with 1 when a packet is lost, an answer takes longer than 200 ms, or the rate is not reached: it needs a machine without other load.
"""

import argparse
import os
import pathlib
import statistics
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
os.environ.setdefault("BLUEBENCH", ".build/release/bluebench")
sys.path.insert(0, str(ROOT / "Tests/Peers"))

from live_page import READ_BD_ADDR, RESET, UNKNOWN, Host, captured  # noqa: E402

LONGEST = 0.2
SELECTIONS = [
    {"where": "Status != Success"}, {"words": "unknown"}, {"where": "BD_ADDR != 00:00:00:00:00:00"},
    {"words": "bd_addr !complete"}, {"where": "ATT_ERROR_RSP"}, {"where": "not Command_Complete"},
]


def send(host, rate, seconds):
    """Sends commands at half the rate of packets, as each has an answer."""
    host.command(RESET)
    begin, number = time.monotonic(), 0
    while (elapsed := time.monotonic() - begin) < seconds:
        due = int(elapsed * rate / 2) - number
        if due <= 0:
            threading.Event().wait(0.001)
            continue
        host.commands([UNKNOWN if count % 1_000 == 500 else READ_BD_ADDR for count in range(number, number + min(due, 64))])
        number += min(due, 64)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=5_000, help="packets per second of both dongles together")
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    with captured(count=2) as (process, page, addresses):
        hosts = [Host(address) for address in addresses]
        senders = [threading.Thread(target=send, args=(host, options.rate / 2, options.seconds)) for host in hosts]
        begin = time.monotonic()
        for sender in senders:
            sender.start()
        times, number = {}, 0
        while any(sender.is_alive() for sender in senders):
            selection = SELECTIONS[number % len(SELECTIONS)]
            # A selection that was never made: words that no packet has are left out of none.
            fresh = selection | {"words": f"{selection.get('words', '')} !zz{number}".strip()}
            asked = time.monotonic()
            page.packets(**fresh, count=60)
            answered = time.monotonic()
            page.settled(**fresh, count=60)
            times.setdefault(str(selection), []).append((answered - asked, time.monotonic() - asked))
            number += 1
            threading.Event().wait(0.5)
        elapsed = time.monotonic() - begin
        total = sum(host.packets for host in hosts)
        deadline = time.monotonic() + 5
        while page.packets(count=0)["rows"] < total and time.monotonic() < deadline:
            threading.Event().wait(0.01)
        kept = page.packets(count=0)["rows"]
        peak = next(line for line in open(f"/proc/{process.pid}/status") if line.startswith("VmHWM"))
        ticks = sum(map(int, open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()[11:13]))
        print(f"{total} packets in {elapsed:.1f} s, {total / elapsed:.0f} in a second; {total - kept} lost")
        print(f"capture: {ticks / os.sysconf('SC_CLK_TCK'):.1f} s of CPU, {int(peak.split()[1]) / 1024:.0f} MB")
        for selection, pairs in times.items():
            first, whole = zip(*pairs)
            print(f"  {selection}: first rows {max(first) * 1e3:.0f} ms at most, all {statistics.median(whole) * 1e3:.0f} ms, at most {max(whole) * 1e3:.0f} ms")
        slowest = max(first for pairs in times.values() for first, _ in pairs)
    return 0 if kept == total and slowest <= LONGEST and total / elapsed >= options.rate * 0.95 else 1


if __name__ == "__main__":
    sys.exit(main())
