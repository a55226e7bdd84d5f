import BBMisbehaviour
import BBPackets

/// Crashes some time after the first connection, with or without a dump.
final class CrashInConnection: ConductRule {
    private let delay: ClosedRange<Int>
    private let lastWords: (ConductWire) -> [HCIPacket]
    private var isOver = false

    init(delay: ClosedRange<Int>, _ lastWords: @escaping (ConductWire) -> [HCIPacket]) {
        self.delay = delay
        self.lastWords = lastWords
    }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard !isOver, packet.openedConnection != nil else { return packet }
        isOver = true
        wire.after(wire.time(delay)) { [lastWords] in
            for packet in lastWords(wire) { wire.answer(packet) }
            wire.freeze()
        }
        return packet
    }
}

/// Answers a number of commands, then sends a dump and nothing more.
final class CrashAfterCommands: ConductRule {
    private var fatal: Occurrences
    private let lastWords: (ConductWire) -> [HCIPacket]

    init(after count: Int, _ lastWords: @escaping (ConductWire) -> [HCIPacket]) {
        fatal = Occurrences(skip: count)
        self.lastWords = lastWords
    }

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard packet.kind == .command, fatal.isDue() else { return packet }
        for packet in lastWords(wire) { wire.answer(packet) }
        wire.freeze()
        return nil
    }

    func portWasReset() { fatal.count = 0 }
}

/// Packets that a chip sends when it crashes.
enum LastWords {
    /// Memory dump under a pseudo-handle.
    static func dump(_ wire: ConductWire) -> [HCIPacket] {
        (0..<4).map { _ in HCIPacket(acl: PseudoHandles.dump, .first, wire.octets(64)) }
    }

    /// A vendor event that announces a memory dump.
    static func coredump(_ wire: ConductWire) -> [HCIPacket] {
        [HCIPacket(event: HCIEvents.VendorSpecific(data: [0x34] + wire.octets(32)))]
    }

    static func hardwareError(_ wire: ConductWire) -> [HCIPacket] {
        [HCIPacket(event: HCIEvents.HardwareError(hardwareCode: 0x42))]
    }
}
