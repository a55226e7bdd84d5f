import Cases
import Packets

/// The end of a connection where something of the device under test was awaited on it.
struct LostLink: Sendable, Hashable {
    var reason: ErrorCode
    /// The awaited answer is a stated requirement of the subject, outside the setup.
    var isJudged = false

    /// The radio may be the reason: CONNECT_IND or all packets of a time-out were lost. Nothing can be said of the subject yet. Core Vol 1, Part F, 2.8 and 2.62.
    var isOfTheAir: Bool { reason == .connectionFailedToBeEstablished || reason == .connectionTimeout }

    /// A device that falls silent at the same place twice has done so by itself; one that has never been heard on a connection has not.
    var isHeldAgainstTheSubject: Bool { isJudged && reason == .connectionTimeout }

    /// - Returns: nil for the tester's own end of the connection.
    init?(_ reason: ErrorCode) {
        guard reason != .connectionTerminatedByLocalHost, reason != .success else { return nil }
        self.reason = reason
    }
}

extension CaseRun {
    /// The end of the connection that a PDU is awaited on, told already or in this packet; nil while it is up. Only what a device over the air sends is awaited
    /// so: other cases judge the ends of connections themselves.
    func end(of search: Search, told observation: Observation) -> LostLink? {
        guard let handle = awaitedConnection(search), observation.side == search.side,
            observation.name == HCIEvents.DisconnectionComplete.name,
            observation.connection == handle, let reason = PDUCodec.record(of: observation)["Reason"]?.asNumber
        else { return nil }
        return LostLink(ErrorCode(rawValue: UInt8(truncatingIfNeeded: reason)))
    }

    /// The packet that has told of the connection's end before the search began.
    func earlierEnd(of search: Search, before start: Int) -> Observation? {
        guard let handle = awaitedConnection(search) else { return nil }
        // A case that names no connection may mean a later one than that of its last PDU.
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

    /// The failure of a step that waits for something on a connection that has ended.
    func lost(_ link: LostLink, _ what: String, _ step: Step, told packet: Observation?, evidence: [Evidence]) -> StepFailure {
        let place = packet.map { " (\($0.place))" } ?? ""
        var failure: StepFailure
        if link.isOfTheAir {
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
