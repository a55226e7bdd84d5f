import BBCases
import BBPackets
import BBTraffic

/// The characteristics that a client discovers on one link, and what it configures there: a use that the declaration does not offer, and a
/// value of the kind that the client has not asked for. Core Vol 3, Part G, 3.3.1.1 and 3.3.3.3.
struct DeclaredValues {
    /// A bit of the Characteristic Properties.
    private enum Property: UInt8 {
        case read = 0x02
        case write = 0x08

        init?(_ request: UInt8) {
            switch request {
            case ATT.ReadReq.opcode, ATT.ReadBlobReq.opcode: self = .read
            case ATT.WriteReq.opcode, ATT.PrepareWriteReq.opcode: self = .write
            default: return nil
            }
        }
    }

    /// The properties by the handle of the value.
    private var properties: [UInt16: UInt8] = [:]
    /// The handles of Client Characteristic Configuration descriptors.
    private var descriptors: Set<UInt16> = []
    /// The value that the client last wrote to them, by handle.
    private var configurations: [UInt16: UInt16] = [:]
    /// The write of a configuration that is not answered yet.
    private var pending: (handle: UInt16, value: UInt16)?
    private var isOfDeclarations = false
    private var told: Set<UInt16> = []

    private static let most = 1_024
    private static let declaration: BluetoothUUID = 0x2803
    private static let configuration: BluetoothUUID = 0x2902
    private static let (notification, indication): (UInt16, UInt16) = (1, 2)
    /// A descriptor further away may be one of a characteristic that the client has not asked for.
    private static let nearest: UInt16 = 3
    private static let (notify, indicate): (UInt8, UInt8) = (0x10, 0x20)
    /// Write Without Response, and signed writes, which other stacks may send as plain commands.
    private static let commands: UInt8 = 0x04 | 0x40
    /// Refusals that security resolves.
    private static let security: [ATTErrorCode] = [
        .insufficientAuthentication, .insufficientAuthorization, .insufficientEncryption, .encryptionKeySizeTooShort,
    ]

    mutating func note(_ pdu: DecodedLayer) -> Observation? {
        switch UInt8(truncatingIfNeeded: pdu.code) {
        case ATT.ReadByTypeReq.opcode:
            isOfDeclarations = pdu.content(as: ATT.ReadByTypeReq.self)?.attributeType == Self.declaration
        case ATT.ReadByTypeRsp.opcode: noteDeclarations(pdu)
        case ATT.FindInformationRsp.opcode:
            for row in pdu.content(as: ATT.FindInformationRsp.self)?.informationData ?? [] where row.uuid == Self.configuration {
                if descriptors.count < Self.most { descriptors.insert(row.handle) }
            }
        case ATT.WriteReq.opcode: return noteWrite(pdu)
        case ATT.WriteRsp.opcode:
            if let pending { configurations[pending.handle] = pending.value }
            pending = nil
        case ATT.ErrorRsp.opcode:
            defer { pending = nil }
            return subscriptionRefused(pdu) ?? refused(pdu)
        case ATT.WriteCmd.opcode: return properties.isEmpty ? nil : commanded(pdu)
        case ATT.HandleValueNtf.opcode: return sent(pdu.content(as: ATT.HandleValueNtf.self)?.attributeHandle, Self.notification, pdu)
        case ATT.HandleValueInd.opcode: return sent(pdu.content(as: ATT.HandleValueInd.self)?.attributeHandle, Self.indication, pdu)
        default: break
        }
        return nil
    }

    private mutating func noteDeclarations(_ pdu: DecodedLayer) {
        guard isOfDeclarations, properties.count < Self.most else { return }
        for row in pdu.content(as: ATT.ReadByTypeRsp.self)?.attributeDataList ?? [] where [5, 19].contains(row.attributeValue.count) {
            properties[UInt16(row.attributeValue[1]) | UInt16(row.attributeValue[2]) << 8] = row.attributeValue[0]
        }
    }

