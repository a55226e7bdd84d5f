import BBPackets

/// Control PDUs on their way between the procedure engine and the air, where the controller's packet rules change them.
extension Connection {
    /// Sends a control PDU. A rule that delays or replaces an announcement leaves its instant as it is.
    func sendAsRuled(_ pdu: [UInt8], isAnnouncement: Bool = false) {
        var isPending = isAnnouncement
        rewriter.pass(.llControl, pdu) {
            let isAnnouncement = isPending && $0.first == pdu.first
            send(control: $0, isAnnouncement: isAnnouncement)
            if isAnnouncement { isPending = false }
        } later: { [loop = air.loop] bytes, delay in
            loop.schedule(after: delay) { [weak self] in self?.send(control: bytes) }
        }
        if isPending { run { engine, _, _ in engine.announced() } }
    }

    /// Handles a received control PDU.
    func takeAsRuled(_ payload: ArraySlice<UInt8>) {
        guard rewriter.isAboutReceived else { return take(payload) }
        rewriter.passReceived(.llControl, Array(payload)) {
            take($0[...])
        } later: { [loop = air.loop] bytes, delay in
            loop.schedule(after: delay) { [weak self] in self?.take(bytes[...]) }
        }
    }

    private func take(_ payload: ArraySlice<UInt8>) {
        guard let opcode = payload.first else { return }
        if let message = LinkLayerControl.decode(opcode, payload) {
            run { $0.received(message, opcode, at: $1, &$2) }
        } else {
            run { $0.receivedUnknown(opcode, $2) }
        }
    }
}
