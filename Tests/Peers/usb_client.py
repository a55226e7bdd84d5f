"""A GATT client on a USB dongle, all of it Bumble's: `usb_client.py TRANSPORT PEER`, the peer being the accessory of docs/guide/accessory.md.

Prints what it saw as one JSON object for each stage; octets are strings of hexadecimal digits. It judges nothing.
"""

import asyncio
import json
import sys

from bumble import att, gatt, hci
from bumble.device import ConnectionParametersPreferences, Device, Peer
from bumble.hci import Address
from bumble.transport import open_transport

from accessory import uuid
from support import Inbox

MTU = 247
INTERVAL_MS = 7.5
BURST, BURST_LENGTH = 40, 200
INDICATIONS, INDICATION_LENGTH = 5, 20
ECHOES = 60


def tell(stage, **seen):
    print(json.dumps({"stage": stage, **seen}), flush=True)


def pattern(number):
    """The value of an echo: octets that count up from its number, more for each."""
    return bytes((number + index) % 256 for index in range(20 + 3 * number))


async def found(device, address):
    """The first advertisement and the first scan response of `address`."""
    reports = Inbox(device.host, "advertising_report")
    await device.start_scanning(active=True, scan_interval=40, scan_window=40)
    mine = [await reports.until(lambda report: str(report.address).startswith(address))]
    is_response = mine[0].event_type & 0x08
    mine.append(await reports.until(lambda report: str(report.address).startswith(address) and report.event_type & 0x08 != is_response))
    await device.stop_scanning()
    mine.sort(key=lambda report: report.event_type & 0x08)
    return mine


async def discover(peer):
    """The services in order, with their characteristics and descriptors."""
    services = []
    for service in await peer.discover_services():
        characteristics = []
        for characteristic in await peer.discover_characteristics(service=service):
            descriptors = await peer.discover_descriptors(characteristic)
            characteristics.append([str(characteristic.uuid), int(characteristic.properties), [str(one.type) for one in descriptors]])
        services.append([str(service.uuid), characteristics])
    return services


async def refusal(action):
    """The number of the ATT error with which the peer answers."""
    try:
        await action
    except att.ATT_Error as error:
        return int(error.error_code)
    return None


async def reading_and_writing(peer, of):
    constant, long, short, hidden, described = (of(number) for number in (1, 2, 8, 7, 9))
    tell("read", constant=(await constant.read_value()).hex(), long=(await long.read_value()).hex(), short=(await short.read_value()).hex())
    [description] = [one for one in described.descriptors if one.type == gatt.GATT_CHARACTERISTIC_USER_DESCRIPTION_DESCRIPTOR]
    tell("descriptor", value=(await peer.read_value(description)).hex())
    await short.write_value(b"written", with_response=True)
    tell("written", short=(await short.read_value()).hex())
    tell(
        "refused", hidden=await refusal(hidden.read_value()), constant=await refusal(constant.write_value(b"\0", with_response=True)),
        short=await refusal(short.write_value(bytes(9), with_response=True)), kept=(await short.read_value()).hex())


async def notifications_and_indications(of):
    echo, notifier, indicator, control = of(3), of(4), of(5), of(6)
    notified, indicated = Inbox(), Inbox()
    await notifier.subscribe(notified.put)
    await indicator.subscribe(indicated.put, prefer_notify=False)
    await control.write_value(bytes([1, BURST, BURST_LENGTH]), with_response=True)
    tell("notified", values=[bytes(await notified.next()).hex() for _ in range(BURST)])
    await control.write_value(bytes([2, INDICATIONS, INDICATION_LENGTH]), with_response=True)
    tell("indicated", values=[bytes(await indicated.next()).hex() for _ in range(INDICATIONS)])
    for number in range(ECHOES):
        await echo.write_value(pattern(number), with_response=False)
    tell("echoed", values=[bytes(await notified.next()).hex() for _ in range(ECHOES)])
    await notifier.unsubscribe(notified.put)
    await control.write_value(bytes([1, 1, 1]), with_response=True)
    await of(8).read_value()
    tell("unsubscribed", further=len(notified.items))


async def session(transport, address):
    device = Device.with_hci("client", Address("F0:F1:F2:F3:F4:F5"), transport.source, transport.sink)
    await device.power_on()
    tell("powered", address=str(device.public_address).removesuffix("/P"), version=int(device.host.local_version.hci_version))
    advertisement, response = await found(device, address)
    tell("found", data=bytes(advertisement.data).hex(), response=bytes(response.data).hex())
    preferences = ConnectionParametersPreferences(connection_interval_min=INTERVAL_MS, connection_interval_max=INTERVAL_MS)
    link = await device.connect(
        Address(address, Address.RANDOM_DEVICE_ADDRESS), connection_parameters_preferences={hci.Phy.LE_1M: preferences})
    gone = Inbox(link, "disconnection")
    tell("connected", peer=str(link.peer_address), role=int(link.role), interval=link.parameters.connection_interval)
    peer = Peer(link)
    tell("mtu", agreed=await peer.request_mtu(MTU), used=link.att_mtu)
    tell("discovered", services=await discover(peer))

    def of(number):
        [characteristic] = peer.get_characteristics_by_uuid(uuid(number))
        return characteristic

    await reading_and_writing(peer, of)
    await notifications_and_indications(of)
    await link.disconnect(hci.HCI_REMOTE_USER_TERMINATED_CONNECTION_ERROR)
    tell("disconnected", reason=int(await gone.next()))


async def main(name, address):
    async with await open_transport(name) as transport:
        await session(transport, address)
    tell("closed")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
