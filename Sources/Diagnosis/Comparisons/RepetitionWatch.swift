import BBCases
import BBPackets
import BBTraffic

/// Requests that a server refuses before the link is encrypted, and that the client does not repeat afterwards.
/// Core Vol 3, Part C, 10.3.2; Core Vol 3, Part G, 3.3.3.3.
struct RepetitionWatch {
    private struct Refused {
        var request: String
        var result: String
        var isSubscription: Bool
        var client: PacketSender
        var at: Moment
    }

    private var last: [PacketSender: (handle: Int, request: String, isSubscription: Bool)] = [:]
    private var refused: [Int: Refused] = [:]
    private var encrypted: Moment?

    private static let most = 64
    private static let uses: Set<Int> = [
        ATT.ReadReq.id.code, ATT.ReadBlobReq.id.code, ATT.WriteReq.id.code, ATT.WriteCmd.id.code, ATT.PrepareWriteReq.id.code,
    ]
    private static let subscriptions: [[UInt8]] = [[1, 0], [2, 0], [3, 0]]
    private static let reasons: [ATTErrorCode] = [.insufficientAuthentication, .insufficientEncryption, .encryptionKeySizeTooShort]
    /// A client that goes on so long has had the time.
    private static let longEnough: Int64 = 10_000_000
    /// A descriptor further behind its value may be one of another characteristic.
    private static let nearest = 3

    mutating func note(_ pdu: DecodedLayer, from sender: PacketSender, at now: Moment) {
        let handle = (pdu.fields.named("Attribute_Handle") ?? pdu.fields.named("Attribute_Handle_In_Error"))?.int
        if Self.uses.contains(pdu.code), let handle {
            refused[handle] = nil
            let value = pdu.fields.named("Attribute_Value")?.octets ?? []
            last[sender] = (handle, pdu.name, pdu.id == ATT.WriteReq.id && Self.subscriptions.contains(value))
        } else if let error = pdu.content(as: ATT.ErrorRsp.self), let request = last.removeValue(forKey: sender.other) {
            guard Self.reasons.contains(error.errorCode), request.handle == handle, refused.count < Self.most,
                let field = pdu.fields.named("Error_Code"),
                let code = field.int
            else { return }
            refused[request.handle] = Refused(
                request: request.request, result: Refusal.name(of: code, field.declaration) ?? "", isSubscription: request.isSubscription,
                client: sender.other, at: now)
        } else if pdu.id == ATT.HandleValueNtf.id || pdu.id == ATT.HandleValueInd.id, let handle, !refused.isEmpty {
            // The server has kept an earlier subscription.
            for descriptor in refused.keys where descriptor > handle && descriptor - handle <= Self.nearest { refused[descriptor] = nil }
        }
    }

    mutating func noteEncryption(at now: Moment) { encrypted = encrypted ?? now }

    /// Requests that were never repeated until the end of the link: the subscriptions, and the rest.
    func ended(at now: Moment) -> [Observation] {
        guard let encrypted, now.time - encrypted.time >= Self.longEnough else { return [] }
        return [true, false].compactMap { isSubscription in
            let left = refused.filter { $0.value.isSubscription == isSubscription && $0.value.at.time <= encrypted.time }
            guard let first = left.values.min(by: { $0.at.packet < $1.at.packet }) else { return nil }
            let handles = left.keys.sorted().prefix(4).map { Hex.number($0, bits: 16) }.joined(separator: ", ")
            return Observation(
                .requestNotRepeated,
                [
                    ("Request", .text(first.request)), ("Handles", .text(handles)), ("Result", .text(first.result)),
                    ("Encrypted", .number(encrypted.packet)), ("Subscription", .number(isSubscription ? 1 : 0)),
                ], packet: first.at.packet)
        }
    }
}
