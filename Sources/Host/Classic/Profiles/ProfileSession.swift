import BBPackets
import BBTiming

/// Runs `ClassicProfiles` on the channels and serial ports of one BR/EDR connection.
public final class ProfileSession {
    /// Called for each step.
    public let steps = Listeners<(ProfileStep) -> Void>()
    /// Number of media packets dropped because the link had no space.
    public private(set) var mediaDropped = 0
    var core: ClassicProfiles
    private(set) weak var connection: ClassicConnection?
    let loop: RunLoop
    /// The current or last audio connection of HFP.
    var audio: SynchronousConnection?
    /// Voice sent and received on it.
    public internal(set) var voice: HFPVoice?
    private var channels: [Int: ClassicDataChannel] = [:]
    private var ports: [Int: SerialPort] = [:]
    private var lastNumber = 0
    private var media: Int?
    private var timer: Timer?
    /// Pending requests for channels and records.
    private var work: [Activity<Void>] = []
    private var failures: [ProfileStep] = []
    private var finished: Promise<Void>?
    private(set) var isOver = false

    init(_ core: ClassicProfiles, on connection: ClassicConnection) {
        self.core = core
        self.connection = connection
        loop = connection.host.loop
    }

    /// True while media is streaming.
    public var isStreaming: Bool { core.isStreaming }
    public var role: ClassicProfiles.Role { core.role }
    /// Number of media packets sent or received by this device.
    public var mediaSent: Int { core.source?.packetCount ?? 0 }
    public var sink: A2DPSink? { core.sink }
    /// Coding of the stream, once configured.
    public var coding: SBCParameters? { core.source?.parameters ?? core.sink?.parameters }

    /// Sets up profiles of the peer and waits until all are complete or have failed.
    ///
    /// - Returns: the steps of profiles that have failed or that the peer lacks.
    /// - Throws: the error of the connection; `HostError.misuse(.busy(.profiles))`.
    @discardableResult
    public func connect(_ profiles: [ClassicProfile]) async throws -> [ProfileStep] {
        guard !isOver else { throw HostError.misuse(.notConnected) }
        guard finished == nil else { throw HostError.misuse(.busy(.profiles)) }
        guard !profiles.isEmpty else { return [] }
        let promise = Promise<Void>(on: loop)
        finished = promise
        failures = []
        perform(core.connect(profiles))
        try await promise.value()
        return failures
    }

    /// Suspends or restarts the stream, as a phone does. AVDTP 1.3, 6.9.
    public func setStreaming(_ isStreaming: Bool) { perform(core.setStreaming(isStreaming, at: loop.now)) }

    /// Presses and releases a key of the peer. AVRCP 1.6, 6.
    public func press(_ key: AVRCPKey) { perform(core.press(key, at: loop.now)) }

    // MARK: Events

    /// The peer has opened a channel.
    func accept(_ channel: ClassicDataChannel) {
        guard let purpose = core.purpose(ofPSM: channel.terms.psm) else { return channel.disconnect() }
        let number = add(channel)
        perform(core.channelAccepted(number, purpose, mtu: Int(channel.terms.sendMTU), at: loop.now))
        take(from: channel, number)
    }

    func accept(_ port: SerialPort) {
        let number = add(port)
        perform(core.channelAccepted(number, .serial, mtu: SerialMultiplexer.mostQueued, at: loop.now))
        take(from: port, number)
    }

    private func add(_ channel: ClassicDataChannel) -> Int {
        lastNumber += 1
        channels[lastNumber] = channel
        return lastNumber
    }

    private func add(_ port: SerialPort) -> Int {
        lastNumber += 1
        ports[lastNumber] = port
        return lastNumber
    }

    /// Starts reception on a channel, with buffered data first.
    private func take(from channel: ClassicDataChannel, _ number: Int) {
        guard channel.failure == nil else { return gone(number) }
        channel.onEnd = { [unowned self] _ in gone(number) }
        channel.onReceive = { [unowned self] in perform(core.receive(number, $0, at: loop.now)) }
    }

    private func take(from port: SerialPort, _ number: Int) {
        guard port.isOpen else { return gone(number) }
        port.onEnd = { [unowned self] _ in gone(number) }
        port.onReceive = { [unowned self] in perform(core.receive(number, $0, at: loop.now)) }
    }

    private func gone(_ number: Int) {
        channels[number] = nil
        ports[number] = nil
        perform(core.channelClosed(number, at: loop.now))
    }

    /// The connection has ended, and all channels with it.
    func ended(_ error: HostError) {
        isOver = true
        watch()
        for activity in work { activity.cancel() }
        work = []
        finished?.fail(error)
        finished = nil
    }

    // MARK: Actions

    func perform(_ actions: [ProfileAction]) {
        for action in actions {
            switch action {
            case .discover: begin { [self] in try await discover() }
            case .open(let purpose): begin { [self] in try await open(purpose) }
            case .send(let number, let octets): send(octets, to: number)
            case .close(let number):
                channels[number]?.disconnect()
                ports[number]?.close()
            case .openAudio(let settings): begin { [self] in try await openAudio(settings) }
            case .sendVoice(let octets): audio?.send(octets)
            case .closeAudio: begin { [self] in try await audio?.disconnect() }
            case .step(let step): tell(step)
            }
        }
        watch()
    }

    func begin(_ body: @escaping () async throws -> Void) {
        guard !isOver else { return }
        work.removeAll(where: \.isOver)
        work.append(loop.start(body))
    }

    /// Sends data. Media packets are dropped if the link has no space, since they would be late; other data is limited by its protocol.
    private func send(_ octets: [UInt8], to number: Int) {
        if let port = ports[number] {
            port.trySend(octets)
        } else if let channel = channels[number] {
            if !core.isMedia(number) { return channel.transmit(octets) }
            if !channel.trySend(octets) { mediaDropped += 1 }
        }
    }

    private func tell(_ step: ProfileStep) {
        steps.tell { $0(step) }
        switch step {
        case .failed, .missing: failures.append(step)
        case .finished:
            finished?.fulfil(())
            finished = nil
        case .found, .configured, .mediaOpen, .streaming, .suspended, .streamEnded, .serviceLevelConnection, .codec, .audio, .audioRefused,
            .audioEnded, .remoteControl, .changed, .volume, .key:
            break
        }
    }

    private func discover() async throws {
        let outcome: [ProfileAction]
        do {
            guard let connection else { throw HostError.misuse(.notConnected) }
            outcome = core.discovered(try await connection.services())
        } catch let error as HostError {
            outcome = core.discoveryFailed("\(error)")
        }
        perform(outcome)
    }

    private func open(_ purpose: ProfileChannel) async throws {
        do {
            guard let connection else { throw HostError.misuse(.notConnected) }
            if let psm = purpose.psm {
                let channel = try await connection.openChannel(psm)
                let number = add(channel)
                perform(core.channelOpened(number, purpose, mtu: Int(channel.terms.sendMTU), at: loop.now))
                take(from: channel, number)
            } else {
                let port = try await connection.openSerialPort(channel: core.peerServerChannel)
                let number = add(port)
                perform(core.channelOpened(number, purpose, mtu: SerialMultiplexer.mostQueued, at: loop.now))
                take(from: port, number)
            }
        } catch let error as HostError {
            perform(core.channelFailed(purpose, "\(error)", at: loop.now))
        }
    }

    private func watch() {
        timer.map(loop.cancel)
        timer = nil
        guard !isOver else { return }
        timer = core.deadline.map {
            loop.schedule(at: $0) { [weak self] in
                guard let self else { return }
                timer = nil
                perform(core.expire(at: loop.now))
            }
        }
    }
}
