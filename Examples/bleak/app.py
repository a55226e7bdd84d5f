"""An app's central, written with bleak: it finds a heart rate sensor, reads where it is worn, and prints some heart rates.

bleak speaks to BlueZ, so the app needs an adapter of a Linux machine: a real one, or those of a virtual machine. In a checkout:

    Tools/vm --accessory heart-rate --run '.venv/bin/python Examples/bleak/app.py'
"""

import asyncio
import sys

from bleak import BleakClient, BleakScanner

HEART_RATE = "0000180d-0000-1000-8000-00805f9b34fb"
MEASUREMENT = "00002a37-0000-1000-8000-00805f9b34fb"
LOCATION = "00002a38-0000-1000-8000-00805f9b34fb"
LOCATIONS = ["other", "chest", "wrist", "finger", "hand", "ear lobe", "foot"]
COUNT = 3


def beats(value):
    """The heart rate of a measurement, of 8 or 16 bits by its first flag."""
    return int.from_bytes(value[1:3], "little") if value[0] & 0x01 else value[1]


async def main():
    sensor = await BleakScanner.find_device_by_filter(lambda device, data: HEART_RATE in data.service_uuids, timeout=30)
    if sensor is None:
        sys.exit("there is no heart rate sensor")
    print(f"found {sensor.name}")
    async with BleakClient(sensor) as client:
        [place] = await client.read_gatt_char(LOCATION)
        print(f"worn at the {LOCATIONS[place]}")
        rates = asyncio.Queue()
        await client.start_notify(MEASUREMENT, lambda _, value: rates.put_nowait(beats(value)))
        for _ in range(COUNT):
            print(f"{await asyncio.wait_for(rates.get(), 30)} beats per minute")


if __name__ == "__main__":
    asyncio.run(main())
