import BBPackets

/// Connection setup on the paging side: LMP_host_connection_req, then LMP_setup_complete. Core Vol 2, Part C, 4.1.1.
struct LocalConnectionSetup: LMPProcedure {
    private enum State {
        case awaitingAnswer
        case awaitingSetupComplete
    }

    private var state = State.awaitingAnswer
    let kind = LinkManagement.Kind.setup
    let isAwaitingPeer = true

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch (event, state) {
        case (.start, .awaitingAnswer): return [.send(LMP.HostConnectionReq(), link.ownTransaction)]
        case (.message(let message), .awaitingAnswer) where message.accepts(LMP.HostConnectionReq.self):
            state = .awaitingSetupComplete
            return [.send(LMP.SetupComplete(), link.ownTransaction), .change(.setupCompleteSent)]
        case (.refused(let refusal), .awaitingAnswer) where refusal.concerns(LMP.HostConnectionReq.self):
            return [.report(.connected(refusal.reason)), .continueWith(LocalDetach(refusal.reason))]
        case (.message(let message), .awaitingSetupComplete):
            guard case .setupComplete = message.pdu else { return nil }
            return [.change(.setupCompleteReceived), .finish]
        default: return nil
        }
    }
}

/// Connection setup on the paged side: its host accepts or rejects, possibly after a role switch. Core Vol 2, Part C, 4.1.1.
struct RemoteConnectionSetup: LMPProcedure {
    private enum State {
        case awaitingRequest
        case awaitingHost
        /// Waiting for the role switch that precedes acceptance.
        case awaitingRoles
        case awaitingSetupComplete
    }

    private var state = State.awaitingRequest
    /// Transaction ID of the request, kept for the response even after a role switch.
    private var transaction = LMPTransaction.central
    let kind = LinkManagement.Kind.setup

    var isAwaitingPeer: Bool {
        switch state {
        case .awaitingRequest, .awaitingSetupComplete: true
        case .awaitingHost, .awaitingRoles: false
        }
    }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch (event, state) {
        case (.message(let message), .awaitingRequest):
            transaction = message.transaction
            state = .awaitingHost
            return [.report(.connectionRequested)]
        case (.hostReplied(.acceptsConnection(let asCentral)), .awaitingHost):
            guard asCentral, link.role == .peripheral, link.bothSupport(.roleSwitch) else { return accept(link) }
            state = .awaitingRoles
            return [.report(.switchWanted)]
        case (.hostReplied(.refusesConnection(let reason)), .awaitingHost):
            return [.reject(LMP.HostConnectionReq.self, reason, transaction), .report(.connected(reason)), .finish]
        case (.hostReplied(.rolesSettled), .awaitingRoles): return accept(link)
        case (.message(let message), .awaitingSetupComplete):
            guard case .setupComplete = message.pdu else { return nil }
            return [.change(.setupCompleteReceived), .finish]
        default: return nil
        }
    }

    private mutating func accept(_ link: ACLLinkState) -> [LMPAction] {
        state = .awaitingSetupComplete
        return [
            .accept(LMP.HostConnectionReq.self, transaction), .send(LMP.SetupComplete(), link.ownTransaction), .change(.setupCompleteSent),
        ]
    }
}
