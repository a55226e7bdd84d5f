import Host
import Packets
import Timing

extension CaseRun {
    /// Runs a named action.
    func act(_ action: Action, _ step: Step, _ scope: inout Scope) async throws {
        scope.searchStart = log.end
        let arguments = try record(action.arguments, scope)
        var result: CaseRecord
        switch action.name {
        case "find characteristic": result = try await findCharacteristic(arguments, step)
        case "lose packets": result = try losePackets(arguments)
        default: result = try await hostAction(action.name, arguments, step)
        }
        scope.reference = TimeReference(loop.now)
        save(.record(result), of: step, in: scope)
        if let mismatch = try Predicate.parts(action.result).mismatch(.record(result), scope.frame.variables) {
            throw StepFailure(.subject, step.stating("\(action.name): \(mismatch.text)"))
        }
    }

    /// An action of the end's host. What the peer refuses is the result's `error`; it fails the step unless the step looks at it.
    private func hostAction(_ name: String, _ arguments: CaseRecord, _ step: Step) async throws -> CaseRecord {
        guard ActionShapes.needHost.contains(name), let driver = bench.hosts[step.side] else {
            throw StepFailure(.bench, "there is no action \(name) at the \(step.side.rawValue)")
        }
        let expectsError: Bool
        if case .action(let action) = step.kind {
            expectsError = action.result.contains { $0.name == "error" }
        } else {
            expectsError = false
        }
        let limit = deadline(of: step)
        let activity = loop.start { try await driver.perform(name, arguments) }
        let timer = loop.schedule(at: limit) { activity.cancel() }
        defer { loop.cancel(timer) }
        do {
            return try await activity.value()
        } catch is CancellationError {
            activity.cancel()
            await activity.ended()
            try Task.checkCancellation()
            throw StepFailure(.subject, step.stating("\(name) did not end within its limit"))
        } catch HostError.peer(let fault) {
            let text = HostError.peer(fault).description
            guard expectsError else { throw StepFailure(.subject, step.stating("\(name): \(text)")) }
            return CaseRecord([("error", .text(text))])
        } catch let error as HostError {
            throw StepFailure(.environment, "\(name): \(error)")
        }
    }

    private func losePackets(_ arguments: CaseRecord) throws -> CaseRecord {
        guard let world = bench.world, let permille = arguments["permille"]?.asNumber, (0...1_000).contains(permille) else {
            throw StepFailure(.bench, "packets are lost on a simulated air only, 0 to 1000 of a thousand")
        }
        world.setPacketErrorRate(Double(permille) / 1_000)
        return CaseRecord()
    }

    // MARK: Looking up attributes over a bare connection

    private func findCharacteristic(_ arguments: CaseRecord, _ step: Step) async throws -> CaseRecord {
        guard let end = bench.end(step.side), let handle = arguments["on"]?.asNumber.flatMap({ UInt16(exactly: $0) }) else {
            throw StepFailure(.bench, "a connection handle is expected after on:")
        }
        guard let wanted = arguments["uuid"]?.asUUID else { throw StepFailure(.bench, "a UUID is expected after uuid:") }
        let deadline = deadline(of: step)
        var all: [(declaration: Int, properties: Int, value: Int, uuid: BluetoothUUID)] = []
        var start = 1
        while start <= 0xFFFF, let rows = try await declarations(from: start, end, handle, deadline), let last = rows.last {
            all += rows
            start = last.declaration + 1
        }
        guard let index = all.firstIndex(where: { $0.uuid == wanted }) else {
            throw StepFailure(.subject, "the accessory has no characteristic \(wanted)")
        }
        let found = all[index]
        let last = index + 1 < all.count ? all[index + 1].declaration - 1 : 0xFFFF
        let cccd = try await descriptor(BluetoothUUID(0x2902), from: found.value + 1, to: last, end, handle, deadline)
        return CaseRecord([
            ("declaration", .number(found.declaration)), ("properties", .number(found.properties)), ("value", .number(found.value)),
            ("next", .number(found.value + 1)),
            ("cccd", .number(cccd ?? 0)), ("end", .number(last)),
        ])
    }

    private func declarations(from start: Int, _ end: Endpoint, _ handle: UInt16, _ deadline: Microseconds) async throws
        -> [(declaration: Int, properties: Int, value: Int, uuid: BluetoothUUID)]?
    {
        let request: [UInt8] = [0x08] + Self.little(start) + [0xFF, 0xFF, 0x03, 0x28]
        let answer = try await exchange(request, end, handle, deadline)
        guard answer.first == 0x09, answer.count >= 2 else { return nil }
        let size = Int(answer[1])
        guard size == 7 || size == 21 else { throw StepFailure(.subject, "a characteristic declaration of \(size) octets") }
        return stride(from: 2, through: answer.count - size, by: size).compactMap { at in
            guard let uuid = BluetoothUUID(octets: Array(answer[at + 5..<at + size])) else { return nil }
            return (Self.number(answer, at), Int(answer[at + 2]), Self.number(answer, at + 3), uuid)
        }
    }

    private func descriptor(
        _ wanted: BluetoothUUID, from first: Int, to last: Int, _ end: Endpoint, _ handle: UInt16, _ deadline: Microseconds
    ) async throws -> Int? {
        var start = first
        while start <= last {
            let answer = try await exchange([0x04] + Self.little(start) + Self.little(last), end, handle, deadline)
            guard answer.first == 0x05, answer.count >= 2 else { return nil }
            let size = answer[1] == 1 ? 4 : 18
            for at in stride(from: 2, through: answer.count - size, by: size) {
                if BluetoothUUID(octets: Array(answer[at + 2..<at + size])) == wanted { return Self.number(answer, at) }
                start = Self.number(answer, at) + 1
            }
        }
        return nil
    }

    /// One ATT request and what answers it.
    private func exchange(_ request: [UInt8], _ end: Endpoint, _ handle: UInt16, _ deadline: Microseconds) async throws -> [UInt8] {
        let start = log.end
        end.sendFrame(request, channel: PDULayer.att.channel, handle: handle)
        let side = end.side
        let found = try await log.take(from: start, until: deadline) { observation in
            guard observation.side == side, case .upper(.att, let bytes, handle) = observation.content else { return false }
            return bytes.first == 0x01 || bytes.first == request[0] + 1
        }
        guard let found, case .upper(_, let bytes, _) = found.content else {
            throw StepFailure(.subject, "an ATT request was not answered within the step's limit")
        }
        return bytes
    }

    private static func little(_ value: Int) -> [UInt8] { [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)] }
    private static func number(_ octets: [UInt8], _ at: Int) -> Int { Int(octets[at]) | Int(octets[at + 1]) << 8 }
}

extension CaseValue {
    var asUUID: BluetoothUUID? {
        switch self {
        case .text(let text): BluetoothUUID(text)
        case .number(let number): UInt16(exactly: number).map { BluetoothUUID($0) }
        case .octets, .list, .record: nil
        }
    }
}
