import BBCases
import BBHost
import BBPackets
import BBProducts
import BBTiming

/// Writes the value that changes the services of the device under test. The device may restart for that; it is then met again. Core Vol 3,
/// Part C, 9.3.10.
enum ChangeServices: NamedAction {
    static let name = "change services"
    static let about = "writes the value of `changes:`, and meets the device again if that restarts it"
    static let back = TypedArgument.flag("back", default: false, "1 to write the value of `undo:`")
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration, back.declaration] }
    static let results = ["handle", "restarted"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let (bench, driver, link, isBack) = (context.bench, try context.driver(), try context.link(), try context(back))
        let change = try DeclaredChange(context)
        if !isBack { bench.memory.hasChangedServices = true }
        bench.memory.mayRestart = true
        try await change.write(isBack ? change.undo : change.command, on: link)
        if isBack { bench.memory.hasChangedServices = false }
        if link.isConnected {
            return CaseRecord([("handle", .number(Int(link.handle.rawValue))), ("restarted", .number(0))])
        }
        driver.links[link.handle.rawValue] = nil
        let again = try await MeetDevice.meet(context, pairs: true)
        return CaseRecord([("handle", .number(Int(again.handle.rawValue))), ("restarted", .number(1))])
    }
}

/// Changes the services back after a case that has ended before it could do so.
enum ChangeServicesBack: NamedAction {
    static let name = "change services back"
    static let about = "writes the value of `undo:` if the case has changed the services and not yet changed them back"
    static var arguments: [ActionArgument] { [] }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let (bench, driver) = (context.bench, try context.driver())
        guard bench.memory.hasChangedServices else { return CaseRecord() }
        let change = try DeclaredChange(context)
        let open = driver.links.values.first { $0.isConnected && $0.isCentral }
        let link = if let open { open } else { try await MeetDevice.meet(context, pairs: true) }
        try await change.write(change.undo, on: link)
        bench.memory.hasChangedServices = false
        return CaseRecord()
    }
}

/// The write that changes the services, as `changes:` declares it.
private struct DeclaredChange {
    let command: [UInt8]
    let undo: [UInt8]
    private let handle: UInt16
    private let configuration: UInt16
    private let subscription: [UInt8]
    private let loop: RunLoop

    /// The time in which the services change, or the device restarts.
    private static let pause = Microseconds.seconds(1)
    private static let databaseOutOfSync = ATTErrorCode(rawValue: 0x12)
    private static let improperlyConfigured: UInt8 = 0xFD

    init(_ context: ActionContext) throws(StepFailure) {
        guard case .list(let list)? = context.bench.product.facts?.record["changing"], case .record(let record)? = list.first else {
            throw StepFailure(.limitation, "the device does not declare a change of its services")
        }
        func number(_ name: String) -> UInt16 { UInt16(clamping: record[name]?.asNumber ?? 0) }
        command = record["command"]?.asOctets ?? []
        undo = record["undo"]?.asOctets ?? []
        handle = number("handle")
        configuration = number("stimulusConfiguration")
        subscription = record["stimulusSubscription"]?.asOctets ?? []
        loop = context.bench.loop
    }

    /// Writes and waits. The device may end the connection in place of its answer, or after it.
    func write(_ value: [UInt8], on link: Connection) async throws {
        do {
            if configuration > 0 { try await request(configuration, subscription, on: link) }
            try await request(handle, value, on: link)
        } catch HostError.peer(.att(_, _, let code)) where Self.isForWantOfState(code) {
            throw StepFailure(.limitation, "the device refuses the write that changes its services: \(code)")
        } catch HostError.peer(.disconnected) {}
        do { _ = try await link.ended(within: Self.pause) } catch HostError.environment(.timedOut(.disconnection)) {}
    }

    private static func isForWantOfState(_ code: ATTErrorCode) -> Bool {
        DeviceFacts.protections.contains(code.rawValue) || code.rawValue == improperlyConfigured
    }

    /// A client that has not yet heard of a change is refused once. Core Vol 3, Part G, 2.5.2.1.
    private func request(_ handle: UInt16, _ value: [UInt8], on link: Connection) async throws {
        do {
            try await link.gatt.write(handle, value)
        } catch HostError.peer(.att(_, _, Self.databaseOutOfSync)) {
            try await link.gatt.write(handle, value)
        }
    }
}
