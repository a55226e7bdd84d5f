import BBPackets
import BBSimulation
import BBTiming
import BBTransport

/// A host that handles HCI packets only.
public final class RawHost: HCITransportSink {
    public let loop: RunLoop
    public let transport: any HCITransport
    /// All received packets in order, with their times.
    public private(set) var log: [(packet: HCIPacket, time: Microseconds)] = []
    /// Packets not yet taken by the test.
    private var inbox: [HCIPacket] = []
    /// Fulfilled by the next packet; nil if nobody waits.
    private var arrival: Promise<Void>?

    init(_ loop: RunLoop, _ transport: any HCITransport) {
        self.loop = loop
        self.transport = transport
    }

    public func received(_ packet: HCIPacket, at time: Microseconds) {
        log.append((packet, time))
        inbox.append(packet)
        arrival?.fulfil(())
        arrival = nil
    }

    public func closed(_ reason: TransportError) {}

    // MARK: Commands

    /// Sends a command with the given octets and waits for Command Complete or Command Status.
    @discardableResult
    public func raw(_ opcode: UInt16, _ parameters: [UInt8]) async throws -> Answer {
        inbox.removeAll { Answer($0)?.opcode == opcode }
        transport.send(HCIPacket(opcode: opcode, parameters: parameters))
        return try await wait(for: .milliseconds(5), "an answer to \(opcode)") { packet in
            Answer(packet).flatMap { $0.opcode == opcode ? $0 : nil }
        }
    }

    /// Runs a command and returns its status.
    @discardableResult
    public func run<Command: HCICommand>(_ command: Command) async throws -> ErrorCode {
        try await raw(Command.opcode, command.parameters).status
    }

    /// Runs a command that must succeed and returns its return parameters.
    public func returns<Command: HCICommand>(_ command: Command) async throws -> Command.Return {
        let answer = try await raw(Command.opcode, command.parameters)
        guard answer.status == .success else { throw Refused(command: Command.name, status: answer.status) }
        return try Command.Return(parameters: answer.returns)
    }

    /// Runs commands that must succeed.
    public func succeed<each Command: HCICommand>(_ command: repeat each Command) async throws {
        for one in repeat each command {
            let status = try await run(one)
            guard status == .success else { throw Refused(command: type(of: one).name, status: status) }
        }
    }

    // MARK: Events

    /// The next event of a type; earlier events stay in the inbox.
    public func next<Event: HCIEvent>(_ type: Event.Type = Event.self, within limit: Microseconds = .seconds(2)) async throws -> Event {
        try await wait(for: limit, Event.name) { try? $0.event(as: Event.self) }
    }

    public func nextData(within limit: Microseconds = .seconds(2)) async throws -> [UInt8] {
        try await wait(for: limit, "data") { $0.kind == .acl ? $0.bytes : nil }
    }

    /// All events of a type in the inbox.
    public func all<Event: HCIEvent>(_ type: Event.Type = Event.self) -> [Event] {
        let found = inbox.compactMap { try? $0.event(as: Event.self) }
        inbox.removeAll { (try? $0.event(as: Event.self)) != nil }
        return found
    }

    public func sendData(_ handle: ConnectionHandle, _ payload: [UInt8], boundary: UInt16 = 0) {
        let word = handle.rawValue | boundary << 12
        let count = UInt16(payload.count)
        transport.send(
            HCIPacket(.acl, [UInt8(word & 0xFF), UInt8(word >> 8), UInt8(count & 0xFF), UInt8(count >> 8)] + payload))
    }

    private func wait<Value>(for limit: Microseconds, _ what: String, _ match: (HCIPacket) -> Value?) async throws -> Value {
        let deadline = loop.now + limit
        while true {
            for (index, packet) in inbox.enumerated() {
                guard let value = match(packet) else { continue }
                inbox.remove(at: index)
                return value
            }
            let next = arrival ?? Promise(on: loop)
            arrival = next
            do { try await next.value(until: deadline) } catch is TimeOut { throw Missing(what: what, at: loop.now) }
        }
    }

    /// An expected event did not arrive.
    public struct Missing: Error {
        public var what: String
        public var at: Microseconds
    }

    /// A command that should have succeeded has failed.
    public struct Refused: Error {
        public var command: String
        public var status: ErrorCode
    }

    /// Command Complete or Command Status.
    public struct Answer {
        public var opcode: UInt16
        public var status: ErrorCode
        public var isComplete: Bool
        public var credits: UInt8
        public var returns: [UInt8]

        public init?(_ packet: HCIPacket) {
            if let event = try? packet.event(as: HCIEvents.CommandComplete.self) {
                opcode = event.commandOpcode
                returns = event.returnParameters
                status = ErrorCode(rawValue: event.returnParameters.first ?? 0)
                isComplete = true
                credits = event.numHCICommandPackets
            } else if let event = try? packet.event(as: HCIEvents.CommandStatus.self) {
                opcode = event.commandOpcode
                returns = []
                status = event.status
                isComplete = false
                credits = event.numHCICommandPackets
            } else {
                return nil
            }
        }
    }
}

extension RawHost {
    /// Enables all events.
    public func openMasks() async throws {
        try await succeed(
            HCICommands.Reset(), HCICommands.SetEventMask(eventMask: .init(rawValue: 0x3FFF_FFFF_FFFF_FFFF)),
            HCICommands.LESetEventMask(leEventMask: .init(rawValue: 0x0FFF_FFFF_FFFF)))
    }

    public func advertiseLegacy(_ type: LegacyAdvertisingType = .advInd, data: [UInt8] = [], scanResponse: [UInt8] = []) async throws {
        try await succeed(
            HCICommands.LESetAdvertisingParameters(
                advertisingIntervalMin: 0x20, advertisingIntervalMax: 0x20, advertisingType: type, advertisingChannelMap: 7),
            HCICommands.LESetAdvertisingData(
                advertisingDataLength: UInt8(data.count), advertisingData: data + [UInt8](repeating: 0, count: 31 - data.count)),
            HCICommands.LESetScanResponseData(
                scanResponseDataLength: UInt8(scanResponse.count),
                scanResponseData: scanResponse + [UInt8](repeating: 0, count: 31 - scanResponse.count)),
            HCICommands.LESetAdvertisingEnable(advertisingEnable: 1))
    }

    public func createConnection(to peer: DeviceAddress, interval: UInt16 = 24) async throws {
        try await succeed(
            HCICommands.LECreateConnection(
                leScanInterval: 0x10, leScanWindow: 0x10, peerAddressType: .init(rawValue: peer.kind.rawValue), peerAddress: peer.bdADDR,
                connectionIntervalMin: interval, connectionIntervalMax: interval, supervisionTimeout: 100))
    }
}
