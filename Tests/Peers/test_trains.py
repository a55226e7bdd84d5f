"""Periodic advertising trains with Bumble's host at either end, or at both, and on the command line."""

import asyncio
import json

import pytest
from bumble import hci
from bumble.device import AdvertisingEventProperties, AdvertisingParameters, PeriodicAdvertisingParameters

import test_bumble_hosts as hosts
from support import Inbox, Process, bluebench, dongles, host, in_virtual_time, run_bench

SID = 6
INTERVAL_MS = 50
NONE = AdvertisingEventProperties(is_connectable=False, is_scannable=False)


async def train(device, data):
    """A set of Bumble's host whose train is on."""
    advertising = await device.create_advertising_set(
        AdvertisingParameters(
            advertising_event_properties=NONE, primary_advertising_interval_min=60, primary_advertising_interval_max=60,
            own_address_type=hci.OwnAddressType.RANDOM, advertising_sid=SID),
        random_address=device.random_address, periodic_advertising_parameters=PeriodicAdvertisingParameters(INTERVAL_MS, INTERVAL_MS),
        periodic_advertising_data=data)
    await advertising.start_periodic()
    return advertising


async def synced(device, address):
    """A sync of Bumble's host, and its reports."""
    await device.start_scanning(legacy=False, active=False)
    sync = await device.create_periodic_advertising_sync(address, SID, sync_timeout=1.0)
    reports, states = Inbox(sync, "periodic_advertisement"), Inbox(sync, "state_change")
    while sync.state.name == "PENDING":
        await states.next()
    assert sync.state.name == "ESTABLISHED" and sync.periodic_advertising_interval == INTERVAL_MS
    return sync, reports


async def conversation(ports, octets):
    data = bytes(number % 251 for number in range(octets))
    async with host(ports[0], "advertiser", hosts.PERIPHERAL) as advertiser, host(ports[1], "scanner", hosts.CENTRAL) as scanner:
        advertising = await train(advertiser, data)
        sync, reports = await synced(scanner, advertiser.random_address)
        got = []
        for _ in range(5):
            report = await reports.next()
            got.append(report.data_bytes)
            assert not report.is_truncated
        assert got == [data] * 5
        await advertising.stop()
        # The train goes on without its set.
        assert (await reports.next()).data_bytes == data
        lost = Inbox(sync, "loss")
        await advertising.stop_periodic()
        await lost.next()
    return got


# Bumble sends the data of a train in one command.
@pytest.mark.parametrize("octets", [0, 31, 100, 247, 248, 252])
def test_two_hosts_have_a_train(octets):
    with dongles(virtual_time=True) as ports:
        in_virtual_time(conversation(ports, octets))


def test_a_scan_shows_the_train_of_another_host():
    async def advertise(ports):
        async with host(ports[0], "advertiser", hosts.PERIPHERAL) as advertiser:
            await train(advertiser, bytes.fromhex("06097472616E"))
            scan = ("scan", f"tcp:127.0.0.1:{ports[1]}", "--sync", "--json", "--seconds", 5)
            return json.loads((await asyncio.to_thread(run_bench, *scan)).stdout)

    with dongles() as ports:
        document = asyncio.run(advertise(ports))
    report = next(row for row in document["reports"] if row.get("sid") == SID)
    assert report["train_interval_ms"] == INTERVAL_MS and not report["connectable"]
    assert len(document["trains"]) > 20
    assert {(row["sid"], row["interval_ms"], row["data"], row["truncated"]) for row in document["trains"]} == {
        (SID, float(INTERVAL_MS), "06097472616E", False)}


def test_an_accessory_has_a_train_beside_it():
    with dongles() as ports:
        device = f"tcp:127.0.0.1:{ports[0]}"
        with Process(bluebench(), "advertise", device, "--train", "0609747261696E", "--train-interval", 40) as accessory:
            accessory.wait_for("train of 7 octets every 50.0 ms, SID 1")
            told = run_bench("scan", f"tcp:127.0.0.1:{ports[1]}", "--sync", "--seconds", 3).stdout
    assert "train every 50.0 ms" in told and "Complete_Local_Name" not in told.split("train every")[0]
    assert told.count("SID 1  train every 50.0 ms") > 20
    assert "Bluebench" in told, "the accessory is still found"


@pytest.mark.parametrize("words", [["--train", "xy"], ["--train-interval", "5"]])
def test_a_wrong_train_is_refused(words):
    run_bench("advertise", "tcp:127.0.0.1:1", *words, expected=2)
