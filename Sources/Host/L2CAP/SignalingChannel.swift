import BBPackets
import BBTiming

/// The LE signalling channel of a connection. Core Vol 3, Part A, 4.
final class SignalingChannel: CreditBasedLink {
    /// The longest response time-out (RTX). Core Vol 3, Part A, 6.2.1.
    static let responseTimeOut = Microseconds.seconds(30)

    private let channel: L2CAPChannel
    private let loop: RunLoop
    /// Decides about parameters that the peripheral requests.
    var grants: (ConnectionParameterRequest) -> Bool = { $0.isLegal }
    /// Applies accepted parameters after the response has been sent.
    var apply: (ConnectionParameterRequest) -> Void = { _ in }
    unowned var channels: CreditBasedChannels?
    private var machine = LESignaling()
    private var timer: Timer?
    private var parameterResponse: Promise<Bool>?

    init(on channel: L2CAPChannel, isCentral: Bool, loop: RunLoop) {
        self.channel = channel
        self.loop = loop
        channel.user = { [unowned self] in perform(machine.received($0.octets, asCentral: isCentral, at: loop.now)) }
    }

    func requestParameters(_ request: ConnectionParameterRequest) async throws {
        if let failure = channel.failure { throw failure }
        guard parameterResponse == nil else { throw HostError.misuse(.busy(.parameterRequest)) }
        let promise = Promise<Bool>(on: loop)
        parameterResponse = promise
        defer { if parameterResponse === promise { parameterResponse = nil } }
        perform(machine.requestParameters(request))
        do {
            guard try await promise.value(until: loop.now + Self.responseTimeOut) else { throw HostError.peer(.parametersRejected) }
        } catch is TimeOut {
            throw HostError.peer(.timedOut(.parameterUpdateResponse))
        }
    }

    func withChannels(_ body: (inout CreditBasedSignaling) -> [CreditBasedSignaling.Action]) { perform(machine.withChannels(body)) }

    var channelCount: Int { machine.channels.endpoints.count }

    private func perform(_ actions: [LESignaling.Action]) {
        for action in actions {
            switch action {
            case .send(let pdu): channel.transmit(pdu)
            case .parametersAnswered(let accepted):
                let answered = parameterResponse
                parameterResponse = nil
                answered?.fulfil(accepted)
            case .decideParameters(let identifier, let request):
                let isGranted = grants(request)
                perform(machine.decide(identifier: identifier, accepted: isGranted))
                if isGranted { apply(request) }
            case .channel(.requested(let identifier, let spsm, let count)):
                let kind = machine.channels.kind(of: identifier)
                let decision = channels?.decide(spsm, kind, count: count) ?? .refuse(.refusedSPSMNotSupported)
                withChannels { $0.decide(identifier, decision) }
            case .channel(let event): channels?.happened(event)
            }
        }
        watch()
    }

    private func watch() {
        timer.map(loop.cancel)
        timer = machine.channels.deadline.map {
            loop.schedule(at: $0) { [weak self] in
                guard let self else { return }
                timer = nil
                withChannels { [loop] in $0.expire(at: loop.now) }
            }
        }
    }

    func ended(_ error: HostError) {
        timer.map(loop.cancel)
        timer = nil
        parameterResponse?.fail(error)
    }
}
