import BBHost
import BBPackets
import Synchronization

@testable import CoreBluetooth

/// Counts the ATT requests and commands that a phone sends from now on.
final class Requests {
    private(set) var opcodes: [UInt8] = []
    /// Handles of the Write Requests.
    private(set) var written: [UInt16] = []
    var count: Int { opcodes.count }

    init(_ phone: CBPhone) {
        phone.host.packetObservers.add { [weak self] direction, packet, _ in
            let octets = packet.bytes
            // A first fragment on channel 4, whose opcode is not that of a response, a confirmation or a notification.
            guard direction == .sent, packet.kind == .acl, octets.count > 8, octets[1] & 0x30 == 0 else { return }
            guard octets[6] == 4, octets[7] == 0, octets[8] & 1 == 0, octets[8] != 0x1E else { return }
            self?.opcodes.append(octets[8])
            if octets[8] == 0x12, octets.count > 10 { self?.written.append(UInt16(octets[9]) | UInt16(octets[10]) << 8) }
        }
    }
}

/// Counts the commands that a phone gives its controller from now on.
final class Commands {
    private(set) var opcodes: [UInt16] = []
    var count: Int { opcodes.count }

    init(_ phone: CBPhone) {
        phone.host.packetObservers.add { [weak self] direction, packet, _ in
            guard direction == .sent, packet.kind == .command, packet.bytes.count > 1 else { return }
            self?.opcodes.append(UInt16(packet.bytes[0]) | UInt16(packet.bytes[1]) << 8)
        }
    }
}

/// Counts the responses, notifications and indications that a phone sends from now on.
final class Values {
    private(set) var opcodes: [UInt8] = []
    var count: Int { opcodes.count }

    init(_ phone: CBPhone) {
        phone.host.packetObservers.add { [weak self] direction, packet, _ in
            let octets = packet.bytes
            guard direction == .sent, packet.kind == .acl, octets.count > 8, octets[1] & 0x30 == 0 else { return }
            guard octets[6] == 4, octets[7] == 0, octets[8] & 1 == 1 else { return }
            self?.opcodes.append(octets[8])
        }
    }
}

/// The lines that a phone prints from now on.
final class Lines: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }

    init(_ phone: CBPhone) { phone.onLine = { [weak self] line in self?.lines.withLock { $0.append(line) } } }
}
