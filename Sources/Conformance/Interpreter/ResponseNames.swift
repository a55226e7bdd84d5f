import BBPackets

/// Names of the PDUs that answer requests, as observations have them.
enum ResponseNames {
    /// The responses of ATT, Error Response included. A confirmation is no response: requests go on while it is awaited.
    static let att = names(.att) { ($0.isAnswer || $0.refuses != nil) && !$0.answers.contains(ATT.HandleValueInd.id) }
    static let signalling = names(.l2capSignaling) { $0.isAnswer || $0.refuses != nil }
    static let signallingRefusals = names(.l2capSignaling) { $0.refuses != nil }
    /// The control PDUs of the Link Layer that come only as an answer.
    static let control = names(.llControl) { $0.isAnswer && !$0.comesUnasked }
    static let controlRefusals = names(.llControl) { $0.refuses != nil }
    /// The events of LE that complete a procedure.
    static let completions = names(.hciEvents) { $0.subevent != nil && !$0.completes.isEmpty }

    private static func names(_ layer: Layer, _ isMember: (PDUID) -> Bool) -> Set<String> {
        Set(PDUCatalog.all.filter { $0.layer == layer && isMember($0.id) }.map(\.name))
    }
}
