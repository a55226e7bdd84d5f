"""Small Bumble peripherals that know nothing of the bench: `products.py HOST:PORT|virtual:HOST:PORT|usb:VID:PID/SERIAL KIND [FAULT]`. A fault is one defect that a product could have."""

import asyncio
import struct
import sys

from bumble import att, gatt, hci
from bumble.core import AdvertisingData, UUID
from bumble.device import Device, DeviceConfiguration, Peer
from bumble.gatt import Characteristic, CharacteristicValue, Descriptor, Service
from bumble.hci import Address, OwnAddressType
from bumble.keys import MemoryKeyStore
from bumble.l2cap import LeCreditBasedChannelSpec
from bumble.pairing import PairingConfig, PairingDelegate

from peripheral import advertise_again, expect_a_tester, open_controller, run

P = Characteristic.Properties
READABLE, WRITEABLE = Characteristic.READABLE, Characteristic.WRITEABLE
ENCRYPTED = Characteristic.READABLE | Characteristic.READ_REQUIRES_ENCRYPTION

CHANNEL, PSM = 0x85, {"psm-of-nothing": 0x86, "psm-of-bredr": 0x1001}
REPORT_MAP = bytes.fromhex("05010906A101050719E029E715002501750195088102950175088101C0")
ADDRESS = "C0:B1:BE:00:00:0A"
NAMES = {"heart-rate": "Pulse 2", "keyboard": "Keys 60", "serial": "Wire"}
DUAL = {"speaker": "Box"}
"""Kinds that also have BR/EDR; their controllers are dual-mode."""

# The change of each defect; test_products.py has the rule that finds it.
FAULTS = [
    "battery-187", "location-9", "model-no-text", "pnp-source-3", "report-map-cut", "appearance-of-three", "rate-cut",
    "declaration-moves", "handle-zero-read", "beyond-found", "group-of-any-type", "unknown-request-silent", "unknown-command-answered",
    "write-accepted", "read-accepted", "configuration-forgotten", "subscribed-at-first", "notifies-unasked", "blob-beyond-empty",
    "mtu-ignored", "mtu-of-20", "answers-twice", "error-handle-zero", "service-by-uuid-shifted", "name-differs", "flags-both",
    "power-of-two", "name-twice", "response-flags", "parameters-accepted", "never-again", "groups-cut", "discovery-stands-still",
]

# Another firmware of the same product, which is not a fault: an additional service before the others.
UPDATES = ["service-before"]

# Faults against the rules of Conformance/profiles. Connection parameters: interval in ms from and to, latency, supervision timeout in ms.
REQUESTS = {
    "asks-latency-40": (30, 45, 40, 6_000), "asks-timeout-4-s": (30, 60, 4, 4_000), "asks-interval-7.5": (7.5, 30, 0, 6_000),
    "asks-interval-20": (20, 40, 0, 6_000), "asks-span-7.5": (30, 37.5, 0, 6_000), "asks-effective-7-s": (30, 240, 30, 18_000),
    "asks-margin-6-s": (30, 105, 20, 6_000), "asks-again-and-again": (30, 60, 0, 6_000), "asks-well": (30, 60, 4, 6_000),
}
PROFILE_FAULTS = [
    *REQUESTS, "colon-in-name", "interval-100", "fast-for-4-s", "no-power", "no-services", "services-in-response", "information-advertised",
    "asks-for-pairing", "mtu-before-length", "discovery-protected", "no-software-revision", "long-maker", "services-move",
    "no-link-key", "link-key-forgotten", "psm-of-nothing", "psm-of-bredr",
]


def strings(fault):
    rows = {
        gatt.GATT_MANUFACTURER_NAME_STRING_CHARACTERISTIC: b"Maker of all kinds of things" if fault == "long-maker" else b"Maker",
        gatt.GATT_MODEL_NUMBER_STRING_CHARACTERISTIC: b"\xff\xfeM" if fault == "model-no-text" else b"M1",
        gatt.GATT_FIRMWARE_REVISION_STRING_CHARACTERISTIC: b"1.0", gatt.GATT_SOFTWARE_REVISION_STRING_CHARACTERISTIC: b"1.0",
    }
    if fault == "no-software-revision":
        del rows[gatt.GATT_SOFTWARE_REVISION_STRING_CHARACTERISTIC]
    return Service(gatt.GATT_DEVICE_INFORMATION_SERVICE, [Characteristic(uuid, P.READ, READABLE, value) for uuid, value in rows.items()])


