import BBPackets

/// The acceptor role: the peer's commands to stream end points of this device. AVDTP 1.3, 8.6 to 8.19.
extension AVDTPSession {
    /// Executes a command of the peer.
    ///
    /// - Returns: nil if the command has no response.
    mutating func accept(_ command: AVDTPCommand, _ actions: inout [AVDTPAction]) -> AVDTPResponse? {
        switch command {
        case .discover:
            guard !endpoints.isEmpty else { return .rejected(.notSupportedCommand) }
            return .endpoints(
                endpoints.map { .init(seid: $0.seid, isInUse: isInUse($0.seid), mediaType: $0.mediaType, isSink: $0.isSink) })
        case .getCapabilities(let seid): return capabilities(of: seid) { $0.category.isBasic }
        case .getAllCapabilities(let seid): return capabilities(of: seid) { _ in true }
        case .setConfiguration(let seid, let remote, let list): return configure(seid, remote, list, &actions)
        case .getConfiguration(let seid):
            guard endpoint(seid) != nil else { return .rejected(.badACPSEID) }
            return streams[seid].map { .capabilities($0.configuration) } ?? .rejected(.sepNotInUse)
        case .reconfigure(let seid, let list): return reconfigure(seid, list, &actions)
        case .open(let seid): return move([seid], to: .open, &actions) { $0.state == .configured }
        case .start(let seids): return move(seids, to: .streaming, &actions) { $0.state == .open && $0.hasMedia }
        case .suspend(let seids): return move(seids, to: .open, &actions) { $0.state == .streaming }
        case .close(let seid):
            let response = move([seid], to: .closing, &actions) { $0.state == .open || $0.state == .streaming }
            if response == .accepted { releaseWithoutMedia(seid, &actions) }
            return response
        case .abort(let seid): return aborted(seid, &actions)
        case .securityControl(let seid, _): return .rejected(endpoint(seid) == nil ? .badACPSEID : .notSupportedCommand)
        case .delayReport(let seid, let delay):
            guard let endpoint = endpoint(seid) else { return .rejected(.badACPSEID) }
            guard !endpoint.isSink, streams[seid] != nil else { return .rejected(.badState) }
            actions.append(.delay(seid: seid, delay))
            return .accepted
        }
    }

    private func capabilities(of seid: UInt8, _ isWanted: (AVDTPCapability) -> Bool) -> AVDTPResponse {
        guard let endpoint = endpoint(seid) else { return .rejected(.badACPSEID) }
        return .capabilities(endpoint.capabilities.filter(isWanted))
    }

    // MARK: Configurations

    private mutating func configure(
        _ seid: UInt8, _ remote: UInt8, _ list: [AVDTPCapability], _ actions: inout [AVDTPAction]
    ) -> AVDTPResponse {
        guard let endpoint = endpoint(seid) else { return .rejected(.badACPSEID) }
        guard !isInUse(seid) else { return .rejected(.sepInUse) }
        if let (category, code) = Self.objection(of: endpoint, to: list) { return .rejected(code, about: category.rawValue) }
        guard list.contains(where: { $0.category == .mediaCodec }) else {
            return .rejected(.unsupportedConfiguration, about: AVDTPService.mediaCodec.rawValue)
        }
        streams[seid] = AVDTPStream(state: .configured, remote: remote, configuration: list, isInitiator: false)
        actions.append(.changed(seid: seid, .configured))
        return .accepted
    }

    /// The first capability that cannot be configured, with the error code. AVDTP 1.3, 8.20.6.2.
    private static func objection(
        of endpoint: AVDTPEndpoint, to list: [AVDTPCapability]
    ) -> (AVDTPService, AVDTPReason)? {
        for setting in list {
            guard setting.category.isKnown else { return (setting.category, .badServiceCategory) }
            let own = endpoint.capabilities.filter { $0.category == setting.category }
            guard !own.isEmpty else { return (setting.category, .unsupportedConfiguration) }
            guard setting.category == .mediaCodec else { continue }
            guard let wanted = setting.sbc else {
                if own.contains(where: { $0.octets.prefix(2) == setting.octets.prefix(2) && $0.sbc == nil }) { continue }
                return (setting.category, .unsupportedConfiguration)
            }
            guard let sbc = own.compactMap(\.sbc).first else { return (setting.category, .unsupportedConfiguration) }
            if let code = sbc.objection(to: wanted) { return (setting.category, code) }
        }
        return nil
    }

    private mutating func reconfigure(_ seid: UInt8, _ list: [AVDTPCapability], _ actions: inout [AVDTPAction]) -> AVDTPResponse {
        guard let endpoint = endpoint(seid) else { return .rejected(.badACPSEID) }
        guard streams[seid]?.state == .open else { return .rejected(.badState) }
        if let other = list.first(where: { !$0.category.isOfApplication }) {
            return .rejected(other.category.isKnown ? .invalidCapabilities : .badServiceCategory, about: other.category.rawValue)
        }
        if let (category, code) = Self.objection(of: endpoint, to: list) { return .rejected(code, about: category.rawValue) }
        streams[seid]?.replace(list)
        actions.append(.reconfigured(seid: seid))
        return .accepted
    }

    // MARK: States

    /// Changes the state of all streams or none; the error names the first one that cannot change.
    private mutating func move(
        _ seids: [UInt8], to state: AVDTPStream.State, _ actions: inout [AVDTPAction],
        if isAllowed: (AVDTPStream) -> Bool
    ) -> AVDTPResponse {
        for seid in seids {
            guard endpoint(seid) != nil else { return .rejected(.badACPSEID, about: seid) }
            guard let stream = streams[seid], isAllowed(stream) else { return .rejected(.badState, about: seid) }
        }
        for seid in seids { actions += change(seid, to: state) }
        return .accepted
    }

    /// An abort of an unknown end point gets no response. AVDTP 1.3, 8.16.2.
    private mutating func aborted(_ seid: UInt8, _ actions: inout [AVDTPAction]) -> AVDTPResponse? {
        guard endpoint(seid) != nil else { return nil }
        guard streams[seid] != nil else { return .accepted }
        actions += change(seid, to: .aborting)
        releaseWithoutMedia(seid, &actions)
        return .accepted
    }

    /// Releases a stream at once if it has no media channel.
    private mutating func releaseWithoutMedia(_ seid: UInt8, _ actions: inout [AVDTPAction]) {
        if streams[seid]?.hasMedia == false { actions += released(seid) }
    }
}

extension AVDTPStream {
    /// Replaces the capabilities of the same categories.
    mutating func replace(_ list: [AVDTPCapability]) {
        let replaced = Set(list.map(\.category))
        configuration = configuration.filter { !replaced.contains($0.category) } + list
    }
}
