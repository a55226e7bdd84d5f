import BBBluetoothCrypto
import BBCapture
import BBPackets
import BBTiming
import BBTraffic

/// The shared radio medium. Delivers each transmission to the radios tuned to its channel, with RSSI, loss and collisions.
final class Air {
    let loop: RunLoop
    private let seed: UInt64
    let propagation: PropagationModel
    /// Sink that logs every transmission.
    var log: AirLogSink?
    /// Called with the long term key of each encryption session of an LE link.
    var keyLog: ((_ accessAddress: UInt32, _ longTermKey: UInt128) -> Void)?
    /// Called at the start of every LE transmission.
    var observer: ((AirObservation) -> Void)?
    /// Called for every BR/EDR packet that has a header.
    var basebandObserver: ((BasebandObservation) -> Void)?
    /// Durations of the next replies within connection events.
    var replyForecasts = ReplyForecasts()
    /// Number of transmissions so far.
    private(set) var transmissions = 0
    /// Number of a transmission that no radio detects.
    var lostTransmission: Int?

    /// Minimum signal-to-interference ratio, in dB, at which a packet survives an overlapping packet on its channel.
    static let captureRatio = 10

    private var radios = 0
    /// Listening radios, indexed by the centre frequency of their channel.
    private var tuned: [[Radio]] = Array(repeating: [], count: RadioChannel.frequencies)
    private var active: [Transmission] = []

    init(loop: RunLoop, seed: UInt64) {
        self.loop = loop
        self.seed = seed
        propagation = PropagationModel(seed: seed)
    }

    /// Source of secrets for one device or link.
    func secrets(of owner: String) -> SecretSource { SecretSource(seed: seed, label: "secrets of \(owner)", on: loop) }

    func makeRadio() -> Radio {
        radios += 1
        return Radio(air: self, identifier: radios - 1)
    }

    // MARK: Listening

    func tune(_ radio: Radio, to frequency: Int) { tuned[frequency].append(radio) }

    func untune(_ radio: Radio, from frequency: Int) {
        guard let position = tuned[frequency].firstIndex(where: { $0 === radio }) else { return }
        tuned[frequency].remove(at: position)
    }

    // MARK: Transmitting

    func begin(_ transmission: Transmission) {
        transmissions &+= 1
        if log != nil || observer != nil || basebandObserver != nil { show(transmission) }
        if transmissions == lostTransmission { return active.append(transmission) }
        let frequency = transmission.frequency
        if !active.isEmpty { collide(transmission) }
        var index = 0
        while index < tuned[frequency].count {
            let radio = tuned[frequency][index]
            guard radio !== transmission.source, radio.follows(transmission), let listener = listener(radio, to: transmission) else {
                index += 1
                continue
            }
            transmission.listeners.append(listener)
            radio.lock(on: transmission)
        }
        active.append(transmission)
    }

    private func show(_ transmission: Transmission) {
        switch transmission.packet {
        case .le(let packet):
            let frame = AirFrame(packet)
            log?(.le(frame), transmission.start)
            let sender = ControllerID(rawValue: transmission.source.identifier)
            observer?(AirObservation(sender: sender, start: transmission.start, frame: frame, plain: packet.plain))
        case .bredr(let packet):
            log?(.bredr(BasebandFrame(packet)), transmission.start)
            guard let basebandObserver, let type = packet.type else { return }
            let sender = ControllerID(rawValue: transmission.source.identifier)
            basebandObserver(BasebandObservation(packet, type, from: sender, at: transmission.start))
        case nil: break
        }
    }

    func finish(_ transmission: Transmission) {
        remove(transmission)
        // `transmitted(at:)` may reuse the transmission object, so its content is taken out first.
        guard let packet = transmission.takePacket() else { return }
        let (start, end) = (transmission.start, transmission.end)
        var listeners: [Transmission.Listener] = []
        swap(&listeners, &transmission.listeners)
        transmission.source.sent()
        for listener in listeners { listener.radio.deliver(packet, from: start, to: end, rssi: listener.rssi, isIntact: listener.isIntact) }
        // Return the array to the transmission to reuse its storage.
        listeners.removeLast(listeners.count)
        swap(&listeners, &transmission.listeners)
    }

    /// Ends a transmission that its own radio cut off: receivers get a packet with a bad CRC.
    func abandon(_ transmission: Transmission) {
        for index in transmission.listeners.indices { transmission.listeners[index].isIntact = false }
        remove(transmission)
        guard let packet = transmission.takePacket() else { return }
        let listeners = transmission.listeners
        transmission.listeners.removeAll(keepingCapacity: true)
        for listener in listeners {
            listener.radio.deliver(packet, from: transmission.start, to: loop.now, rssi: 0, isIntact: false)
        }
    }

    private func remove(_ transmission: Transmission) {
        guard let index = active.firstIndex(where: { $0 === transmission }) else { return }
        active.remove(at: index)
    }

    /// Marks packets on the air as corrupted at each receiver where a new transmission on the same channel interferes too strongly.
    private func collide(_ transmission: Transmission) {
        for other in active where other.overlaps(transmission) {
            for index in other.listeners.indices {
                let listener = other.listeners[index]
                let interference = propagation.rssi(of: transmission, at: listener.radio)
                if Int(listener.rssi) - Int(interference) < Self.captureRatio { other.listeners[index].isIntact = false }
            }
        }
    }

    /// The reception of a packet by a radio tuned to it; nil if the radio does not detect it.
    private func listener(_ radio: Radio, to transmission: Transmission) -> Transmission.Listener? {
        let rssi = propagation.rssi(of: transmission, at: radio)
        var isIntact = radio.recovers(transmission)
        for other in active where other.overlaps(transmission) {
            if Int(rssi) - Int(propagation.rssi(of: other, at: radio)) < Self.captureRatio { isIntact = false }
        }
        switch propagation.outcome(of: transmission, at: radio, rssi: rssi) {
        case .received: break
        case .corrupted: isIntact = false
        case .unnoticed: return nil
        }
        return Transmission.Listener(radio: radio, rssi: rssi, isIntact: isIntact)
    }
}
