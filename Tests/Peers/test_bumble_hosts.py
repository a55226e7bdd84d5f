"""Two Bumble hosts on two virtual dongles: the behaviour that a foreign stack expects from a controller."""

import asyncio
import contextlib

import pytest
from bumble import hci
from bumble.core import AdvertisingData, UUID
from bumble.device import (
    AdvertisingEventProperties, AdvertisingParameters, AdvertisingType, ConnectionParametersPreferences, Device, Peer,
)
from bumble.gatt import Characteristic, CharacteristicValue, Descriptor, Service

from support import Inbox, host

pytestmark = pytest.mark.virtual_time

CENTRAL = "F0:F1:F2:F3:F4:F5"
PERIPHERAL = "C0:C1:C2:C3:C4:C5"
NAME = bytes(AdvertisingData([(AdvertisingData.FLAGS, b"\x06"), (AdvertisingData.COMPLETE_LOCAL_NAME, b"Foreign")]))
RESPONSE = bytes(AdvertisingData([(AdvertisingData.MANUFACTURER_SPECIFIC_DATA, b"\xff\xff\x01\x02")]))
SERVICE = UUID("6E400001-B5A3-F393-E0A9-E50E24DCCA9E")
VALUE = UUID("6E400002-B5A3-F393-E0A9-E50E24DCCA9E")
STREAM = UUID("6E400003-B5A3-F393-E0A9-E50E24DCCA9E")
EXTENDED = "LE_Extended_Advertising_Report"


@contextlib.asynccontextmanager
async def two_hosts(ports):
    async with host(ports[0], "central", CENTRAL) as central, host(ports[1], "peripheral", PERIPHERAL) as peripheral:
        yield central, peripheral


@contextlib.asynccontextmanager
async def connected(ports, services=(), interval_ms=15):
    """Both ends of a connection: (central's, peripheral's)."""
    async with two_hosts(ports) as (central, peripheral):
        for service in services:
            peripheral.add_service(service)
        accepted = Inbox(peripheral, Device.EVENT_CONNECTION)
        await peripheral.start_advertising(advertising_data=NAME, advertising_interval_min=20, advertising_interval_max=20)
        preferences = ConnectionParametersPreferences(connection_interval_min=interval_ms, connection_interval_max=interval_ms)
        link = await central.connect(PERIPHERAL, connection_parameters_preferences={hci.Phy.LE_1M: preferences})
        yield link, await accepted.next()


async def test_reset_and_identity(ports):
    async with host(ports[0], "one", CENTRAL) as one, host(ports[1], "other", PERIPHERAL) as other:
        versions = {device.host.local_version.hci_version for device in (one, other)}
        assert versions == {hci.SpecificationVersion.BLUETOOTH_CORE_5_4}
        assert one.supports_le_extended_advertising
        assert all(one.supports_le_phy(phy) for phy in (hci.Phy.LE_1M, hci.Phy.LE_2M, hci.Phy.LE_CODED))
        assert one.public_address != other.public_address


@pytest.mark.parametrize("active", [False, True])
@pytest.mark.parametrize("legacy_commands", [False, True])
async def test_scan_finds_a_legacy_advertiser(ports, active, legacy_commands):
    async with two_hosts(ports) as (central, peripheral):
        reports = Inbox(central.host, "advertising_report")
        await peripheral.start_advertising(
            advertising_data=NAME, scan_response_data=RESPONSE, advertising_interval_min=20, advertising_interval_max=20)
        await central.start_scanning(legacy=legacy_commands, active=active, scan_interval=40, scan_window=40)
        first = await reports.until(lambda report: str(report.address).startswith(PERIPHERAL))
        assert bytes(first.data) == NAME
        if active:
            response = await reports.until(lambda report: bytes(report.data) == RESPONSE)
            assert str(response.address).startswith(PERIPHERAL)
        else:
            followers = [await reports.next() for _ in range(4)]
            assert {bytes(report.data) for report in followers} == {NAME}


