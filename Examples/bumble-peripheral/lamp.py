"""A lamp made with Bumble: its brightness is a characteristic, and it switches itself off after ten minutes without a command.

usage: lamp.py TRANSPORT
"""

import asyncio
import sys

from bumble.att import ATT_Error, ErrorCode
from bumble.core import UUID, AdvertisingData
from bumble.device import Connection, Device
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.hci import Address
from bumble.transport import open_transport

SERVICE = UUID("3B2F0001-5F1C-4C3A-9E0B-6A1D5A8E7C01")
BRIGHTNESS = UUID("3B2F0002-5F1C-4C3A-9E0B-6A1D5A8E7C01")
AUTO_OFF = 600
"""Seconds after the last command."""


class Lamp:
    def __init__(self, device: Device) -> None:
        self.device, self.brightness = device, 0
        self._timer: asyncio.TimerHandle | None = None
        properties = Characteristic.Properties
        self.characteristic = Characteristic(
            BRIGHTNESS, properties.READ | properties.WRITE | properties.NOTIFY, Characteristic.READABLE | Characteristic.WRITEABLE,
            CharacteristicValue(read=lambda connection: bytes([self.brightness]), write=self.write))
        device.add_service(Service(SERVICE, [self.characteristic]))

    async def start(self) -> None:
        """Advertises, and again after each connection."""
        data = AdvertisingData([(AdvertisingData.FLAGS, b"\x06"), (AdvertisingData.COMPLETE_LOCAL_NAME, b"Lamp")])
        await self.device.start_advertising(advertising_data=bytes(data), auto_restart=True)

    def write(self, connection: Connection, value: bytes) -> None:
        """Sets the brightness in percent."""
        if len(value) != 1:
            raise ATT_Error(ErrorCode.INVALID_ATTRIBUTE_LENGTH)
        if value[0] > 100:
            raise ATT_Error(ErrorCode.VALUE_NOT_ALLOWED)
        self.brightness = value[0]
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(AUTO_OFF, self._switch_off)

    def _switch_off(self) -> None:
        self.brightness, self._timer = 0, None
        self._notifying = asyncio.ensure_future(self.device.notify_subscribers(self.characteristic, bytes([0])))


async def main(name: str) -> None:
    async with await open_transport(name) as transport:
        device = Device.with_hci("Lamp", Address("F0:4C:41:4D:50:01"), transport.source, transport.sink)
        await device.power_on()
        await Lamp(device).start()
        await transport.source.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
