"""Two Bumble hosts on dual-mode dongles: one is found by inquiry, sends its name and is connected over BR/EDR."""

import asyncio
import statistics

import pytest
from bumble.core import AdvertisingData
from bumble.core import ConnectionError as Refused
from bumble.device import Device
from bumble.hci import (
    HCI_Error,
    HCI_Write_Default_Link_Policy_Settings_Command,
    HCI_Write_Page_Scan_Activity_Command,
    LmpFeatureMask,
    Role,
)

from bredr import BR_EDR, RANDOM_ADDRESSES, Bench, classic_host
from support import Inbox

pytestmark = pytest.mark.virtual_time


async def test_an_inquiry_finds_who_is_discoverable(dual_ports):
    async with (
        classic_host(dual_ports[0], "inquirer") as inquirer,
        classic_host(dual_ports[1], "sought", RANDOM_ADDRESSES[1], class_of_device=0x5A020C) as sought,
    ):
        results = Inbox(inquirer, Device.EVENT_INQUIRY_RESULT)
        sought.inquiry_response = None
        await sought.set_discoverable(True)
        await inquirer.start_discovery()
        address, class_of_device, data, rssi = await results.next()
        assert address == sought.public_address
        assert class_of_device == 0x5A020C
        assert data.get(AdvertisingData.COMPLETE_LOCAL_NAME) == "sought"
        assert rssi == -50
        await inquirer.stop_discovery()


async def test_hosts_with_scans_of_their_own_find_and_page_each_other(dual_ports):
    """A hundred pairs with Bumble's default scan settings and the controller's default scan intervals."""
    bench, times = Bench(dual_ports), []
    now = asyncio.get_running_loop().time
    for pair in range(100):
        async with bench.powered():
            for device in (bench.near, bench.far):
                await device.send_sync_command(HCI_Write_Page_Scan_Activity_Command(page_scan_interval=0x0800, page_scan_window=0x0012))
                await device.set_discoverable(True)
                await device.set_connectable(True)
            if pair % 2 == 0:
                results = Inbox(bench.near, Device.EVENT_INQUIRY_RESULT)
                await bench.near.start_discovery(auto_restart=False)
                assert (await results.next())[0] == bench.far.public_address
                await bench.near.stop_discovery()
            began = now()
            link = await bench.near.connect(bench.far.public_address, transport=BR_EDR)
            times.append(now() - began)
            await link.disconnect()
    # Duration of a page train to a device in mode R2.
    assert statistics.mean(times) < 2.56, times
    print(f"paged in {statistics.mean(times):.2f} s on average, {max(times):.2f} s at most")


async def test_pages_that_cross_leave_one_link(dual_ports):
    """A page ends after the other side's page has established the link, without a second link."""
    bench = Bench(dual_ports)
    async with bench.powered():
        for device in (bench.near, bench.far):
            await device.set_connectable(True)
        made = await asyncio.gather(
            bench.near.connect(bench.far.public_address, transport=BR_EDR), bench.far.connect(bench.near.public_address, transport=BR_EDR),
            return_exceptions=True)
        assert {error.error_code for error in made if isinstance(error, Exception)} <= {0x0B}, made
        assert len(bench.near.connections) == len(bench.far.connections) == 1
        [link], [other] = bench.near.connections.values(), bench.far.connections.values()
        gone = Inbox(other, other.EVENT_DISCONNECTION)
        await link.disconnect()
        await gone.next()
        # The controllers can page again on request.
        async with bench.link(by_far=True) as (link, other):
            assert len(bench.near.connections) == len(bench.far.connections) == 1


async def test_a_name_is_asked_for_with_and_without_a_connection(dual_ports):
    bench = Bench(dual_ports)
    async with bench.powered():
        async with bench.link() as (link, other):
            assert await bench.near.request_remote_name(link) == "far"
            assert await bench.far.request_remote_name(other) == "near"
        assert await bench.near.request_remote_name(bench.far.public_address) == "far"
        assert not bench.near.connections and not bench.far.connections
        await bench.far.set_connectable(False)
        with pytest.raises(HCI_Error) as raised:
            await bench.near.request_remote_name(bench.far.public_address)
        assert raised.value.error_code == 0x04


async def test_a_connection_is_made_asked_about_and_ended(dual_ports):
    bench = Bench(dual_ports)
    async with bench.powered():
        await bench.near.set_connectable(False)
        for _ in range(2):
            accepted = Inbox(bench.far, Device.EVENT_CONNECTION)
            link = await bench.near.connect(bench.far.public_address, transport=BR_EDR)
            other = await accepted.next()
            assert other.peer_address == bench.near.public_address
            assert (link.role, other.role) == (Role.CENTRAL, Role.PERIPHERAL)
            features = await link.get_remote_classic_features()
            assert LmpFeatureMask.SECURE_SIMPLE_PAIRING_CONTROLLER_SUPPORT in features
            assert features == await other.get_remote_classic_features()
            reasons = [Inbox(side, side.EVENT_DISCONNECTION) for side in (link, other)]
            await link.disconnect()
            assert [await inbox.next() for inbox in reasons] == [0x16, 0x13]


@pytest.mark.parametrize("connectable,error", [(True, 0x0D), (False, 0x04)], ids=["a host refuses", "nobody answers"])
async def test_no_connection_comes_of_a_page(dual_ports, connectable, error):
    bench = Bench(dual_ports)
    async with bench.powered():
        bench.far.classic_accept_any = False
        await bench.near.set_connectable(False)
        await bench.far.set_connectable(connectable)
        with pytest.raises(Refused) as raised:
            await bench.near.connect(bench.far.public_address, transport=BR_EDR)
        assert raised.value.error_code == error


@pytest.mark.parametrize("asks", [0, 1], ids=["the central", "the peripheral"])
async def test_roles_are_switched_and_data_goes_on(dual_ports, asks):
    bench = Bench(dual_ports)
    async with bench.powered():
        for device in (bench.near, bench.far):
            await device.send_sync_command(HCI_Write_Default_Link_Policy_Settings_Command(default_link_policy_settings=1))
        async with bench.link() as sides:
            wanted = [Role.PERIPHERAL, Role.CENTRAL]
            for _ in range(2):
                other = Inbox(sides[1 - asks], sides[1 - asks].EVENT_ROLE_CHANGE)
                await sides[asks].switch_role(wanted[asks])
                await other.next()
                assert [side.role for side in sides] == wanted
                assert await sides[0].device.request_remote_name(sides[0]) == "far"
                wanted.reverse()