async def test_duplicates_are_filtered(ports):
    """With the filter, a second advertiser is the only further report possible."""
    async with two_hosts(ports) as (central, peripheral):
        reports = Inbox(central.host, "advertising_report")
        await peripheral.start_advertising(
            AdvertisingType.UNDIRECTED, advertising_data=NAME, advertising_interval_min=20, advertising_interval_max=20)
        await central.start_scanning(legacy=True, active=False, scan_interval=40, scan_window=40, filter_duplicates=True)
        first = await reports.next()
        await peripheral.stop_advertising()
        await peripheral.start_advertising(
            AdvertisingType.UNDIRECTED, advertising_data=RESPONSE, own_address_type=hci.OwnAddressType.PUBLIC,
            advertising_interval_min=20, advertising_interval_max=20)
        second = await reports.next()
        assert (bytes(first.data), bytes(second.data)) == (NAME, RESPONSE)


@pytest.mark.parametrize("length", [31, 229, 251])
@pytest.mark.parametrize("secondary", [hci.Phy.LE_1M, hci.Phy.LE_2M])
async def test_extended_advertising_data_arrives_whole(ports, length, secondary):
    """Bumble does not reassemble the parts of a report, so the test does, by the data status of each part."""
    data = bytes([length - 1, AdvertisingData.MANUFACTURER_SPECIFIC_DATA]) + bytes(number % 256 for number in range(length - 2))
    async with two_hosts(ports) as (central, peripheral):
        reports = Inbox(central.host, "advertising_report")
        await central.start_scanning(active=False, scan_interval=40, scan_window=40, scanning_phys=[hci.Phy.LE_1M])
        await peripheral.create_advertising_set(
            advertising_parameters=AdvertisingParameters(
                advertising_event_properties=AdvertisingEventProperties(is_connectable=False, is_scannable=False),
                primary_advertising_interval_min=30, primary_advertising_interval_max=30,
                secondary_advertising_phy=secondary, advertising_sid=5),
            advertising_data=data)
        parts = []
        while not parts or parts[-1].event_type >> 5 & 3 == 1:
            parts.append(await reports.next())
        assert b"".join(bytes(part.data) for part in parts) == data
        assert parts[-1].event_type >> 5 & 3 == 0, "the last part is complete"
        assert all(len(part.data) <= 229 for part in parts)
        assert {part.advertising_sid for part in parts} == {5}
        assert {part.secondary_phy for part in parts} == {secondary}
        assert all(part.event_type & 0x10 == 0 for part in parts), "no legacy PDU"


async def test_extended_connection_on_the_2m_secondary(ports):
    async with two_hosts(ports) as (central, peripheral):
        accepted = Inbox(peripheral, Device.EVENT_CONNECTION)
        await peripheral.create_advertising_set(
            advertising_parameters=AdvertisingParameters(
                advertising_event_properties=AdvertisingEventProperties(is_connectable=True),
                primary_advertising_interval_min=20, primary_advertising_interval_max=20,
                secondary_advertising_phy=hci.Phy.LE_2M),
            advertising_data=NAME)
        preferences = dict.fromkeys([hci.Phy.LE_1M, hci.Phy.LE_2M], ConnectionParametersPreferences())
        link = await central.connect(PERIPHERAL, connection_parameters_preferences=preferences)
        assert (await accepted.next()).role == hci.Role.PERIPHERAL
        phy = await link.get_phy()
        assert (phy.tx_phy, phy.rx_phy) == (hci.Phy.LE_2M, hci.Phy.LE_2M)


async def test_connect_and_disconnect(ports):
    async with connected(ports) as (link, other):
        assert (link.role, other.role) == (hci.Role.CENTRAL, hci.Role.PERIPHERAL)
        assert str(link.peer_address).startswith(PERIPHERAL) and str(other.peer_address).startswith(CENTRAL)
        assert link.parameters.connection_interval == 15
        near, far = Inbox(link, "disconnection"), Inbox(other, "disconnection")
        await link.disconnect()
        assert await near.next() == hci.HCI_CONNECTION_TERMINATED_BY_LOCAL_HOST_ERROR
        assert await far.next() == hci.HCI_REMOTE_USER_TERMINATED_CONNECTION_ERROR


async def test_the_peripheral_disconnects(ports):
    async with connected(ports) as (link, other):
        near = Inbox(link, "disconnection")
        await other.disconnect()
        assert await near.next() == hci.HCI_REMOTE_USER_TERMINATED_CONNECTION_ERROR


