import BBHCI
import BBPackets
import BBTiming
import BBTransport
import BBTransportUSB

/// The connection to one controller in a check-up: commands one at a time, and a log of all received packets.
final class CheckUpLink: HCITransportSink {
    struct Entry {
        var packet: HCIPacket
        var time: Microseconds
    }

    /// Result of a command.
    struct Reply {
        var answer: CommandAnswer?
        var took: Microseconds
        /// Nil if there was no answer.
        var status: ErrorCode? { answer?.status }
        var isSuccess: Bool { status == .success }
        /// True if a command reported as supported is missing.
        var isRefused: Bool { status == .unknownHCICommand || status == .commandDisallowed }
    }

    /// The controller no longer responds, or has reported a crash.
    struct Dead: Error {}

    /// The time limit of the check-up has expired.
    struct TimeIsUp: Error {}

    let loop: RunLoop
    private let transport: any HCITransport
    private(set) var log: [Entry] = []
    var watch = CheckUpWatch()
    private(set) var slowest: (name: String, took: Microseconds) = ("", .zero)
    private(set) var commandsSent = 0
    private var end: TransportError?
    private var news: Promise<Void>?
    private var hasWrongOpcodes = false
    private var silentInARow = 0
    private static let timeout = Microseconds.milliseconds(2_000)
    private static let creditTimeout = Microseconds.milliseconds(4_000)
    /// Opcode with which some controllers answer unknown commands.
    private static let nobodys = UInt16.max
    private static let mostEntries = 20_000
    /// Time at which waits end with `TimeIsUp`.
    var timeLimit = Microseconds.never

    /// Opens the pipe.
    init(_ transport: any HCITransport, on loop: RunLoop) throws(TransportError) {
        self.transport = transport
        self.loop = loop
        try transport.open(self)
    }

    func close() { transport.close() }

    /// Resets the controller in any state and closes the pipe, within half a second.
    func leave() async {
        if end == nil {
            clear()
            timeLimit = .never
            await loop.cleanUp(within: .milliseconds(500)) { [self] in
                send(HCIPacket(command: HCICommands.Reset()))
                _ = try await first(within: .seconds(1)) { $0.completedOpcode == HCICommands.Reset.opcode ? true : nil }
            }
        }
        close()
    }

    /// Findings of the transport: start-up steps and USB problems.
    var foundByPipe: [CheckUpFinding] {
        transport.learned.all.compactMap { learned in
            let name: String? =
                switch learned.kind {
                case .strayOctets: "stray-octet"
                case .stalledRequest: "class-request-stalls"
                case .framingFault: "indicator"
                case .modeRefused: "serialised-refused"
                case .splitPackets: "cuts-data"
                case .joinedPackets: "joined-data"
                case .deafDataPipe: "data-in-dead"
                case .staleData: "stale-data"
                case .reenumerated: "reenumerates-on-reset"
                case .deafAtStart where transport.startOfPipe?.step == "\(StartupStep.portReset)": "port-reset-needed"
                case .deafAtStart: "first-reset-unanswered"
                default: nil
                }
            return name.map { CheckUpFinding($0, .fault, learned.text) }
        }
    }

    var name: String { transport.name }

    func received(_ packet: HCIPacket, at time: Microseconds) {
        watch.received(packet)
        if log.count < Self.mostEntries { log.append(Entry(packet: packet, time: time)) }
        tell()
    }

    func closed(_ reason: TransportError) {
        end = reason
        tell()
    }

    private func tell() {
        let waiting = news
        news = nil
        waiting?.fulfil(())
    }

    func note(_ name: String, _ text: String) { watch.note(name, .fault, text) }

    func note(_ name: String, _ weight: CheckUpFinding.Weight, _ text: String) { watch.note(name, weight, text) }

    /// True if one of these findings was made.
    func has(_ names: String...) -> Bool { watch.findings.contains { names.contains($0.name) } }

    /// Clears the log.
    func clear() { log.removeAll() }

    // MARK: Commands

