"""Enhanced ATT bearers: our host with Bumble's on the other virtual dongle, as client and as server, and Bumble's with itself."""

import asyncio
import json

import pytest
from bumble import att, gatt, gatt_client, l2cap
from bumble.core import AdvertisingData, UUID
from bumble.device import Device
from bumble.keys import MemoryKeyStore

from support import Inbox, host, run_beside

pytestmark = pytest.mark.virtual_time

CENTRAL = "F0:F1:F2:F3:F4:F5"
PERIPHERAL = "C0:C1:C2:C3:C4:C5"
SERVICE, VALUE, STREAM = UUID("FFF0"), UUID("FFF1"), UUID("FFF2")
READABLE = gatt.Characteristic.READABLE | gatt.Characteristic.WRITEABLE
PROPERTIES = gatt.Characteristic.Properties
LONG = bytes(number % 256 for number in range(400))
ADVERTISING = {"advertising_interval_min": 20, "advertising_interval_max": 20}


def service():
    return gatt.Service(SERVICE, [
        gatt.Characteristic(VALUE, PROPERTIES.READ | PROPERTIES.WRITE, READABLE, LONG),
        gatt.Characteristic(STREAM, PROPERTIES.READ | PROPERTIES.NOTIFY | PROPERTIES.INDICATE, READABLE, b"stream")])


def specification(mtu=517, mps=247, credits=5):
    return l2cap.LeCreditBasedChannelSpec(psm=att.EATT_PSM, mtu=mtu, mps=mps, max_credits=credits)


async def clients(link, count, **limits):
    """Bumble's clients on new bearers. Bumble starts with ATT_MTU 23 there, and the MTU of the channel is set here: docs/design/peers.md."""
    found = await gatt_client.Client.connect_eatt(link, specification(**limits), count)
    found = found if isinstance(found, list) else [found]
    for client in found:
        client.bearer.att_mtu = min(client.bearer.mtu, client.bearer.peer_mtu)
    return found


async def everything(client):
    """The UUIDs and handles of a server, and its two values."""
    services = await client.discover_services()
    rows = []
    for found in services:
        rows += [(str(found.uuid), found.handle)] + [(str(one.uuid), one.handle) for one in await client.discover_characteristics([], found)]
    return rows


async def test_two_bumble_hosts(ports):
    async with host(ports[0], "client", CENTRAL) as central, host(ports[1], "server", PERIPHERAL, eatt_enabled=True) as peripheral:
        peripheral.add_service(service())
        await peripheral.start_advertising(**ADVERTISING)
        link = await central.connect(PERIPHERAL)
        await link.pair()
        found = await asyncio.gather(*(everything(client) for client in await clients(link, 3)))
        assert found[0] == found[1] == found[2] and len(found[0]) > 5


@pytest.mark.parametrize("count", [1, 3, 5])
async def test_our_client_on_bearers_of_bumble(ports, tmp_path, count):
    """`bluebench gatt --eatt`: the link is encrypted, the features are declared, and every later request comes on a bearer."""
    bonds = tmp_path / "bonds.json"
    async with host(ports[1], "server", PERIPHERAL, power_on=False, eatt_enabled=True) as device:
        await device.power_on()
        device.keystore = MemoryKeyStore()
        device.add_service(service())
        served, process = [], device.gatt_server.on_gatt_pdu

        def on_pdu(bearer, pdu):
            served.append((att.is_enhanced_bearer(bearer) and bearer.source_cid, pdu.name))
            process(bearer, pdu)

        device.gatt_server.on_gatt_pdu = on_pdu
        await device.start_advertising(**ADVERTISING)
        await run_beside("pair", ports[0], "--peer", PERIPHERAL + "/random", "--bonds", bonds, "--json")
        del served[:]
        await device.start_advertising(**ADVERTISING)
        result = await run_beside(
            "gatt", ports[0], "--peer", PERIPHERAL + "/random", "--bonds", bonds, "--eatt", count, "--json", "--write", "FFF1=CAFE", "--read", "FFF1")
        report = json.loads(result.stdout)
        assert report["enhanced_bearers"] == count
        assert {row["uuid"]: row["value"] for row in report["reads"]}.popitem()[1] == "CAFE"
        values = {row["uuid"]: row.get("value") for entry in report["services"] for row in entry["characteristics"]}
        assert LONG.hex().upper() in values.values(), "a long value, whole"
        assert device.gatt_service.client_supported_features_characteristic.value[0] & 6 == 6
        first = next(index for index, (bearer, _) in enumerate(served) if bearer)
        assert {name for bearer, name in served[:first]} <= {"ATT_READ_BY_TYPE_REQUEST", "ATT_WRITE_REQUEST"}
        assert all(bearer for bearer, _ in served[first:]), "a request on the fixed channel after the bearers were open"


async def test_bumbles_client_on_our_bearers(ports):
    """`bluebench advertise --eatt`: no bearer in clear; requests side by side on five, and values on any."""
    ours = asyncio.ensure_future(run_beside("advertise", ports[1], "--as", "heart-rate", "--eatt", "--seconds", 60))
    async with host(ports[0], "client", CENTRAL) as central:
        found = Inbox(central, Device.EVENT_ADVERTISEMENT)
        await central.start_scanning(active=True)
        report = await found.until(lambda report: report.data.get(AdvertisingData.COMPLETE_LOCAL_NAME) or report.is_connectable)
        await central.stop_scanning()
        link = await central.connect(report.address)
        with pytest.raises(l2cap.L2capError):
            await clients(link, 1)
        await link.pair()
        plain = gatt_client.Client(link)
        link.gatt_client = plain
        bearers = await clients(link, 5)
        assert {client.bearer.att_mtu for client in bearers} == {517}
        rows = await asyncio.gather(*(everything(client) for client in bearers))
        assert all(row == rows[0] for row in rows) and len(rows[0]) > 8
        with pytest.raises(att.ATT_Error) as refusal:
            await bearers[0].request_mtu(100)
        assert refusal.value.error_code == att.ErrorCode.REQUEST_NOT_SUPPORTED
        with pytest.raises(l2cap.L2capError):
            await clients(link, 1)

        # A configuration is the client's on every bearer. Values come on the fixed channel, and go on coming when a bearer is closed.
        measurements = Inbox()
        [service] = await plain.discover_service(UUID("180D"))
        [measurement] = await plain.discover_characteristics([UUID("2A37")], service)
        await measurement.subscribe(measurements.put)
        assert await measurements.next()
        configuration = measurement.get_descriptor(gatt.GATT_CLIENT_CHARACTERISTIC_CONFIGURATION_DESCRIPTOR)
        assert await bearers[1].read_value(configuration.handle) == b"\x01\x00"
        await bearers[0].bearer.disconnect()
        assert await measurements.next()
        assert await everything(bearers[4]) == rows[0]
        await link.disconnect()
        await ours
