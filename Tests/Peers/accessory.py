"""The reference accessory of docs/guide/accessory.md as a Bumble peripheral: `accessory.py HOST:PORT|virtual:HOST:PORT|usb:VID:PID/SERIAL`.

Takes the controller that listens there, advertises, and serves one central after another until it is ended.
"""

import asyncio
import struct
import sys

from bumble import att, gatt
from bumble.core import AdvertisingData, UUID
from bumble.device import Device, DeviceConfiguration
from bumble.gatt import Characteristic, CharacteristicValue, Descriptor, Service
from bumble.hci import Address, OwnAddressType

from peripheral import advertise_again, open_controller, run

NAME = "Bluebench Reference"
COMPANY = 0xFFFF
CONTROL_OPCODE_UNKNOWN = 0x80
INVALID_LENGTH = att.ErrorCode.INVALID_ATTRIBUTE_LENGTH

Properties = Characteristic.Properties
READABLE, WRITEABLE = Characteristic.READABLE, Characteristic.WRITEABLE


def uuid(short):
    return UUID(f"B1BE{short:04X}-7E57-4ACC-9D3A-0B5E55ED0001")


def refuse(code):
    def refusing(*_):
        raise att.ATT_Error(code)

    return refusing


def constant(value):
    return CharacteristicValue(read=lambda _: value, write=refuse(att.ErrorCode.WRITE_NOT_PERMITTED))


class Accessory:
    """The attributes and the control point; `device` is set later."""

    def __init__(self):
        self.device = None
        self.tasks = set()
        self.reset()
        self.notifier = Characteristic(uuid(4), Properties.NOTIFY, READABLE, CharacteristicValue(read=refuse(att.ErrorCode.READ_NOT_PERMITTED)))
        self.indicator = Characteristic(uuid(5), Properties.INDICATE, READABLE, CharacteristicValue(read=refuse(att.ErrorCode.READ_NOT_PERMITTED)))

    def reset(self):
        """The state at the start of every connection."""
        for task in self.tasks:
            task.cancel()
        self.long = bytes(number % 256 for number in range(300))
        self.short = b"\x2a"

    def services(self):
        hidden = CharacteristicValue(read=refuse(att.ErrorCode.READ_NOT_PERMITTED), write=lambda *_: None)
        described = Descriptor(gatt.GATT_CHARACTERISTIC_USER_DESCRIPTION_DESCRIPTOR, READABLE, b"Described")
        return [
            Service(gatt.GATT_DEVICE_INFORMATION_SERVICE, [
                Characteristic(gatt.GATT_MANUFACTURER_NAME_STRING_CHARACTERISTIC, Properties.READ, READABLE, constant(b"Bluebench")),
                Characteristic(gatt.GATT_MODEL_NUMBER_STRING_CHARACTERISTIC, Properties.READ, READABLE, constant(b"Reference 1")),
            ]),
            Service(gatt.GATT_BATTERY_SERVICE, [
                Characteristic(gatt.GATT_BATTERY_LEVEL_CHARACTERISTIC, Properties.READ | Properties.NOTIFY, READABLE, constant(b"\x64")),
            ]),
            Service(uuid(0), [
                Characteristic(uuid(1), Properties.READ, READABLE, constant(bytes(range(20)))),
                Characteristic(
                    uuid(2), Properties.READ | Properties.WRITE, READABLE | WRITEABLE,
                    CharacteristicValue(read=lambda _: self.long, write=self.write_long)),
                Characteristic(
                    uuid(3), Properties.WRITE | Properties.WRITE_WITHOUT_RESPONSE, WRITEABLE,
                    CharacteristicValue(read=refuse(att.ErrorCode.READ_NOT_PERMITTED), write=self.echo)),
                self.notifier,
                self.indicator,
                Characteristic(
                    uuid(6), Properties.WRITE, WRITEABLE,
                    CharacteristicValue(read=refuse(att.ErrorCode.READ_NOT_PERMITTED), write=self.control)),
                Characteristic(uuid(7), Properties.WRITE, WRITEABLE, hidden),
                Characteristic(
                    uuid(8), Properties.READ | Properties.WRITE, READABLE | WRITEABLE,
                    CharacteristicValue(read=lambda _: self.short, write=self.write_short)),
                Characteristic(uuid(9), Properties.READ, READABLE, constant(b"\x01"), [described]),
            ]),
        ]

    def write_long(self, _, value):
        if len(value) > 512:
            raise att.ATT_Error(INVALID_LENGTH)
        self.long = bytes(value)

    def write_short(self, _, value):
        if len(value) > 8:
            raise att.ATT_Error(INVALID_LENGTH)
        self.short = bytes(value)

    async def echo(self, connection, value):
        await self.device.notify_subscriber(connection, self.notifier, bytes(value)[: connection.att_mtu - 3])

    def control(self, connection, value):
        actions = {1: ("<BB", self.notify), 2: ("<BB", self.indicate), 3: ("<HHHH", self.ask), 4: ("<H", self.leave)}
        if not value or value[0] not in actions:
            raise att.ATT_Error(CONTROL_OPCODE_UNKNOWN if value else INVALID_LENGTH)
        layout, action = actions[value[0]]
        if len(value) != 1 + struct.calcsize(layout):
            raise att.ATT_Error(INVALID_LENGTH)
        task = asyncio.get_running_loop().create_task(action(connection, *struct.unpack(layout, value[1:])))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def notify(self, connection, count, length):
        for number in range(count):
            await self.device.notify_subscriber(connection, self.notifier, bytes([number]).ljust(length, b"\0")[:length])

    async def indicate(self, connection, count, length):
        for number in range(count):
            await self.device.indicate_subscriber(connection, self.indicator, bytes([number]).ljust(length, b"\0")[:length])

    async def ask(self, connection, shortest, longest, latency, timeout):
        await self.device.l2cap_channel_manager.update_connection_parameters(connection, shortest, longest, latency, timeout)

    async def leave(self, connection, delay_ms):
        gone = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(delay_ms / 1000, gone.set_result, None)
        await gone
        await connection.disconnect()


def advertising_data():
    return bytes(AdvertisingData([
        (AdvertisingData.FLAGS, b"\x06"),
        (AdvertisingData.TX_POWER_LEVEL, b"\x00"),
        (AdvertisingData.INCOMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, b"\x0f\x18"),
        (AdvertisingData.COMPLETE_LOCAL_NAME, NAME.encode()),
    ]))


def scan_response():
    return bytes(AdvertisingData([
        (AdvertisingData.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS, bytes(uuid(0))),
        (AdvertisingData.MANUFACTURER_SPECIFIC_DATA, struct.pack("<HBB", COMPANY, 1, 0)),
    ]))


async def serve(target):
    transport = await open_controller(target)
    accessory = Accessory()
    configuration = DeviceConfiguration(name=NAME, address=Address("C0:B1:BE:00:00:01"))
    device = accessory.device = Device.from_config_with_hci(configuration, transport.source, transport.sink)
    device.add_services(accessory.services())
    await device.power_on()

    async def advertise():
        await device.start_advertising(
            own_address_type=OwnAddressType.RANDOM, advertising_data=advertising_data(), scan_response_data=scan_response(),
            advertising_interval_min=100, advertising_interval_max=100)

    ended = asyncio.Queue()

    def on_connection(connection):
        accessory.reset()
        connection.on("disconnection", ended.put_nowait)

    device.on(Device.EVENT_CONNECTION, on_connection)
    await advertise()
    print(f"advertising as {device.random_address}", flush=True)
    await advertise_again(transport, ended, advertise)


if __name__ == "__main__":
    run(serve, sys.argv[1])
