"""Legal behaviour of the product in att_product.py that a run once called defective: control points, restarts, requests for security, extended advertising."""

import asyncio

from bumble.hci import Phy

import att_server as att
from att_changes import legal
from att_product import CONTROL, COUNTER, KEYS, own, text
from att_product import Tally as T
from att_server import READ, Refusal, short, wide
from product_changes import extended, tells

legal("asks-at-once", "Core Vol 3, Part H, 2.4.6", asks=True, pairs=True, met=lambda self, device, connection, link: link.later(
    0.02, lambda: link.is_open and connection.request_pairing()))
legal("legacy-without-keys", "Core Vol 3, Part H, 3.6.1", distribution=KEYS(0))
legal("extended-on-2m", "Core Vol 4, Part E, 7.8.53", advertise=lambda self, device: extended(self, device, Phy.LE_2M))


def wants_indications(*attributes):
    """A write of Control is refused until the client has subscribed to these. Core Supplement, Part B, 1.2."""
    def check_write(self, link, attribute):
        T.check_write(self, link, attribute)
        if attribute is self.control and not all(self.wants(link, getattr(self, name)) for name in attributes):
            raise Refusal(att.IMPROPER_CONFIGURATION, attribute.handle)
    return check_write


COUNTED = T.declares.replace(f'{{characteristic: "{text(own(COUNTER))}", within: 2 s}}', (
    f'{{characteristic: "{text(own(COUNTER))}", within: 2 s, after: {{characteristic: "{text(own(CONTROL))}", value: "01"}}}}'))
legal("control-point", "Core Supplement, Part B, 1.2", check_write=wants_indications("control"))
legal("control-point-of-another", "Core Supplement, Part B, 1.2", check_write=wants_indications("control"), declares=COUNTED, sending=tells("level", "private"),
      act=lambda self, link, value: (T.act(self, link, value), link.later(0.1, lambda: self.tell(link, self.counter, b"\x07")))[0])
legal("control-point-of-both", "Core Supplement, Part B, 1.2", check_write=wants_indications("control", "counter"), declares=COUNTED,
      sending=tells("level", "private"), act=lambda self, link, value: (T.act(self, link, value), link.later(0.1, lambda: self.tell(link, self.counter, b"\x07")))[0])


def restarted(self, first, last):
    """The services change in a restart, which ends all links. Core Vol 3, Part C, 9.3.10."""
    T.database_changed(self, first, last)
    for connection in self.connections:
        asyncio.get_running_loop().create_task(connection.disconnect())


legal("restarts-at-change", "Core Vol 3, Part C, 9.3.10", database_changed=restarted, met=lambda self, device, connection, link: (
    self.connections.add(connection), connection.on("disconnection", lambda _: self.connections.discard(connection)))[0], connections=set())


def in_long_form(self, db):
    """A service and a characteristic whose UUIDs of 128 bits are those of 16 bits."""
    T.guarded_values(self, db)
    db.service(wide(short(0xFF10)))
    db.characteristic(wide(short(0xFF11)), READ, b"\x11")


legal("short-uuids-in-long-form", "Core Vol 3, Part B, 2.5.1", guarded_values=in_long_form, surveyed=True)


def to_the_end(self, link, body):
    """The list of services gives the last one all handles, and a search the handles that it has. Core Vol 3, Part G, 3.1."""
    answer = T.read_by_group_type(self, link, body)
    last = max((row.end, row.handle) for row in self.attributes if row.is_of(att.PRIMARY))[1]
    rows = [answer[at:at + answer[1]] for at in range(2, len(answer), answer[1])]
    return answer[:2] + b"".join(row[:2] + b"\xff\xff" + row[4:] if row[:2] == short(last) else row for row in rows)


legal("last-service-to-the-end", "Core Vol 3, Part G, 3.1", read_by_group_type=to_the_end)


def asks_for_parameters(self, device, connection, link):
    asyncio.get_running_loop().create_task(connection.update_parameters(15, 15, 4, 720, use_l2cap=True))


legal("asks-for-parameters-at-once", "Core Vol 3, Part A, 4.20", met=asks_for_parameters, surveyed=True)