async def test_connect_again_after_a_disconnection(ports):
    async with connected(ports) as (link, other):
        central, peripheral = link.device, other.device
        gone = Inbox(other, "disconnection")
        await link.disconnect()
        await gone.next()
        accepted = Inbox(peripheral, Device.EVENT_CONNECTION)
        await peripheral.start_advertising(advertising_data=NAME)
        again = await central.connect(PERIPHERAL)
        assert (await accepted.next()).role == hci.Role.PERIPHERAL
        assert again.peer_address == link.peer_address


async def test_remote_features_and_rssi(ports):
    async with connected(ports) as (link, _):
        features = await link.get_remote_le_features()
        for feature in (hci.LeFeatureMask.LE_2M_PHY, hci.LeFeatureMask.LE_CODED_PHY, hci.LeFeatureMask.LE_DATA_PACKET_LENGTH_EXTENSION):
            assert feature in features
        assert -127 <= await link.get_rssi() <= 20


async def test_data_length(ports):
    async with connected(ports) as (link, other):
        near = Inbox(link, "connection_data_length_change", lambda: link.data_length)
        far = Inbox(other, "connection_data_length_change", lambda: other.data_length)
        # The controllers start procedures in the link's first event, possibly before a listener was registered.
        near.put()
        far.put()
        await link.set_data_length(251, 2120)
        ours = await near.until(lambda length: length.max_tx_octets == 251)
        theirs = await far.until(lambda length: length.max_rx_octets == 251)
        assert ours.max_tx_time == 2120
        assert theirs.max_rx_time == 2120


@pytest.mark.parametrize(
    ("tx", "rx"),
    [
        (hci.Phy.LE_2M, hci.Phy.LE_2M), (hci.Phy.LE_CODED, hci.Phy.LE_CODED), (hci.Phy.LE_2M, hci.Phy.LE_1M), (hci.Phy.LE_1M, hci.Phy.LE_CODED),
    ],
)
async def test_phy(ports, tx, rx):
    async with connected(ports) as (link, other):
        near, far = Inbox(link, "connection_phy_update"), Inbox(other, "connection_phy_update")
        await link.set_phy(tx_phys=[tx], rx_phys=[rx])
        ours = await near.next()
        theirs = await far.next()
        assert (ours.tx_phy, ours.rx_phy) == (tx, rx)
        assert (theirs.tx_phy, theirs.rx_phy) == (rx, tx)


@pytest.mark.parametrize("interval_ms", [7.5, 30, 100])
async def test_the_central_updates_the_parameters(ports, interval_ms):
    async with connected(ports) as (link, other):
        far = Inbox(other, "connection_parameters_update", lambda *_: other.parameters)
        await link.update_parameters(interval_ms, interval_ms, 2, 3000)
        theirs = await far.next()
        for parameters in (link.parameters, theirs):
            assert parameters.connection_interval == interval_ms
            assert parameters.peripheral_latency == 2
            assert parameters.supervision_timeout == 3000


async def test_the_peripheral_asks_for_parameters_by_l2cap(ports):
    async with connected(ports) as (link, other):
        near = Inbox(link, "connection_parameters_update", lambda *_: link.parameters)
        await other.update_parameters(50, 50, 0, 2000, use_l2cap=True)
        assert (await near.next()).connection_interval == 50


async def test_the_peripheral_asks_for_parameters_by_link_layer(ports):
    async with connected(ports) as (link, other):
        near = Inbox(link, "connection_parameters_update", lambda *_: link.parameters)
        await other.update_parameters(40, 40, 0, 2000)
        assert (await near.next()).connection_interval == 40


class Store:
    """A GATT service with one value and one stream, created for each test."""

    def __init__(self):
        self.value = bytes(range(20))
        self.written = Inbox()
        properties = Characteristic.Properties
        self.characteristic = Characteristic(
            VALUE, properties.READ | properties.WRITE | properties.WRITE_WITHOUT_RESPONSE,
            Characteristic.READABLE | Characteristic.WRITEABLE,
            CharacteristicValue(read=lambda _: self.value, write=self.write),
            [Descriptor("2901", Descriptor.READABLE, b"A value")])
        self.stream = Characteristic(STREAM, properties.NOTIFY | properties.INDICATE, Characteristic.READABLE, b"")
        self.service = Service(SERVICE, [self.characteristic, self.stream])

    def write(self, _, value):
        self.value = bytes(value)
        self.written.put(self.value)


