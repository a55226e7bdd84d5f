"""A product with credit-based channels of channel_server.py, with Bumble below L2CAP: `channel_product.py HOST:PORT|virtual:HOST:PORT [CHANGE]`.

CHANGE is a row of channel_changes.py: one defect, or one legal behaviour; empty for none.
"""

import sys

import att_product
from att_product import Database, Tally, octets
from att_server import CLIENT_FEATURES, DATABASE_HASH, INDICATE, READ, SERVICE_CHANGED, WRITE, short
from channel_server import DYNAMIC, ECHO, GUARDED, OPERATOR, SIGNALLING, STRONG, ChannelLink
from peripheral import run

NAME = "Wire 5"
PSM = bytes.fromhex("3A55525AA75570A41D44FA285630DDAB")
"""Characteristic ABDD3056-28FA-441D-A470-55A75A52553A, least significant octet first."""
DECLARES = f"""declares:
  channels:
    - {{psm: {ECHO}, echoes: true}}
    - {{psm: {GUARDED}, needs: encryption}}
    - {{psm: {OPERATOR}, needs: authentication}}
    - {{psm: {STRONG}, needs: longKey}}
"""


class Wire(Tally):
    def __init__(self, channels):
        self.channels, self.open_links = channels, {}
        super().__init__()

    def layout(self, db: Database):
        db.service(0x1800)
        db.characteristic(0x2A00, READ, NAME.encode())
        db.characteristic(0x2A01, READ, b"\x00\x02")
        db.service(0x1801)
        self.changed = db.characteristic(SERVICE_CHANGED, INDICATE)
        db.characteristic(CLIENT_FEATURES, READ | WRITE, b"\0", writes=0, most=1, least=1)
        db.characteristic(DATABASE_HASH, READ)
        db.service(att_product.own(20))
        db.characteristic(PSM, READ, short(ECHO))
        db.characteristic(PSM, READ, short(GUARDED))
        self.main = db.characteristic(att_product.own(21), READ, octets(12, 5))
        return db

    def data(self):
        return att_product.structures((1, b"\x06"), (9, NAME.encode()))

    def sending(self):
        return []

    def prepare(self, device):
        """Takes the signalling channel and the dynamic channels from Bumble."""
        manager = device.l2cap_channel_manager
        others = manager.on_pdu

        def received(connection, cid, pdu):
            link = self.open_links.get(connection.handle)
            if link and (cid == SIGNALLING or cid in DYNAMIC):
                return self.channels.received(link, cid, bytes(pdu))
            return others(connection, cid, pdu)
        manager.on_pdu = received

    def met(self, device, connection, link):
        handle = connection.handle

        def send(cid, payload):
            if handle in self.open_links:
                device.l2cap_channel_manager.send_pdu(connection, cid, payload)

        self.open_links[handle] = ChannelLink(send, link.later, link)
        connection.on("disconnection", lambda _: self.open_links.pop(handle, None))


async def serve(target, change=""):
    from channel_changes import channels
    await att_product.offer(Wire(channels(change)), target, name=NAME)


if __name__ == "__main__":
    run(serve, *sys.argv[1:])
