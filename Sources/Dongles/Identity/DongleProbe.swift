import BBHCI
import BBPackets
import BBTiming
import BBTransport

/// A controller's answer that cannot be decoded.
public struct MalformedAnswer: Error, CustomStringConvertible {
    var command: String
    /// The received return parameters.
    var returns: [UInt8]

    public var description: String {
        let octets = returns.isEmpty ? "missing" : Hex.octets(returns.prefix(32), separator: " ")
        return "malformed answer to \(command): its return parameters are \(octets)"
    }
}

/// Sends commands to a dongle, one after another.
public final class DongleProbe: HCITransportSink {
    private let transport: any HCITransport
    private let loop: RunLoop
    private var commands = CommandQueue()
    private var answers: [Int: Promise<CommandAnswer>] = [:]
    private var lastCommand = 0
    private var end: TransportError?
    static let timeout = Microseconds.milliseconds(1_000)

    /// Opens the pipe.
    public init(_ transport: any HCITransport, on loop: RunLoop) throws(TransportError) {
        self.transport = transport
        self.loop = loop
        try transport.open(self)
    }

    public func close() { transport.close() }

    /// Waits for the dongle to start and reads its identity. Unknown values stay zero.
    ///
    /// - Throws: the pipe's error, `TimeOut` if nothing is answered, or `MalformedAnswer` if the mandatory version information cannot be
    ///   decoded.
    public func identity() async throws -> DongleIdentity {
        var identity = DongleIdentity()
        if let answer = try await version() {
            identity.hciVersion = answer.hciVersion
            identity.hciSubversion = answer.hciSubversion
            identity.lmpVersion = answer.lmpVersion
            identity.lmpSubversion = answer.lmpSubversion
            identity.company = answer.companyIdentifier
        }
        if let answer = try await ask(HCICommands.ReadBDADDR()) { identity.address = DeviceAddress(answer.bdADDR, kind: .public) }
        if let answer = try await ask(HCICommands.ReadLocalSupportedFeatures()) { identity.lmpFeatures = answer.lmpFeatures }
        if let answer = try await ask(HCICommands.ReadLocalSupportedCommands()) { identity.supportedCommands = answer.supportedCommands }
        if let answer = try await ask(HCICommands.ReadBufferSize()) {
            identity.aclLength = answer.aclDataPacketLength
            identity.aclCount = answer.totalNumACLDataPackets
            (identity.scoLength, identity.scoCount) = (answer.synchronousDataPacketLength, answer.totalNumSynchronousDataPackets)
        }
        guard identity.hasLE else { return identity }
        if let answer = try await ask(HCICommands.LEReadBufferSize()) {
            identity.leLength = answer.leACLDataPacketLength
            identity.leCount = answer.totalNumLEACLDataPackets
        }
        if let answer = try await ask(HCICommands.LEReadLocalSupportedFeatures()) { identity.leFeatures = answer.leFeatures.rawValue }
        return identity
    }

    // MARK: Pipe

    public func received(_ packet: HCIPacket, at time: Microseconds) {
        if let answer = try? CommandAnswer(event: packet) { perform(commands.answered(answer)) }
    }

    public func closed(_ reason: TransportError) {
        end = reason
        for answer in answers.values { answer.fail(reason) }
    }

    private func perform(_ actions: [CommandQueue.Action]) {
        for action in actions {
            switch action {
            case .transmit(_, let packet): transport.send(packet)
            case .finish(let id, let answer): answers[id]?.fulfil(answer)
            }
        }
    }

    /// Returns nil if there is no answer in time.
    func raw(_ opcode: UInt16, _ parameters: [UInt8], within time: Microseconds = timeout) async throws -> CommandAnswer? {
        if let end { throw end }
        lastCommand += 1
        let id = lastCommand
        let answer = Promise<CommandAnswer>(on: loop)
        answers[id] = answer
        defer { answers[id] = nil }
        perform(commands.submit(id: id, opcode: opcode, HCIPacket(opcode: opcode, parameters: parameters)))
        do {
            return try await answer.value(until: loop.now + time)
        } catch is TimeOut {
            perform(commands.expire(id: id))
            return nil
        }
    }

    /// Version information, which every controller must return in full. Core Vol 4, Part E, 7.4.1.
    private func version() async throws -> HCICommands.ReadLocalVersionInformation.Return? {
        let command = HCICommands.ReadLocalVersionInformation()
        let answer = try await raw(HCICommands.ReadLocalVersionInformation.opcode, command.parameters, within: .seconds(5))
        guard let answer, answer.status == .success else { return nil }
        do { return try HCICommands.ReadLocalVersionInformation.Return(prefixOf: answer.returns) } catch {
            throw MalformedAnswer(command: HCICommands.ReadLocalVersionInformation.name, returns: answer.returns)
        }
    }

    private func ask<Command: HCICommand>(_ command: Command, within time: Microseconds = timeout) async throws -> Command.Return? {
        guard let answer = try await raw(Command.opcode, command.parameters, within: time), answer.status == .success else { return nil }
        return try? Command.Return(prefixOf: answer.returns)
    }
}