async def discovered(link):
    peer = Peer(link)
    await peer.discover_services()
    for service in peer.get_services_by_uuid(SERVICE):
        await service.discover_characteristics()
    [value] = peer.get_characteristics_by_uuid(VALUE)
    [stream] = peer.get_characteristics_by_uuid(STREAM)
    return peer, value, stream


@pytest.mark.parametrize("mtu", [23, 65, 247, 512])
async def test_mtu_and_long_values(ports, mtu):
    store = Store()
    async with connected(ports, [store.service]) as (link, other):
        peer, value, _ = await discovered(link)
        assert await peer.request_mtu(mtu) == mtu
        assert (link.att_mtu, other.att_mtu) == (mtu, mtu)
        store.value = bytes(number % 251 for number in range(400))
        assert await value.read_value() == store.value


async def test_discovery_read_and_write(ports):
    store = Store()
    async with connected(ports, [store.service]) as (link, _):
        peer, value, stream = await discovered(link)
        assert {str(one.uuid) for one in peer.services} >= {str(SERVICE)}
        assert value.properties & Characteristic.Properties.WRITE and stream.properties & Characteristic.Properties.NOTIFY
        [description] = [one for one in await value.discover_descriptors() if one.type == UUID.from_16_bits(0x2901)]
        assert await peer.read_value(description) == b"A value"
        assert await value.read_value() == bytes(range(20))
        await value.write_value(b"with response", with_response=True)
        assert await store.written.next() == b"with response"
        await value.write_value(b"without", with_response=False)
        assert await store.written.next() == b"without"
        assert await value.read_value() == b"without"


@pytest.mark.parametrize("indicate", [False, True])
async def test_notifications_and_indications(ports, indicate):
    store = Store()
    async with connected(ports, [store.service]) as (link, other):
        _, _, stream = await discovered(link)
        received = Inbox()
        await stream.subscribe(received.put, prefer_notify=not indicate)
        send = other.device.indicate_subscriber if indicate else other.device.notify_subscriber
        for number in range(50):
            await send(other, store.stream, bytes([number] * 20))
        assert [(await received.next())[0] for _ in range(50)] == list(range(50))


async def test_traffic_both_ways_keeps_order_while_the_link_changes(ports):
    """A few hundred packets in each direction during changes of the PHY, the data length and the interval."""
    store, count = Store(), 300
    async with connected(ports, [store.service], interval_ms=7.5) as (link, other):
        peer, value, stream = await discovered(link)
        await peer.request_mtu(247)
        received = Inbox()
        await stream.subscribe(received.put)

        async def up():
            for number in range(count):
                await value.write_value(number.to_bytes(2, "little") * 100, with_response=False)

        async def down():
            for number in range(count):
                await other.device.notify_subscriber(other, store.stream, number.to_bytes(2, "little") * 100)

        async def changes():
            await link.set_data_length(251, 2120)
            await link.set_phy(tx_phys=[hci.Phy.LE_2M], rx_phys=[hci.Phy.LE_2M])
            await link.update_parameters(15, 15, 0, 3000)

        await asyncio.gather(up(), down(), changes())
        for inbox in (store.written, received):
            assert [int.from_bytes((await inbox.next())[:2], "little") for _ in range(count)] == list(range(count))


async def test_a_host_that_leaves_frees_its_controller(ports):
    """The link of a lost host ends, and the port serves a reset controller to the next client."""
    async with host(ports[1], "peripheral", PERIPHERAL) as peripheral:
        accepted = Inbox(peripheral, Device.EVENT_CONNECTION)
        await peripheral.start_advertising(advertising_data=NAME, advertising_interval_min=20, advertising_interval_max=20)
        async with host(ports[0], "leaver", CENTRAL) as leaver:
            link = await leaver.connect(PERIPHERAL)
            lost = Inbox(await accepted.next(), "disconnection")
            # An answered request: the link is established, so the reason of its loss is a time-out instead of 0x3E.
            await Peer(link).request_mtu(64)
        assert await lost.next() in (hci.HCI_CONNECTION_TIMEOUT_ERROR, hci.HCI_REMOTE_USER_TERMINATED_CONNECTION_ERROR)
        await peripheral.start_advertising(advertising_data=NAME, advertising_interval_min=20, advertising_interval_max=20)
        async with host(ports[0], "next", CENTRAL) as follower:
            assert (await follower.connect(PERIPHERAL)).role == hci.Role.CENTRAL
