#!/usr/bin/python3
"""BlueZ's side of a pairing: an agent that answers by itself, through bluetoothd's D-Bus interface.

usage: pairing_agent.py ADAPTER-ADDRESS CAPABILITY advertise | be-found | pair NAME | connect ADDRESS
CAPABILITY is one of BlueZ's names: NoInputNoOutput, DisplayOnly, DisplayYesNo, KeyboardOnly, KeyboardDisplay.
"advertise" lets a central come, "be-found" a device that pages; "pair" looks for an advertiser of that name and pairs with it; "connect" connects with a device that is known already.
Prints "ready", then a line for each thing that happens: "shows 012345", "compares 012345", "enters 123456", "paired ADDRESS", "connected ADDRESS", "failed REASON".
"""

import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

from gatt_server import ADVERTISEMENT, BLUEZ, MANAGER, PROPERTIES, Advertisement, find_adapter, say

AGENT = BLUEZ + ".Agent1"
DEVICE = BLUEZ + ".Device1"
ADAPTER = BLUEZ + ".Adapter1"
PASSKEY = 123456


class Agent(dbus.service.Object):
    @dbus.service.method(AGENT)
    def Release(self):
        pass

    @dbus.service.method(AGENT, in_signature="o", out_signature="u")
    def RequestPasskey(self, device):
        say(f"enters {PASSKEY:06d}")
        return dbus.UInt32(PASSKEY)

    @dbus.service.method(AGENT, in_signature="ouq")
    def DisplayPasskey(self, device, passkey, entered):
        if entered == 0:
            say(f"shows {passkey:06d}")

    @dbus.service.method(AGENT, in_signature="ou")
    def RequestConfirmation(self, device, passkey):
        say(f"compares {passkey:06d}")

    @dbus.service.method(AGENT, in_signature="o")
    def RequestAuthorization(self, device):
        say("consents")

    @dbus.service.method(AGENT, in_signature="os")
    def AuthorizeService(self, device, uuid):
        pass

    @dbus.service.method(AGENT)
    def Cancel(self):
        say("cancelled")


class Pairing:
    def __init__(self, bus, adapter, capability):
        self.bus, self.adapter, self.wanted = bus, adapter, None
        self.agent = Agent(bus, "/bench/agent")
        manager = dbus.Interface(bus.get_object(BLUEZ, "/org/bluez"), BLUEZ + ".AgentManager1")
        manager.RegisterAgent("/bench/agent", capability)
        manager.RequestDefaultAgent("/bench/agent")
        bus.add_signal_receiver(self.changed, "PropertiesChanged", PROPERTIES, BLUEZ, path_keyword="path")
        bus.add_signal_receiver(self.added, "InterfacesAdded", MANAGER, BLUEZ)
        for name in ("Powered", "Pairable"):
            dbus.Interface(bus.get_object(BLUEZ, adapter), PROPERTIES).Set(ADAPTER, name, dbus.Boolean(True))

    def device(self, path, interface=DEVICE):
        return dbus.Interface(self.bus.get_object(BLUEZ, path), interface)

    def address(self, path):
        return str(self.device(path, PROPERTIES).Get(DEVICE, "Address"))

    def changed(self, interface, properties, invalidated, path=None):
        if interface != DEVICE:
            return
        if properties.get("Paired"):
            say("paired", self.address(path))
        if "Connected" in properties:
            say("connected" if properties["Connected"] else "disconnected", self.address(path))

    def added(self, path, interfaces):
        if self.wanted and interfaces.get(DEVICE, {}).get("Name") == self.wanted:
            self.wanted = None
            say("found", interfaces[DEVICE]["Address"])
            dbus.Interface(self.bus.get_object(BLUEZ, self.adapter), ADAPTER).StopDiscovery()
            self.begin(path, "Pair")

    def begin(self, path, method):
        failed = lambda error: say("failed", error.get_dbus_name())
        self.device(path).get_dbus_method(method)(reply_handler=lambda: say(method.lower(), "is done"), error_handler=failed, timeout=60)

    def advertise(self):
        self.advertisement = Advertisement(self.bus, "/bench/advertisement", ADVERTISEMENT, Type="peripheral", LocalName="BlueZ agent")
        manager = dbus.Interface(self.bus.get_object(BLUEZ, self.adapter), BLUEZ + ".LEAdvertisingManager1")
        manager.RegisterAdvertisement(
            self.advertisement.path, {}, reply_handler=lambda: say("ready"), error_handler=lambda error: say("failed", error))

    def be_found(self):
        self.device(self.adapter, PROPERTIES).Set(ADAPTER, "Discoverable", dbus.Boolean(True))
        say("ready")

    def look_for(self, name):
        self.wanted = name
        adapter = dbus.Interface(self.bus.get_object(BLUEZ, self.adapter), ADAPTER)
        adapter.SetDiscoveryFilter({"Transport": "le"})
        adapter.StartDiscovery()
        say("ready")

    def connect(self, address):
        objects = dbus.Interface(self.bus.get_object(BLUEZ, "/"), MANAGER).GetManagedObjects()
        for path, interfaces in objects.items():
            if interfaces.get(DEVICE, {}).get("Address") == address:
                say("ready")
                return self.begin(path, "Connect")
        say("failed: no such device")


def main():
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.SystemBus()
    pairing = Pairing(bus, find_adapter(bus, sys.argv[1]), sys.argv[2])
    action, *names = sys.argv[3:]
    {"advertise": pairing.advertise, "be-found": pairing.be_found, "pair": pairing.look_for, "connect": pairing.connect}[action](*names)
    GLib.MainLoop().run()


if __name__ == "__main__":
    main()
