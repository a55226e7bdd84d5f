"""Legacy authentication and E0 on a link of BR/EDR, followed by its messages of the link manager: each SRES is computed once more, and what is encrypted is
opened. Core Vol 2, Part H, 3.2.2, 4 and 5.1.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Peers" / "codec"))
from bredr_security import e0, e1, e3, reduced_key  # noqa: E402

AU_RAND, SRES, KEY_SIZE, START, STOP, ACCEPTED = 11, 12, 16, 17, 18, 3
OTHER = {"central": "peripheral", "peripheral": "central"}


class LinkSecrets:
    """`addresses`: those of both ends, least significant octet first, by role; the key in the order of HCI."""

    def __init__(self, key, addresses):
        self.key, self.addresses = key, addresses
        self.challenges, self.cof, self.size = {}, None, 16
        self.session = None
        self.encrypts = {"central": False, "peripheral": False}
        self.proofs = self.opened = 0

    def open(self, payload, side, tick):
        """Payload and CRC in clear."""
        if not self.encrypts[side] or not payload:
            return payload
        self.opened += 1
        return e0(self.session, self.addresses["central"], (tick >> 1 & 0x3FFFFFF).to_bytes(4, "little"), payload)

    def sent(self, body, side):
        """A message of the link manager that is sent for the first time; what is wrong with it, or None."""
        code, data = body[0] >> 1, body[1:]
        if code == AU_RAND:
            self.challenges[side] = data
        elif code == SRES and OTHER[side] in self.challenges:
            proof = e1(self.key, self.challenges.pop(OTHER[side]), self.addresses[side])
            response, aco = proof[:4], proof[4:]
            # The last authentication gives the ciphering offset.
            self.cof, self.proofs = aco, self.proofs + 1
            return None if response == data else "SRES is not that of the link key"
        elif code == KEY_SIZE:
            self.size = data[0]
        elif code == START and side == "central":
            self.session = reduced_key(e3(self.key, data, self.cof), bytes([self.size]))
            self.encrypts["peripheral"] = True
        elif code == STOP and side == "central":
            self.encrypts["peripheral"] = False
        return None

    def taken(self, body, side):
        """A message that the other side has acknowledged: the central sends as its LMP_accepted for START or STOP says."""
        if side == "peripheral" and body[0] >> 1 == ACCEPTED and body[1] in (START, STOP):
            self.encrypts["central"] = body[1] == START
