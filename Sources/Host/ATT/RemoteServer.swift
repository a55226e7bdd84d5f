import BBPackets
import BBTiming

/// State of the client role that all bearers to one server share.
final class RemoteServer {
    /// Listeners by characteristic value handle.
    private var handles: [UInt16: Listeners<AttributeValueHandler>] = [:]
    /// Called for values without a listener of their own.
    let otherValues = Listeners<AttributeValueHandler>()
    private let loop: RunLoop
    private var isWriting = false
    private var waiting: [Promise<Void>] = []

    init(on loop: RunLoop) { self.loop = loop }

    // MARK: Values

    func listeners(of handle: UInt16) -> Listeners<AttributeValueHandler> {
        if let listeners = handles[handle] { return listeners }
        let listeners = Listeners<AttributeValueHandler>()
        handles[handle] = listeners
        return listeners
    }

    func deliver(_ kind: AttributeValueKind, _ handle: UInt16, _ value: RawSpan) {
        if let listeners = handles[handle], !listeners.isEmpty {
            listeners.tell { $0(kind, handle, value) }
        } else {
            otherValues.tell { $0(kind, handle, value) }
        }
    }

    func removeListeners() {
        handles.removeAll()
        otherValues.removeAll()
    }

    // MARK: Database Out Of Sync

    /// The server has answered Database Out Of Sync since its hash was read last.
    private(set) var isOutOfSync = false
    private var awaitingAnswer: [Promise<Void>] = []

    func foundOutOfSync() { isOutOfSync = true }
    func hashRead() { isOutOfSync = false }

    /// A request on one of the bearers has ended.
    func answered() {
        guard !awaitingAnswer.isEmpty else { return }
        let waiting = awaitingAnswer
        awaitingAnswer.removeAll()
        for promise in waiting { promise.fulfil(()) }
    }

    /// Waits until a request on one of the bearers ends.
    func nextAnswer() async throws {
        let promise = Promise<Void>(on: loop)
        awaitingAnswer.append(promise)
        try await promise.value()
    }

    // MARK: Queued writes

    /// Runs a procedure of queued writes when no other one is under way. The server has one queue for a client, whatever the number of
    /// bearers. Core Vol 3, Part F, 3.4.6.
    func queueWrites(_ body: () async throws -> Void) async throws {
        while isWriting {
            let turn = Promise<Void>(on: loop)
            waiting.append(turn)
            try await turn.value()
        }
        isWriting = true
        defer {
            isWriting = false
            let turns = waiting
            waiting.removeAll()
            for turn in turns { turn.fulfil(()) }
        }
        try await body()
    }
}
