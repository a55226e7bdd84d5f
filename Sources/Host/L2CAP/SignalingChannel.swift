import Packets
import Timing

/// What goes on on the LE signalling channel of one connection. Core Vol 3, Part A, 4.
final class SignalingChannel {
    /// The longest response time-out (RTX). Core Vol 3, Part A, 6.2.1.
    static let responseTimeOut = Microseconds.seconds(30)

    private let channel: L2CAPChannel
    private let loop: RunLoop
    /// Decides about parameters that a peripheral asks for.
    var grants: (ConnectionParameterRequest) -> Bool = { $0.isLegal }
    /// Puts granted parameters into force, after the answer has gone.
    var apply: (ConnectionParameterRequest) -> Void = { _ in }
    private var machine = LESignaling()
    private var parameterResponse: Promise<Bool>?

    init(on channel: L2CAPChannel, isCentral: Bool, loop: RunLoop) {
        self.channel = channel
        self.loop = loop
        channel.user = { [unowned self] in perform(machine.received($0.octets, asCentral: isCentral)) }
    }

    func requestParameters(_ request: ConnectionParameterRequest) async throws {
        if let failure = channel.failure { throw failure }
        guard parameterResponse == nil else { throw HostError.misuse(.busy(.parameterRequest)) }
        let promise = Promise<Bool>(on: loop)
        parameterResponse = promise
        defer { parameterResponse = nil }
        perform(machine.requestParameters(request))
        do {
            guard try await promise.value(until: loop.now + Self.responseTimeOut) else { throw HostError.peer(.parametersRejected) }
        } catch is TimeOut {
            throw HostError.peer(.timedOut(.parameterUpdateResponse))
        }
    }

    private func perform(_ actions: [LESignaling.Action]) {
        for action in actions {
            switch action {
            case .send(let pdu): channel.transmit(pdu)
            case .parametersAnswered(let accepted): parameterResponse?.fulfil(accepted)
            case .decideParameters(let identifier, let request):
                let isGranted = grants(request)
                perform(machine.decide(identifier: identifier, accepted: isGranted))
                if isGranted { apply(request) }
            }
        }
    }

    func ended(_ error: HostError) { parameterResponse?.fail(error) }
}
