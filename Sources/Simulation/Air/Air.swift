import BluetoothCrypto
import Capture
import Packets
import Timing

/// The medium: who transmits, who listens, and what each listener makes of it.
final class Air {
    let loop: RunLoop
    private let seed: UInt64
    let propagation: PropagationModel
    /// Where every transmission is logged.
    var log: AirLogSink?
    /// Who is told the key of each session of an encrypted link.
    var keyLog: ((_ accessAddress: UInt32, _ longTermKey: UInt128) -> Void)?
    /// Who sees every transmission of LE.
    var observer: ((AirObservation) -> Void)?
    /// Who sees every packet of BR/EDR that has a header.
    var basebandObserver: ((BasebandObservation) -> Void)?
    /// How long answers within connection events will be.
    var replyForecasts = ReplyForecasts()
    /// Transmissions so far.
    private(set) var transmissions = 0

    /// How much stronger a packet must be to survive another on its channel, in dB.
    static let captureRatio = 10

    private var radios = 0
    /// The radios that listen, by the centre frequency of their channel.
    private var tuned: [[Radio]] = Array(repeating: [], count: RadioChannel.frequencies)
    private var active: [Transmission] = []

    init(loop: RunLoop, seed: UInt64) {
        self.loop = loop
        self.seed = seed
        propagation = PropagationModel(seed: seed)
    }

    /// The secrets of one device or link.
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
        // The sender may use the transmission again at once.
        guard let packet = transmission.takePacket() else { return }
        let (start, end) = (transmission.start, transmission.end)
        var listeners: [Transmission.Listener] = []
        swap(&listeners, &transmission.listeners)
        transmission.source.sent()
        for listener in listeners { listener.radio.deliver(packet, from: start, to: end, rssi: listener.rssi, isIntact: listener.isIntact) }
        // The array goes back, so that its memory is used again.
        listeners.removeLast(listeners.count)
        swap(&listeners, &transmission.listeners)
    }

    /// A transmission cut off by its own radio: what was heard of it is a bad packet.
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

    /// Spoils, at each receiver, the packets on the air that a new one on the same channel drowns.
    private func collide(_ transmission: Transmission) {
        for other in active where other.overlaps(transmission) {
            for index in other.listeners.indices {
                let listener = other.listeners[index]
                let interference = propagation.rssi(of: transmission, at: listener.radio)
                if Int(listener.rssi) - Int(interference) < Self.captureRatio { other.listeners[index].isIntact = false }
            }
        }
    }

    /// What `radio` makes of a packet it is tuned to; nil when it does not notice it.
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