    private mutating func noteWrite(_ pdu: DecodedLayer) -> Observation? {
        guard let write = pdu.content(as: ATT.WriteReq.self), write.attributeValue.count == 2,
            descriptors.contains(write.attributeHandle)
        else { return nil }
        let value = UInt16(write.attributeValue[0]) | UInt16(write.attributeValue[1]) << 8
        pending = (write.attributeHandle, value)
        return subscribed(write.attributeHandle, value)
    }

    /// A subscription to a kind of value that the declaration does not offer. Core Vol 3, Part G, 3.3.3.3.
    private mutating func subscribed(_ descriptor: UInt16, _ value: UInt16) -> Observation? {
        guard value != 0, let handle = properties.keys.filter({ $0 < descriptor }).max(), let declared = properties[handle],
            descriptor - handle <= Self.nearest, !told.contains(descriptor)
        else { return nil }
        let offered = (declared & Self.notify == 0 ? 0 : Self.notification) | (declared & Self.indicate == 0 ? 0 : Self.indication)
        guard value & offered == 0 else { return nil }
        told.insert(descriptor)
        let kinds = value == Self.indication ? "indications" : "notifications"
        return Observation(
            .useNotDeclared,
            [
                ("Use", .text("subscribes to \(kinds) of")), ("Handle", .text(Hex.number(handle))),
                ("Properties", .text(Hex.number(declared))),
            ])
    }

    /// A refused configuration of a kind of value that the characteristic offers. Core Vol 3, Part G, 3.3.3.3.
    private func subscriptionRefused(_ pdu: DecodedLayer) -> Observation? {
        guard let pending, pending.value != 0, let error = pdu.content(as: ATT.ErrorRsp.self),
            error.requestOpcodeInError.rawValue == ATT.WriteReq.opcode, !Self.security.contains(error.errorCode),
            !told.contains(pending.handle)
        else { return nil }
        return Observation(
            .subscriptionRefused,
            [
                ("Handle", .text(Hex.number(pending.handle))), ("Result", .text(error.errorCode.words)),
                ("Accepted", .number(configurations.values.count { $0 != 0 })),
            ])
    }

    /// A write without response of a value that does not offer it: the server ignores it.
    private mutating func commanded(_ pdu: DecodedLayer) -> Observation? {
        guard let handle = pdu.fields.named("Attribute_Handle")?.int.flatMap({ UInt16(exactly: $0) }), let declared = properties[handle],
            declared & Self.commands == 0, told.insert(handle).inserted
        else { return nil }
        return Observation(
            .useNotDeclared,
            [("Use", .text(Self.command)), ("Handle", .text(Hex.number(handle))), ("Properties", .text(Hex.number(declared)))])
    }

    private static let command = "writes without response"

    /// A refusal that the declaration had announced.
    private func refused(_ pdu: DecodedLayer) -> Observation? {
        guard let error = pdu.content(as: ATT.ErrorRsp.self), error.errorCode == .readNotPermitted || error.errorCode == .writeNotPermitted,
            let property = Property(error.requestOpcodeInError.rawValue),
            let declared = properties[error.attributeHandleInError], declared & property.rawValue == 0
        else { return nil }
        let handle = ("Handle", CaseValue.text(Hex.number(error.attributeHandleInError)))
        return Observation(
            .useNotDeclared, [("Use", .text(property == .read ? "reads" : "writes")), handle, ("Properties", .text(Hex.number(declared)))])
    }

    /// A value of a kind for which the client has not set its bit, although it has configured the other one.
    private mutating func sent(_ handle: UInt16?, _ bit: UInt16, _ pdu: DecodedLayer) -> Observation? {
        guard !configurations.isEmpty, let handle, properties[handle] != nil, !told.contains(handle) else { return nil }
        let next = properties.keys.filter { $0 > handle }.min() ?? .max
        guard let value = configurations.first(where: { $0.key > handle && $0.key < next })?.value, value != 0, value & bit == 0
        else { return nil }
        told.insert(handle)
        return Observation(
            .otherValueKind,
            [("PDU", .text(pdu.name)), ("Handle", .text(Hex.number(handle))), ("Configuration", .text(Hex.number(value)))])
    }
}