class Product:
    def __init__(self, kind, fault):
        self.kind, self.fault, self.device, self.connections = kind, fault, None, 0
        self.battery = Characteristic(
            gatt.GATT_BATTERY_LEVEL_CHARACTERISTIC, P.READ | P.NOTIFY, READABLE, bytes([187 if fault == "battery-187" else 88]))

    def services(self):
        fault = self.fault
        own = {"heart-rate": self.heart_rate, "keyboard": self.keyboard, "serial": self.serial, "speaker": self.serial}[self.kind]()
        self.own = own.uuid
        services = [own, Service(gatt.GATT_BATTERY_SERVICE, [self.battery]), strings(fault)]
        return [self.environment(), *services] if fault == "service-before" else services

    def environment(self):
        def written(*_):
            print("written: a value that nobody knows", flush=True)
        value = CharacteristicValue(read=lambda _: bytes(2), write=written)
        return Service(UUID.from_16_bits(0x181A), [
            Characteristic(UUID.from_16_bits(0x2A6E), P.READ | P.WRITE | P.WRITE_WITHOUT_RESPONSE, READABLE | WRITEABLE, value)])

    @staticmethod
    def reset_energy(_, value):
        """Resets Energy Expended; there is no other command. HRS 1.0, 3.3.1."""
        if value != b"\x01":
            raise att.ATT_Error(0x80)

    def heart_rate(self):
        self.rate = Characteristic(gatt.GATT_HEART_RATE_MEASUREMENT_CHARACTERISTIC, P.NOTIFY, 0, b"\x00\x48")
        location = bytes([9 if self.fault == "location-9" else 1])
        return Service(gatt.GATT_HEART_RATE_SERVICE, [
            self.rate, Characteristic(gatt.GATT_BODY_SENSOR_LOCATION_CHARACTERISTIC, P.READ, READABLE, location),
            Characteristic(
                gatt.GATT_HEART_RATE_CONTROL_POINT_CHARACTERISTIC, P.WRITE, WRITEABLE, CharacteristicValue(write=self.reset_energy)),
        ])

    def keyboard(self):
        report_map = REPORT_MAP[:-1] + b"\x26" if self.fault == "report-map-cut" else REPORT_MAP
        return Service(gatt.GATT_HUMAN_INTERFACE_DEVICE_SERVICE, [
            Characteristic(gatt.GATT_HID_INFORMATION_CHARACTERISTIC, P.READ, READABLE, b"\x11\x01\x00\x02"),
            Characteristic(gatt.GATT_REPORT_MAP_CHARACTERISTIC, P.READ, READABLE, report_map),
            Characteristic(
                gatt.GATT_REPORT_CHARACTERISTIC, P.READ | P.NOTIFY, ENCRYPTED, bytes(8),
                [Descriptor(gatt.GATT_REPORT_REFERENCE_DESCRIPTOR, READABLE, b"\x00\x01")]),
            Characteristic(
                UUID.from_16_bits(0x2A50), P.READ, READABLE, bytes([3 if self.fault == "pnp-source-3" else 2]) + bytes(6)),
        ])

    def serial(self):
        self.told = Characteristic(UUID("6E400003-0000-1000-8000-AABBCCDDEEFF"), P.NOTIFY, 0, b"")
        return Service(UUID("6E400001-0000-1000-8000-AABBCCDDEEFF"), [
            Characteristic(
                UUID("6E400002-0000-1000-8000-AABBCCDDEEFF"), P.WRITE | P.WRITE_WITHOUT_RESPONSE, WRITEABLE,
                CharacteristicValue(write=self.reset_energy)),
            Characteristic(
                UUID("ABDD3056-28FA-441D-A470-55A75A52553A"), P.READ, READABLE,
                PSM.get(self.fault, CHANNEL).to_bytes(2, "little")),
            self.told, Characteristic(UUID("6E400004-0000-1000-8000-AABBCCDDEEFF"), P.READ | P.WRITE, READABLE | WRITEABLE, bytes(range(60))),
        ])

    # Advertising

    def data(self):
        name = (NAMES | DUAL)[self.kind].encode()
        rows = [(AdvertisingData.FLAGS, bytes([2 if self.kind in DUAL else 7 if self.fault == "flags-both" else 6]))]
        if self.fault not in ("no-services", "services-in-response"):
            rows.append(self.services_row())
        rows.append((AdvertisingData.COMPLETE_LOCAL_NAME, name.replace(b" ", b":") if self.fault == "colon-in-name" else name))
        if self.fault == "power-of-two":
            rows.append((AdvertisingData.TX_POWER_LEVEL, b"\x00\x00"))
        if self.fault == "name-twice":
            rows.append((AdvertisingData.SHORTENED_LOCAL_NAME, name[:2]))
        return bytes(AdvertisingData(rows))

    def services_row(self):
        own = self.own.to_bytes()
        if self.fault == "information-advertised" and len(own) == 2:
            own += b"\x0a\x18"
        wide = AdvertisingData.INCOMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS
        return (AdvertisingData.INCOMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS if len(own) < 16 else wide, own)

    def response(self):
        rows = [(AdvertisingData.APPEARANCE, b"\x00" * (3 if self.fault == "appearance-of-three" else 2))]
        if self.fault not in ("no-power", "power-of-two"):
            rows.append((AdvertisingData.TX_POWER_LEVEL, b"\x00"))
        if self.fault == "services-in-response":
            rows.append(self.services_row())
        if self.fault == "response-flags":
            rows.insert(0, (AdvertisingData.FLAGS, b"\x06"))
        return bytes(AdvertisingData(rows))

    # Faults of the server: changes of received or sent PDUs

    def spoil(self, device):
        """Adds a defect between the attribute server and the link."""
        server, receive = device.gatt_server, device.on_gatt_pdu
        send = server.send_gatt_pdu

        def counted(connection, pdu, receive=server.on_gatt_pdu):
            if pdu.op_code in (0x12, 0x16, 0x18, 0x52, 0xD2):
                print(f"write {bytes(pdu).hex()}", flush=True)
            receive(connection, pdu)
        server.on_gatt_pdu = counted
        rules = {
            "handle-zero-read": lambda pdu: b"\x0a\x01\x00" if pdu == b"\x0a\x00\x00" else pdu,
            "mtu-ignored": lambda pdu: b"\x02\x00\x02" if pdu[:1] == b"\x02" else pdu,
            "configuration-forgotten": lambda pdu: pdu[:3] + b"\x00\x00" if pdu[:1] == b"\x12" and pdu[3:] == b"\x01\x00" else pdu,
            "unknown-request-silent": lambda pdu: None if pdu[:1] == b"\x3e" else pdu,
            "unknown-command-answered": lambda pdu: b"\x0a\x00\x00" if pdu[:1] == b"\x7e" else pdu,
        }
        if change := rules.get(self.fault):
            def received(handle, pdu):
                changed = change(bytes(pdu))
                if changed is not None:
                    receive(handle, changed)
            device.l2cap_channel_manager.register_fixed_channel(att.ATT_CID, received)
        if self.fault == "restarts-at-garbage":
            def taken(handle, pdu):
                if len(pdu) == 2:
                    self.restart = asyncio.get_running_loop().create_task(self.restarted(handle))
                else:
                    receive(handle, pdu)
            device.l2cap_channel_manager.register_fixed_channel(att.ATT_CID, taken)
        answers = {
            "beyond-found": lambda pdu: b"\x05\x01\xff\xff\x00\x28" if pdu[:4] == b"\x01\x04\xff\xff" else pdu,
            "group-of-any-type": lambda pdu: pdu[:4] + b"\x0a" if pdu[:2] == b"\x01\x10" and pdu[4:] == b"\x10" else pdu,
            "write-accepted": lambda pdu: b"\x13" if pdu[:2] == b"\x01\x12" and pdu[4:] in (b"\x03", b"\x05") else pdu,
            "read-accepted": lambda pdu: b"\x0b\x00" if pdu[:2] == b"\x01\x0a" and pdu[4:] == b"\x02" else pdu,
            "blob-beyond-empty": lambda pdu: b"\x0d" if pdu[:2] == b"\x01\x0c" and pdu[4:] in (b"\x07", b"\x0b") else pdu,
            "error-handle-zero": lambda pdu: pdu[:2] + b"\x00\x00" + pdu[4:] if pdu[:1] == b"\x01" else pdu,
            "mtu-of-20": lambda pdu: b"\x03\x14\x00" if pdu[:1] == b"\x03" else pdu,
            "service-by-uuid-shifted": lambda pdu: pdu[:1] + struct.pack("<H", pdu[1] + pdu[2] * 256 + 1) + pdu[3:] if pdu[:1] == b"\x07" else pdu,
            "subscribed-at-first": lambda pdu: b"\x0b\x01\x00" if pdu == b"\x0b\x00\x00" else pdu,
            "discovery-protected": lambda pdu: pdu[:4] + b"\x05" if pdu[:2] == b"\x01\x08" else b"\x01\x08\x01\x00\x05" if pdu[:1] == b"\x09" else pdu,
            "services-move": lambda pdu: (
                pdu[:1] + struct.pack("<H", pdu[1] + pdu[2] * 256 + 1) + pdu[3:] if pdu[:1] == b"\x07" and self.connections > 1 else pdu),
            "groups-cut": lambda pdu: pdu[:-1] if pdu[:1] == b"\x11" else pdu,
            "discovery-stands-still": lambda pdu: pdu[:2] + b"\x01\x00" + pdu[4:] if pdu[:1] == b"\x09" else pdu,
            "declaration-moves": lambda pdu: b"\x0b" + bytes([pdu[1] ^ 0x80]) + pdu[2:] if pdu[:1] == b"\x0b" and len(pdu) == 6 else pdu,
        }
        rule = answers.get(self.fault)

        def sent(bearer, pdu):
            octets = rule(bytes(pdu)) if rule else bytes(pdu)
            send(bearer, octets)
            if self.fault == "answers-twice" and octets[:1] == b"\x0b":
                send(bearer, octets)
        server.send_gatt_pdu = sent

    async def restarted(self, handle):
        """The controller starts anew: its links end without LL_TERMINATE_IND."""
        self.device.legacy_advertising_set = None
        await self.device.power_on()
        self.device.host.on_packet(bytes(hci.HCI_Disconnection_Complete_Event(
            status=0, connection_handle=handle, reason=hci.HCI_CONNECTION_TIMEOUT_ERROR)))

    def pair_for_both(self, device):
        """One pairing generates the keys of both transports."""
        keys = PairingDelegate.KeyDistribution
        given = keys.DISTRIBUTE_ENCRYPTION_KEY | keys.DISTRIBUTE_IDENTITY_KEY
        if self.fault != "no-link-key":
            given |= keys.DISTRIBUTE_LINK_KEY
        delegate = PairingDelegate(local_initiator_key_distribution=given, local_responder_key_distribution=given)
        device.classic_enabled, device.keystore = True, MemoryKeyStore()
        device.pairing_config_factory = lambda _: PairingConfig(
            delegate=delegate, identity_address_type=PairingConfig.AddressType.PUBLIC)
        if self.fault == "link-key-forgotten":
            async def no_key(_):
                return None
            device.get_link_key = device.host.link_key_provider = no_key

    async def tell(self, connection):
        """The procedures that the product starts on a new connection."""
        self.connections += 1
        if self.fault == "notifies-unasked":
            await self.device.gatt_server.notify_subscriber(connection, self.battery, b"\x50", force=True)
        if self.fault == "asks-for-pairing":
            connection.request_pairing()
        if self.fault == "mtu-before-length":
            await Peer(connection).request_mtu(185)
        if self.fault in ("mtu-before-length", "asks-well"):
            await connection.set_data_length(251, 2120)
        if self.fault == "asks-well":
            await Peer(connection).request_mtu(185)
        if request := REQUESTS.get(self.fault):
            await self.ask(connection, *request)

    async def ask(self, connection, least, most, latency, timeout):
        manager, frame = self.device.l2cap_channel_manager, (int(least / 1.25), int(most / 1.25), latency, timeout // 10)
        while True:
            # Requests on a connection that has ended are never answered.
            manager.connection_parameters_update_response = None
            granted = await manager.update_connection_parameters(connection, *frame) == 0
            if granted or self.fault != "asks-again-and-again":
                return


async def serve(target, kind, fault=""):
    product = Product(kind, fault)
    transport = await open_controller(target)
    name = "Another" if fault == "name-differs" else (NAMES | DUAL)[kind]
    device = Device.from_config_with_hci(
        DeviceConfiguration(name=name, address=Address(ADDRESS)), transport.source, transport.sink)
    product.device = device
    if kind in DUAL:
        product.pair_for_both(device)
    device.add_services(product.services())
    device.create_l2cap_server(LeCreditBasedChannelSpec(psm=CHANNEL), handler=lambda channel: setattr(channel, "sink", channel.write))
    product.spoil(device)
    await device.power_on()
    if fault == "mtu-before-length":
        # The controller does not start by itself.
        await device.send_sync_command(hci.HCI_LE_Write_Suggested_Default_Data_Length_Command(suggested_max_tx_octets=27, suggested_max_tx_time=328))
    ended, tasks, loop = asyncio.Queue(), set(), asyncio.get_running_loop()

    def connected(connection):
        connection.on("disconnection", ended.put_nowait)
        tasks.add(loop.create_task(product.tell(connection)))

    device.on(Device.EVENT_CONNECTION, connected)

    async def advertise(interval=100 if fault == "interval-100" else 20):
        await device.start_advertising(
            own_address_type=OwnAddressType.PUBLIC if kind in DUAL else OwnAddressType.RANDOM, advertising_data=product.data(), scan_response_data=product.response(),
            advertising_interval_min=interval, advertising_interval_max=interval)
        if fault == "fast-for-4-s" and interval == 20:
            loop.call_later(4, lambda: tasks.add(loop.create_task(slow_down())))

    async def slow_down():
        if not device.connections:
            await device.stop_advertising()
            await advertise(152.5)

    await advertise()
    expect_a_tester()
    print("advertising", flush=True)
    await advertise_again(transport, ended, advertise)


if __name__ == "__main__":
    run(serve, *sys.argv[1:])
