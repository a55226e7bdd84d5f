"""Authentication and encryption on a link of BR/EDR, followed by its messages of the link manager: each SRES is computed once more, and what is encrypted is
opened. Core Vol 2, Part H, 3.2.2, 4, 5.1, 7.7 and 9.
"""

import pathlib
import sys

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESCCM

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Peers" / "codec"))
from bredr_security import e0, e1, e3, h3, h4, h5, reduced_key  # noqa: E402

AU_RAND, SRES, KEY_SIZE, START, STOP, ACCEPTED, PAUSE_AES = 11, 12, 16, 17, 18, 3, 66
LENGTHS = {AU_RAND: 16, SRES: 4, KEY_SIZE: 1, START: 16, STOP: 0, PAUSE_AES: 16}
LINK_MANAGER, MIC = 3, 4
SIDES = ("central", "peripheral")
OTHER = {"central": "peripheral", "peripheral": "central"}


class Secrets:
    """What both kinds of a link have in common.

    `addresses`: those of both ends, least significant octet first, by role; the key in the order of HCI.
    """

    def __init__(self, key, addresses):
        self.key, self.addresses = key, addresses
        self.challenges, self.offset, self.size = {}, None, 16
        self.session = self.pause = None
        self.encrypts = dict.fromkeys(SIDES, False)
        self.proofs = self.opened = 0

    def open(self, payload, side, tick):
        """Payload and CRC of each packet before encryption."""
        return payload

    def unseal(self, body, width, side):
        """Payload header and user data of a new packet in plaintext; None if the MIC is wrong."""
        return body

    def voice(self, body, side, tick):
        """The voice data of an eSCO packet before encryption with AES-CCM."""
        return body

    def sent(self, body, side):
        """A new LMP message; returns its violation, or None."""
        code, data = body[0] >> 1, body[1:]
        if len(data) != LENGTHS.get(code, len(data)):
            return "a message that is cut, or was opened with a wrong key"
        if code == AU_RAND:
            self.challenges[side] = data
        elif code == SRES and (expected := self._response(side)) is not None:
            self.proofs += 1
            return None if expected == data else "SRES is not that of the link key"
        elif code == KEY_SIZE and 1 <= data[0] <= 16:
            self.size = data[0]
        elif code == PAUSE_AES:
            self.pause = data
        elif code == START and side == "central" and self.offset:
            self._start(data)
            self.encrypts["peripheral"] = True
        elif code == STOP and side == "central":
            self.encrypts["peripheral"] = False
        return None

    def taken(self, body, side):
        """A message that the other side has acknowledged: the central transmits as stated by its LMP_accepted for START or STOP."""
        if side == "peripheral" and body[0] >> 1 == ACCEPTED and body[1] in (START, STOP):
            self.encrypts["central"] = body[1] == START


class LinkSecrets(Secrets):
    """Legacy authentication, and E0."""

    def open(self, payload, side, tick):
        if not self.encrypts[side] or not payload:
            return payload
        self.opened += 1
        return e0(self.session, self.addresses["central"], (tick >> 1 & 0x3FFFFFF).to_bytes(4, "little"), payload)

    def _response(self, side):
        """The last authentication determines the ciphering offset."""
        if OTHER[side] not in self.challenges:
            return None
        proof = e1(self.key, self.challenges.pop(OTHER[side]), self.addresses[side])
        self.offset = proof[4:]
        return proof[:4]

    def _start(self, random):
        self.session = reduced_key(e3(self.key, random, self.offset), bytes([self.size]))


class SecureLinkSecrets(Secrets):
    """Secure authentication, and AES-CCM with its nonce and its additional data laid out as those of LE: LLID is what is authenticated of the payload header.

    The IV is ACO where encryption starts, and the first half of the number of LMP_pause_encryption_aes_req, whoever sent it, where it resumes.
    """

    def unseal(self, body, width, side):
        if not self.encrypts[side] or body[0] & 3 == LINK_MANAGER or len(body) == width:
            return body
        counter = self.counters[side]
        self.counters[side] += 1
        direction = 0x80 if side == "central" else 0
        nonce = counter.to_bytes(5, "little")
        try:
            data = self.session.decrypt(nonce[:4] + bytes([nonce[4] | direction]) + self.iv, body[width:], bytes([body[0] & 3]))
        except InvalidTag:
            return None
        self.opened += 1
        header = int.from_bytes(body[:width], "little") - (MIC << 3)
        return header.to_bytes(width, "little") + data

    def voice(self, body, side, tick):
        if not self.encrypts[side] or not body:
            return body
        self.opened += 1
        nonce = (1 << 38 | (side == "central") << 39 | tick >> 1 & 0x7FFFFFF).to_bytes(5, "little") + self.iv
        return Cipher(algorithms.AES(self.session_key), modes.CTR(b"\x01" + nonce + b"\x00\x01")).encryptor().update(body)

    def _addresses(self):
        """These functions use the most significant octet first."""
        return [self.addresses[side][::-1] for side in SIDES]

    def _response(self, side):
        if len(self.challenges) < 2:
            return None
        device_key = h4(self.key[::-1], *self._addresses())
        proof = h5(device_key, *(self.challenges[side][::-1] for side in SIDES))
        self.offset = proof[8:]
        return proof[4 * SIDES.index(side) :][:4][::-1]

    def _start(self, random):
        assert self.size == 16, "a key that is shortened"
        self.session_key = h3(self.key[::-1], *self._addresses(), self.offset)
        self.session = AESCCM(self.session_key, tag_length=MIC)
        self.iv, self.pause = (self.pause or self.offset[::-1])[:8], None
        self.counters = dict.fromkeys(SIDES, 0)
