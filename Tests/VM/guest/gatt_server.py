#!/usr/bin/python3
"""A GATT server of BlueZ's: one service, registered and advertised through bluetoothd's D-Bus interface.

The first value can be read and written. The second is notified: while somebody is subscribed, what was last written comes back with a count before it.
usage: gatt_server.py ADAPTER-ADDRESS [UUID-OF-SERVICE UUID-OF-VALUE UUID-OF-STREAM]; prints "ready" when it can be found, and a line for each thing that happens.
"""

import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

BLUEZ = "org.bluez"
MANAGER = "org.freedesktop.DBus.ObjectManager"
PROPERTIES = "org.freedesktop.DBus.Properties"
SERVICE_INTERFACE = BLUEZ + ".GattService1"
VALUE_INTERFACE = BLUEZ + ".GattCharacteristic1"
ADVERTISEMENT = BLUEZ + ".LEAdvertisement1"
ROOT = "/bench"
NAME = "BlueZ server"
UUIDS = sys.argv[2:5] or [f"b0b1be00-0000-4000-8000-00000000000{number}" for number in range(3)]


def say(*words):
    print(*words, flush=True)


def octets(value):
    return dbus.Array(bytes(value), signature="y")


class Exported(dbus.service.Object):
    """An object with one interface and properties."""

    def __init__(self, bus, path, interface, **properties):
        super().__init__(bus, path)
        self.path, self.interface, self.properties = dbus.ObjectPath(path), interface, properties

    @dbus.service.method(PROPERTIES, in_signature="s", out_signature="a{sv}")
    def GetAll(self, interface):
        return self.properties if interface == self.interface else {}

    @dbus.service.signal(PROPERTIES, signature="sa{sv}as")
    def PropertiesChanged(self, interface, changed, invalidated):
        pass


class Advertisement(Exported):
    @dbus.service.method(ADVERTISEMENT)
    def Release(self):
        say("advertisement released")


class Value(Exported):
    """The value for reading and writing."""

    def __init__(self, bus, path, service, uuid):
        super().__init__(
            bus, path, VALUE_INTERFACE, Service=service.path, UUID=uuid, Flags=dbus.Array(["read", "write"], signature="s"))
        self.value = b"of BlueZ"

    @dbus.service.method(VALUE_INTERFACE, in_signature="a{sv}", out_signature="ay")
    def ReadValue(self, options):
        offset = int(options.get("offset", 0))
        return octets(self.value[offset:])

    @dbus.service.method(VALUE_INTERFACE, in_signature="aya{sv}")
    def WriteValue(self, value, options):
        self.value = bytes(bytearray(value))
        say("written", self.value.hex())


class Stream(Exported):
    """The value that is notified ten times per second."""

    def __init__(self, bus, path, service, uuid, source):
        super().__init__(
            bus, path, VALUE_INTERFACE, Service=service.path, UUID=uuid, Flags=dbus.Array(["notify"], signature="s"))
        self.source, self.timer, self.count = source, None, 0

    @dbus.service.method(VALUE_INTERFACE)
    def StartNotify(self):
        say("subscribed")
        self.count = 0
        self.timer = self.timer or GLib.timeout_add(100, self.tick)

    @dbus.service.method(VALUE_INTERFACE)
    def StopNotify(self):
        say("no longer subscribed")
        if self.timer:
            GLib.source_remove(self.timer)
        self.timer = None

    def tick(self):
        self.PropertiesChanged(VALUE_INTERFACE, {"Value": octets(bytes([self.count & 255]) + self.source.value)}, [])
        self.count += 1
        return True


class Application(dbus.service.Object):
    def __init__(self, bus):
        super().__init__(bus, ROOT)
        service = Exported(bus, ROOT + "/service", SERVICE_INTERFACE, UUID=UUIDS[0], Primary=True)
        value = Value(bus, ROOT + "/service/value", service, UUIDS[1])
        self.objects = [service, value, Stream(bus, ROOT + "/service/stream", service, UUIDS[2], value)]

    @dbus.service.method(MANAGER, out_signature="a{oa{sa{sv}}}")
    def GetManagedObjects(self):
        return {each.path: {each.interface: each.properties} for each in self.objects}


def find_adapter(bus, address):
    objects = dbus.Interface(bus.get_object(BLUEZ, "/"), MANAGER).GetManagedObjects()
    for path, interfaces in objects.items():
        if interfaces.get(BLUEZ + ".Adapter1", {}).get("Address") == address:
            return path
    sys.exit(f"no adapter {address}")


def main():
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus, loop = dbus.SystemBus(), GLib.MainLoop()
    path = find_adapter(bus, sys.argv[1])
    adapter = bus.get_object(BLUEZ, path)
    dbus.Interface(adapter, PROPERTIES).Set(BLUEZ + ".Adapter1", "Powered", dbus.Boolean(True))
    # The advertised name is the Device Name.
    dbus.Interface(adapter, PROPERTIES).Set(BLUEZ + ".Adapter1", "Alias", NAME)
    application = Application(bus)
    advertisement = Advertisement(
        bus, ROOT + "/advertisement", ADVERTISEMENT, Type="peripheral", LocalName=NAME,
        ServiceUUIDs=dbus.Array([UUIDS[0]], signature="s"))
    steps = [
        lambda ok, no: dbus.Interface(adapter, BLUEZ + ".GattManager1").RegisterApplication(ROOT, {}, reply_handler=ok, error_handler=no),
        lambda ok, no: dbus.Interface(adapter, BLUEZ + ".LEAdvertisingManager1").RegisterAdvertisement(
            advertisement.path, {}, reply_handler=ok, error_handler=no),
    ]

    def step():
        if not steps:
            return say("ready on", path)
        steps.pop(0)(step, fail)

    def fail(error):
        say("failed:", error)
        loop.quit()

    step()
    loop.run()
    del application


if __name__ == "__main__":
    main()
