import Packets
import Timing
import Transport

/// What one case has before it: the ends, the air between them if it is simulated, and what is known about both.
final class CaseBench {
    let loop: RunLoop
    let log: ObservationLog
    private(set) var ends: [Side: Endpoint] = [:]
    private(set) var features: Set<String> = []
    private(set) var addresses: [Side: CaseValue] = [:]
    /// Present when the air is simulated here.
    let world: SimulatedWorld?
    /// The ends are devices outside of this program.
    let isForeign: Bool
    /// What is added to the ends of windows; none in virtual time.
    let slack: Microseconds
    let lateness: MachineLateness
    /// The hosts of ours above the ends, where a case acts through them.
    var hosts: [Side: HostDriver] = [:]
    private let hostSides: Set<Side>
    private let accessory: SubjectKind
    private let fault: Fault

    /// - Parameters:
    ///   - hostSides: ends that get a host of ours.
    ///   - kind: what the subject's host is.
    ///   - slack: what a wall clock adds to the ends of windows.
    init(
        loop: RunLoop, log: ObservationLog, ends: [Endpoint], world: SimulatedWorld?, hostSides: Set<Side>, kind: SubjectKind = .controller,
        fault: Fault = Fault(), slack: Microseconds = .zero
    ) {
        self.loop = loop
        self.log = log
        self.world = world
        isForeign = world == nil
        lateness = MachineLateness(loop: loop)
        self.slack = loop.mode == .virtual ? .zero : slack
        self.hostSides = hostSides
        accessory = kind
        self.fault = fault
        for end in ends { self.ends[end.side] = end }
    }

    func end(_ side: Side) -> Endpoint? { ends[side] }

    func connectionInterval(at side: Side) -> Microseconds? {
        ends[side]?.links.connectionInterval ?? ends.values.lazy.compactMap(\.links.connectionInterval).first
    }

    var advertisingInterval: Microseconds? { ends.values.compactMap(\.links.advertisingInterval).max() }

    /// Opens both ends, resets them and asks what they are.
    func prepare() async throws {
        lateness.start()
        if loop.mode == .virtual { features.insert("virtual") }
        if let world {
            features.insert("air")
            world.observe(into: log)
        }
        for side in Side.allCases {
            guard let end = ends[side] else { continue }
            try end.start()
            _ = end.takeDisorder()
            try await probe(end)
        }
        for side in Side.allCases where hostSides.contains(side) {
            guard let end = ends[side] else { continue }
            let isAccessory = side == .subject && accessory == .accessory
            hosts[side] = try await HostDriver.start(
                on: end, loop: loop, isAccessory: isAccessory, faults: side == .subject ? fault.host : [],
                rewrites: side == .subject ? fault.rewrites : [])
        }
    }

    /// Leaves the controllers as they were found.
    func finish() async {
        for side in Side.allCases { await hosts[side]?.stop() }
        hosts.removeAll()
        for side in Side.allCases {
            guard let end = ends[side] else { continue }
            if end.isStarted, end.failure == nil {
                _ = try? await end.command(opcode: 0x0C03, parameters: [], until: loop.now + .seconds(2))
            }
            end.shutDown()
        }
        lateness.stop()
    }

    // MARK: Probing

    private func probe(_ end: Endpoint) async throws {
        _ = try await ask(end, "Reset")
        let everything: [UInt8] = Array(repeating: 0xFF, count: 7) + [0x3F]
        _ = try await ask(end, "Set_Event_Mask", everything)
        _ = try await ask(end, "LE_Set_Event_Mask", Array(repeating: 0xFF, count: 8), isRequired: false)
        if let buffers = try await ask(end, "LE_Read_Buffer_Size"), buffers.count >= 4 {
            end.data.bufferLength = max(1, Int(buffers[1]) | Int(buffers[2]) << 8)
            end.data.bufferCount = max(1, Int(buffers[3]))
        }
        if let answer = try await ask(end, "LE_Read_Local_Supported_Features"), answer.count >= 9 {
            let mask = answer[1..<9].reversed().reduce(0) { $0 << 8 | UInt64($1) }
            for name in Features.names(in: mask) { features.insert("\(end.side.rawValue).\(name)") }
        }
        if let answer = try await ask(end, "Read_Local_Supported_Features"), answer.count >= 9, answer[5] & 0x20 == 0 {
            features.insert("\(end.side.rawValue).\(Features.classic)")
        }
        if let answer = try await ask(end, "Read_BD_ADDR"), answer.count >= 7 {
            let address = DeviceAddress(value: answer[1..<7].reversed().reduce(0) { $0 << 8 | UInt64($1) })
            addresses[end.side] = .record(CaseRecord([("address", .text(address.description)), ("type", .number(0))]))
        }
    }

    private func ask(_ end: Endpoint, _ name: String, _ parameters: [UInt8] = [], isRequired: Bool = true) async throws -> [UInt8]? {
        guard let opcode = PDUBook.opcode(of: name) else { throw StepFailure(.bench, "\(name) is not declared") }
        let deadline = loop.now + .seconds(3)
        guard let reply = try await end.command(opcode: opcode, parameters: parameters, until: deadline) else {
            throw StepFailure(.environment, "the \(end.side.rawValue) (\(end.name)) does not answer \(name)")
        }
        if reply.parameters.first == 0 { return reply.parameters }
        guard isRequired else { return nil }
        throw StepFailure(.environment, "the \(end.side.rawValue) (\(end.name)) refuses \(name) with status \(reply.parameters.first ?? 0)")
    }
}
