import BBPackets

/// The initiator role: responses to this device's commands.
extension AVDTPSession {
    /// Handles a response; it must have the label and the signal of its command.
    mutating func answered(_ message: AVDTPMessage) -> [AVDTPAction] {
        guard let transaction = transactions[message.label], transaction.command.signal.rawValue == message.signal else { return [] }
        transactions[message.label] = nil
        let response = AVDTPResponse(message, to: transaction.command)
        let changes = response == .accepted ? accepted(transaction.command) : []
        return [.answered(transaction.command, response)] + changes
    }

    private mutating func accepted(_ command: AVDTPCommand) -> [AVDTPAction] {
        switch command {
        case .setConfiguration(let remote, let seid, let list):
            guard endpoint(seid) != nil, streams[seid] == nil else { return [] }
            streams[seid] = AVDTPStream(state: .configured, remote: remote, configuration: list, isInitiator: true)
            return [.changed(seid: seid, .configured)]
        case .reconfigure(let remote, let list):
            guard let seid = local(ofRemote: remote) else { return [] }
            streams[seid]?.replace(list)
            return [.reconfigured(seid: seid)]
        case .open(let remote):
            guard let seid = local(ofRemote: remote), streams[seid]?.state == .configured else { return [] }
            return change(seid, to: .open) + [.openMedia(seid: seid)]
        case .start(let remotes): return move(remotes, from: .open, to: .streaming)
        case .suspend(let remotes): return move(remotes, from: .streaming, to: .open)
        case .close(let remote): return release(remote, .closing)
        case .abort(let remote): return release(remote, .aborting)
        case .discover, .getCapabilities, .getAllCapabilities, .getConfiguration, .securityControl, .delayReport: return []
        }
    }

    private mutating func move(_ remotes: [UInt8], from: AVDTPStream.State, to: AVDTPStream.State) -> [AVDTPAction] {
        remotes.compactMap(local(ofRemote:)).filter { streams[$0]?.state == from }.flatMap { change($0, to: to) }
    }

    /// The initiator of Close also closes the media channel. AVDTP 1.3, 6.13 and 6.14.
    private mutating func release(_ remote: UInt8, _ state: AVDTPStream.State) -> [AVDTPAction] {
        guard let seid = local(ofRemote: remote), let stream = streams[seid] else { return [] }
        guard stream.hasMedia else { return released(seid) }
        return change(seid, to: state) + [.closeMedia(seid: seid)]
    }
}
