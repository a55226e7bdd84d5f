import BBCases
import BBPackets

/// The loss of a connection on which a PDU of the device under test was awaited.
struct LostLink: Sendable, Hashable {
    var reason: ErrorCode
    /// True if the awaited PDU is a stated requirement of the subject, outside the setup.
    var isJudged = false

    /// True if the loss may be caused by the radio: CONNECT_IND or all packets of a time-out were lost. Core Vol 1, Part F, 2.8 and 2.62.
    var isOfTheAir: Bool { reason == .connectionFailedToBeEstablished || reason == .connectionTimeout }

    /// True if a repeated loss is attributed to the subject. A device that falls silent twice at the same step has caused that; one that
    /// has never been heard on a connection has not.
    var isHeldAgainstTheSubject: Bool { isJudged && reason == .connectionTimeout }

    /// - Returns: nil if the tester has ended the connection.
    init?(_ reason: ErrorCode) {
        guard reason != .connectionTerminatedByLocalHost, reason != .success else { return nil }
        self.reason = reason
    }
}

extension CaseRun {
    /// Returns the loss of the awaited PDU's connection that the packet reports; nil for other packets. Only PDUs of a device over the air
    /// are considered:
    /// other cases judge the ends of connections themselves.
    func end(of search: Search, told observation: Observation) -> LostLink? {
        guard let handle = awaitedConnection(search), observation.side == search.side,
            observation.name == HCIEvents.DisconnectionComplete.name,
            observation.connection == handle, let reason = PDUCodec.record(of: observation)["Reason"]?.asNumber
        else { return nil }
        return LostLink(ErrorCode(rawValue: UInt8(truncatingIfNeeded: reason)))
    }

    /// Returns the packet that reported the connection's end before the search started.
    func earlierEnd(of search: Search, before start: Int) -> Observation? {
        guard let handle = awaitedConnection(search) else { return nil }
        // A case that names no connection may refer to a later one than that of its last PDU.
        let isNamed = search.connection != nil
        let last = log.observations.prefix(start).last { observation in
            observation.side == search.side && Self.connectionChanges.contains(observation.name)
                && (!isNamed || observation.connection == handle)
        }
        return last.flatMap { end(of: search, told: $0) == nil ? nil : $0 }
    }

    private static let connectionChanges: Set<String> = [
        HCIEvents.DisconnectionComplete.name, HCIEvents.LEConnectionComplete.name, HCIEvents.LEEnhancedConnectionComplete.name,
    ]

    private func awaitedConnection(_ search: Search) -> Int? {
        guard testCase.subject == .accessory, search.side == .tester, PDUCodec.isUpper(search.name) else { return nil }
        return search.connection ?? lastConnections[search.side]
    }

    /// Returns the failure of a step that waits for a packet on a lost connection.
    func lost(_ link: LostLink, _ what: String, _ step: Step, told packet: Observation?, evidence: [Evidence]) -> StepFailure {
        let place = packet.map { " (\($0.place))" } ?? ""
        var failure: StepFailure
        if bench.memory.mayRestart {
            let text = "the device ended the connection on which its services have changed, \(link.reason)\(place), in place of \(what)"
            failure = StepFailure(.limitation, step.stating(text), evidence: evidence)
        } else if link.isOfTheAir {
            failure = StepFailure(
                .environment, "the connection was lost, \(link.reason)\(place), where \(what) was awaited", evidence: evidence)
            failure.lostLink = link
        } else {
            let text = "the device ended the connection, \(link.reason)\(place), in place of \(what)"
            failure = StepFailure(.subject, step.stating(text), evidence: evidence)
        }
        return failure.comparing(ExpectationDiff(expected: what, got: "\(link.reason)", packet: packet?.number))
    }
}
