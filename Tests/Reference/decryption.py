"""The encryption of a connection in an air log: the encrypted packets, with their keys and counters. Core Vol 6, Part B, 5.1.3, and Part E."""

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESCCM

from ll_packets import CENTRAL, PERIPHERAL

ENC_REQ, ENC_RSP, START_ENC_REQ, START_ENC_RSP, PAUSE_ENC_RSP = 0x03, 0x04, 0x05, 0x06, 0x0B
MIC = 4


def read_keys(path):
    """The long term keys of a key log by access address, in the order of sessions."""
    keys = {}
    with open(path, encoding="ascii") as lines:
        for line in lines:
            address, key = line.split()
            keys.setdefault(int(address, 16), []).append(bytes.fromhex(key))
    return keys


def session_key(long_term_key, skd):
    """e(LTK, SKD), SKD in the order of transmission: the central's half, then the peripheral's."""
    encryptor = Cipher(algorithms.AES(long_term_key), modes.ECB()).encryptor()
    return encryptor.update(skd[::-1]) + encryptor.finalize()


class Decryption:
    """Follows the control PDUs that start and pause encryption, and decrypts packets."""

    def __init__(self, long_term_keys=()):
        self._keys = list(long_term_keys)
        self._halves = {}
        self._cipher = None
        self._iv = b""
        self._encrypts = {CENTRAL: False, PERIPHERAL: False}
        self._counters = {CENTRAL: 0, PERIPHERAL: 0}
        self.opened = 0

    def open(self, packet, sender):
        """The payload of a new packet; None if its MIC is wrong or the key is unknown."""
        if not packet.payload or not self._encrypts[sender]:
            return packet.payload
        if self._cipher is None or len(packet.payload) <= MIC:
            return None
        counter = self._counters[sender]
        direction = 0x80 if sender == CENTRAL else 0
        nonce = counter.to_bytes(5, "little")
        nonce = nonce[:4] + bytes((nonce[4] & 0x7F | direction,)) + self._iv
        try:
            payload = self._cipher.decrypt(nonce, packet.payload, bytes((packet.pdu[0] & 0xE3,)))
        except InvalidTag:
            return None
        self._counters[sender] += 1
        self.opened += 1
        return payload

    def is_encrypted(self, sender):
        return self._encrypts[sender]

    @property
    def has_key(self):
        return self._cipher is not None

    def delivered(self, payload, sender):
        """A control PDU that the other side has acknowledged."""
        code, data = payload[0], payload[1:]
        if code == ENC_REQ and sender == CENTRAL:
            self._halves[CENTRAL] = data[10:18], data[18:22]
        elif code == ENC_RSP and sender == PERIPHERAL:
            self._halves[PERIPHERAL] = data[:8], data[8:12]
        elif code == START_ENC_REQ and sender == PERIPHERAL and len(self._halves) == 2:
            self._begin()
            self._encrypts[CENTRAL] = True
        elif code == START_ENC_RSP and sender == CENTRAL:
            self._encrypts[PERIPHERAL] = True
        elif code == PAUSE_ENC_RSP:
            # The peripheral's PDU, which is encrypted, and then the central's, which is not.
            self._encrypts[CENTRAL if sender == PERIPHERAL else PERIPHERAL] = False

    def _begin(self):
        (skd_c, iv_c), (skd_p, iv_p) = self._halves[CENTRAL], self._halves[PERIPHERAL]
        self._halves = {}
        self._iv = iv_c + iv_p
        self._counters = {CENTRAL: 0, PERIPHERAL: 0}
        self._cipher = AESCCM(session_key(self._keys.pop(0), skd_c + skd_p), tag_length=MIC) if self._keys else None