    @discardableResult
    func ask<Command: HCICommand>(_ command: Command, within limit: Microseconds = timeout) async throws -> Reply {
        try await ask(Command.opcode, command.parameters, within: limit)
    }

    func returns<Command: HCICommand>(_ command: Command) async throws -> Command.Return? {
        let reply = try await ask(command)
        return reply.isSuccess ? reply.answer.flatMap { try? Command.Return(prefixOf: $0.returns) } : nil
    }

    /// True if all commands succeed; stops at the first failure.
    func succeed<each Command: HCICommand>(_ command: repeat each Command) async throws -> Bool {
        for one in repeat each command {
            guard try await ask(one).isSuccess else { return false }
        }
        return true
    }

    func ask(_ opcode: UInt16, _ parameters: [UInt8], within limit: Microseconds = timeout) async throws -> Reply {
        try await waitForCredit()
        let start = log.count
        let began = loop.now
        send(HCIPacket(opcode: opcode, parameters: parameters))
        var strays: [CommandAnswer] = []
        let answer = try await first(from: start, within: limit) { [hasWrongOpcodes] packet -> CommandAnswer? in
            guard let answer = try? CommandAnswer(event: packet), answer.opcode != CommandQueue.noCommand else { return nil }
            if answer.opcode == opcode || hasWrongOpcodes && answer.opcode == Self.nobodys { return answer }
            strays.append(answer)
            return nil
        }
        let found = answer ?? strays.first
        if answer == nil, let stray = strays.first {
            hasWrongOpcodes = true
            note("wrong-opcode", "\(Self.commandName(opcode)) is answered under opcode \(Hex.number(stray.opcode))")
        }
        let took = loop.now - began
        if found == nil { try silent() } else { silentInARow = 0 }
        if answer != nil, took > slowest.took { slowest = (Self.commandName(opcode), took) }
        return Reply(answer: found, took: took)
    }

    static func commandName(_ opcode: UInt16) -> String { PDUCatalog.command(opcode: opcode)?.name ?? "command \(Hex.number(opcode))" }

    private func silent() throws {
        watch.takeCredit()
        silentInARow += 1
        if watch.hasCrashed || silentInARow >= 4 { throw Dead() }
    }

    private func waitForCredit() async throws {
        if watch.hasCrashed { throw Dead() }
        guard watch.credits <= 0 else { return }
        let start = log.count
        let limit = has("credit-zero") ? Microseconds.zero : Self.creditTimeout
        if limit > .zero { _ = try await first(from: start, within: limit) { [self] _ in watch.credits > 0 ? true : nil } }
        guard watch.credits <= 0 else { return }
        note("credit-zero", "Num_HCI_Command_Packets stays 0 with nothing under way")
        watch.takeCredit()
    }

    // MARK: Packets

    func send(_ packet: HCIPacket) {
        watch.sent(packet)
        commandsSent += packet.kind == .command ? 1 : 0
        transport.send(packet)
    }

    /// The first match among the packets from position `start` of the log on; nil if none arrives in time.
    func first<Value>(from start: Int = 0, within limit: Microseconds, _ match: (HCIPacket) -> Value?) async throws -> Value? {
        let deadline = min(loop.now + limit, timeLimit)
        var place = start
        while true {
            while place < log.count {
                if let value = match(log[place].packet) { return value }
                place += 1
            }
            if let end { throw end }
            if loop.now >= timeLimit { throw TimeIsUp() }
            guard loop.now < deadline else { return nil }
            let promise = Promise<Void>(on: loop)
            news = promise
            do { try await promise.value(until: deadline) } catch is TimeOut {}
        }
    }

    func event<Event: HCIEvent>(
        _ type: Event.Type, from start: Int = 0, within limit: Microseconds = timeout, _ fits: (Event) -> Bool = { _ in true }
    ) async throws -> Event? {
        try await first(from: start, within: limit) { packet in (try? packet.event(as: type)).flatMap { fits($0) ? $0 : nil } }
    }

    func rest(_ time: Microseconds) async throws { try await loop.sleep(for: time) }
}
