import BBBluetoothCrypto
import BBPackets
import BBTiming

/// Legacy (PIN) pairing on the initiating side: initialization key, then combination key. Core Vol 2, Part C, 4.2.2.
struct LocalLegacyPairing: LMPProcedure {
    private enum State {
        case awaitingPIN
        case awaitingAcceptance
        case awaitingKey
    }

    private let transaction: LMPTransaction
    private var state = State.awaitingPIN
    private var initialization: [UInt8] = []
    private var own: [UInt8] = []
    let kind = LinkManagement.Kind.pairing

    init(_ transaction: LMPTransaction) { self.transaction = transaction }

    var isAwaitingPeer: Bool { state != .awaitingPIN }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch (event, state) {
        case (.start, .awaitingPIN): return [.report(.pinRequested)]
        case (.hostReplied(.noPIN), .awaitingPIN): return end(.pinOrKeyMissing)
        case (.hostReplied(.pin(let pin)), .awaitingPIN):
            var secrets = link.stream
            let rand = secrets.octets(16)
            own = secrets.octets(16)
            guard let key = initializationKey(rand, pin, link.peer) else { return end(.pinOrKeyMissing) }
            initialization = key
            state = .awaitingAcceptance
            return [.change(.streamTaken), .send(LMP.InRand(randomNumber: rand), transaction)]
        case (.message(let message), .awaitingAcceptance) where message.accepts(LMP.InRand.self):
            state = .awaitingKey
            return [.send(LMP.CombKey(randomNumber: own ^ initialization), transaction)]
        case (.message(let message), .awaitingKey):
            guard case .combKey(let pdu) = message.pdu else { return nil }
            let key = link.combinationKey(own, pdu.randomNumber ^ initialization)
            return [.change(.linkKey(key)), .continueWith(LocalAuthentication(.paired(.combination), transaction))]
        case (.refused(let refusal), _) where refusal.concerns(LMP.InRand.self) || refusal.concerns(LMP.CombKey.self):
            return end(refusal.reason)
        default: return nil
        }
    }

    private func end(_ status: ErrorCode) -> [LMPAction] { [.report(.authenticated(status)), .finish] }
}

/// Legacy pairing initiated by the peer.
struct RemoteLegacyPairing: LMPProcedure {
    private enum State {
        case awaitingRequest
        case awaitingPIN
        case awaitingKey
    }

    private var transaction = LMPTransaction.central
    private var state = State.awaitingRequest
    private var rand: [UInt8] = []
    private var initialization: [UInt8] = []
    let kind = LinkManagement.Kind.pairing

    var isAwaitingPeer: Bool { state != .awaitingPIN }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch (event, state) {
        case (.message(let message), .awaitingRequest):
            guard case .inRand(let pdu) = message.pdu else { return nil }
            transaction = message.transaction
            rand = pdu.randomNumber
            state = .awaitingPIN
            return [.report(.pinRequested)]
        // Core Vol 2, Part C, 4.2.2.3.
        case (.hostReplied(.noPIN), .awaitingPIN): return [.reject(LMP.InRand.self, .pairingNotAllowed, transaction), .finish]
        case (.hostReplied(.pin(let pin)), .awaitingPIN):
            guard let key = initializationKey(rand, pin, link.own) else {
                return [.reject(LMP.InRand.self, .pairingNotAllowed, transaction), .finish]
            }
            initialization = key
            state = .awaitingKey
            return [.accept(LMP.InRand.self, transaction)]
        case (.message(let message), .awaitingKey):
            guard case .combKey(let pdu) = message.pdu else { return nil }
            var secrets = link.stream
            let own = secrets.octets(16)
            let key = link.combinationKey(own, pdu.randomNumber ^ initialization)
            return [
                .change(.streamTaken), .send(LMP.CombKey(randomNumber: own ^ initialization), transaction), .change(.linkKey(key)),
                .continueWith(RemoteAuthentication(.paired(.combination))),
            ]
        default: return nil
        }
    }
}

/// K_init from E22, with the address of the device that received LMP_in_rand. Core Vol 2, Part H, 3.2.1.
private func initializationKey(_ rand: [UInt8], _ pin: [UInt8], _ address: BDADDR) -> [UInt8]? {
    AuthenticationFunctions.e22(rand: UInt128(littleEndianOctets: rand), pin: pin, address: address)?.littleEndianOctets
}

extension ACLLinkState {
    /// K_AB from E21 and the random numbers of both devices. Core Vol 2, Part H, 3.2.4.
    func combinationKey(_ own: [UInt8], _ theirs: [UInt8]) -> [UInt8] {
        let part = AuthenticationFunctions.e21(rand: UInt128(littleEndianOctets: own), address: self.own)
        return (part ^ AuthenticationFunctions.e21(rand: UInt128(littleEndianOctets: theirs), address: peer)).littleEndianOctets
    }
}

func ^ (one: [UInt8], other: [UInt8]) -> [UInt8] { zip(one, other).map { $0 ^ $1 } }
