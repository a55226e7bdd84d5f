"""The scenarios of two Bumble hosts (test_virtual_time.py), on our dongles in virtual time and on Bumble's own controllers in real time.

They take turns in one run. Bumble's controllers have no air: they lose nothing, and some scenarios do not run on them, which is printed.
usage: virtual_time.py [SECONDS], the pause in each scenario between its end and that of its connection (5)
"""

import asyncio
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import test_bumble_hosts as hosts  # noqa: E402
import test_virtual_time as scenarios  # noqa: E402
from support import bumble_controllers, dongles, in_virtual_time  # noqa: E402

LIMIT = 12
"""Seconds for a scenario on the other controllers."""


def paused(scenario, seconds):
    """A scenario, and then a connection that is idle for a time, as in a test of an app's timeouts."""

    async def run(ports):
        await scenario(ports)
        async with hosts.connected(ports):
            await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=seconds)

    return run


def ours(scenario):
    with dongles(2, virtual_time=True) as ports:
        began = time.monotonic()
        in_virtual_time(scenario(ports))
        return time.monotonic() - began


def theirs(scenario):
    with bumble_controllers(2) as (places, _):
        ports = [int(place.rpartition(":")[2]) for place in places]
        began = time.monotonic()
        asyncio.run(asyncio.wait_for(scenario(ports), LIMIT))
        return time.monotonic() - began


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5
    both, failed = [], []
    for name, scenario in scenarios.SCENARIOS.items():
        virtual = ours(paused(scenario, seconds))
        try:
            real = theirs(paused(scenario, seconds))
        except (Exception, asyncio.CancelledError) as error:
            failed.append(name)
            print(f"{virtual:8.2f} s  {'-':>8}    {name}: not on Bumble's controllers: {str(error) or type(error).__name__}", flush=True)
            continue
        both.append((virtual, real))
        print(f"{virtual:8.2f} s  {real:8.2f} s  {name}", flush=True)
    virtual, real = (sum(column) for column in zip(*both))
    print(f"{virtual:8.2f} s  {real:8.2f} s  {len(both)} scenarios on both; virtual time is {real / virtual:.1f} times as fast; {len(failed)} on ours only")
    return 0 if virtual < real else 1


if __name__ == "__main__":
    sys.exit(main())
