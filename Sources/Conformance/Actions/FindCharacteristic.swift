import BBCases
import BBPackets
import BBTiming

/// Discover All Characteristics of a Service over all handles, and Discover All Characteristic Descriptors of the wanted one, without a
/// host.
/// Core Vol 3, Part G, 4.6.1 and 4.7.1.
enum FindCharacteristic: NamedAction {
    static let name = "find characteristic"
    static let about = "finds a characteristic by its UUID, with ATT_READ_BY_TYPE_REQ and ATT_FIND_INFORMATION_REQ"
    static let uuid = TypedArgument.uuid("uuid", "the characteristic's UUID")
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration, uuid.declaration] }
    static let results = ["declaration", "properties", "value", "next", "cccd", "end"]

    private static let characteristicType: BluetoothUUID = 0x2803
    private static let configurationType: BluetoothUUID = 0x2902

    private struct Found {
        var handle: UInt16
        var declaration: Structures.CharacteristicDeclaration
    }

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let wanted = try context(uuid)
        let all = try await declarations(context)
        guard let index = all.firstIndex(where: { $0.declaration.characteristicUUID == wanted }) else {
            throw StepFailure(.subject, "the accessory has no characteristic \(wanted)")
        }
        let found = all[index]
        let value = found.declaration.characteristicValueHandle
        let last = index + 1 < all.count ? all[index + 1].handle - 1 : UInt16.max
        let configuration = try await descriptor(configurationType, after: value, to: last, context)
        return CaseRecord([
            ("declaration", .number(Int(found.handle))), ("properties", .number(Int(found.declaration.characteristicProperties))),
            ("value", .number(Int(value))), ("next", .number(Int(value) + 1)), ("cccd", .number(Int(configuration ?? 0))),
            ("end", .number(Int(last))),
        ])
    }

    private static func declarations(_ context: ActionContext) async throws -> [Found] {
        var all: [Found] = []
        var start: UInt16? = 1
        while let first = start {
            let request = ATT.ReadByTypeReq(startingHandle: first, endingHandle: .max, attributeType: characteristicType)
            guard let response: ATT.ReadByTypeRsp = try await answer(to: request, context) else { break }
            for row in response.attributeDataList {
                var reader = ByteReader(row.attributeValue.span.bytes)
                guard let declaration = try? Structures.CharacteristicDeclaration(from: &reader) else {
                    throw StepFailure(.subject, "a characteristic declaration of \(row.attributeValue.count) octets")
                }
                all.append(Found(handle: row.attributeHandle, declaration: declaration))
            }
            start = try next(after: response.attributeDataList.last?.attributeHandle, from: first)
        }
        return all
    }

    private static func descriptor(_ wanted: BluetoothUUID, after value: UInt16, to last: UInt16, _ context: ActionContext) async throws
        -> UInt16?
    {
        var start = value < last ? value + 1 : nil
        while let first = start, first <= last {
            let request = ATT.FindInformationReq(startingHandle: first, endingHandle: last)
            guard let response: ATT.FindInformationRsp = try await answer(to: request, context) else { return nil }
            if let found = response.informationData.first(where: { $0.uuid == wanted }) { return found.handle }
            start = try next(after: response.informationData.last?.handle, from: first)
        }
        return nil
    }

    /// Returns the handle at which the discovery continues; nil after the last handle.
    static func next(after handle: UInt16?, from first: UInt16) throws(StepFailure) -> UInt16? {
        guard let handle, handle >= first else { throw StepFailure(.subject, "an ATT response does not go on from handle \(first)") }
        return handle == .max ? nil : handle + 1
    }

    /// Returns the response to an ATT request; nil for ATT_ERROR_RSP.
    static func answer<Response: ATTPDU>(to request: some ATTPDU, _ context: ActionContext) async throws -> Response? {
        let (end, handle, log) = (try context.end(), try context(.connection).rawValue, context.bench.log)
        let (start, side) = (log.end, end.side)
        context.limit.restart()
        end.sendFrame(request.bytes, channel: ChannelContent.att.channel, handle: handle)
        let found = try await log.take(from: start, until: context.deadline) { observation in
            guard observation.side == side, case .upper(.att, let bytes, handle) = observation.content else { return false }
            return bytes.first == ATT.ErrorRsp.opcode || bytes.first == Response.opcode
        }
        guard let found, case .upper(_, let bytes, _) = found.content else { throw TimeOut() }
        if bytes.first == ATT.ErrorRsp.opcode { return nil }
        do {
            return try Response(bytes: bytes)
        } catch {
            throw StepFailure(.subject, "\(error)")
        }
    }
}
