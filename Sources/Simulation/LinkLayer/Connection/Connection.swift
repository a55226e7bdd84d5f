import Packets
import Timing

/// One end of a link: its events, its data, and the procedures of link layer control. Core Vol 6, Part B, 4.5 and 5.1.
///
/// Events are in `Connection+Events`, `+Central` and `+Peripheral`, procedures in `LinkLayer/Control`.
final class Connection: RadioActivity {
    enum Phase {
        /// Between events.
        case idle
        case transmitting
        case listening
        /// For good.
        case closed
    }

    /// What is only true within one event.
    struct Event {
        var channel: ChannelIndex = 0
        var exchanges = 0
        var extraExchanges = 0
        var consecutiveErrors = 0
        var heardSomething = false
        var heardIntact = false
        var ownMoreData = false
        /// Of the last packet heard; taken as set when that was corrupt.
        var peerMoreData = false
        /// The next anchor point of this link.
        var nextAnchor: Microseconds = .never
    }

    let parameters: ConnectionParameters
    let configuration: ControllerConfiguration
    let defaults: LinkDefaults
    let air: Air
    let radio: Radio
    let rewriter: PacketRewriter
    weak var delegate: (any ConnectionDelegate)?
    /// The other end, where it is simulated on the same air.
    weak var peer: Connection?

    var interval: Microseconds { clock.interval }
    var peripheralLatency: Int
    var supervisionTimeout: Microseconds
    var channelMap: ChannelMap
    var transmitPHY: PHY
    var receivePHY: PHY
    /// The effective values.
    var dataLength = DataLength()
    var lengths = EffectiveDataLength()
    /// Of the last packet heard, in dBm; 127 before the first.
    var rssi: Int8 = 127
    /// Set by LE_Set_PHY's options: S2 (true), S8 (false), or the controller's choice.
    var prefersS2: Bool?
    /// LE_Set_PHY's masks, at first LE_Set_Default_PHY's; empty is no preference.
    var preferredTxPHYs: PHYs
    var preferredRxPHYs: PHYs
    /// Whether PDUs carry a MIC.
    var isEncrypted = false
    var statistics = LinkStatistics()

    var clock: AnchorClock
    let hop: ChannelSelection
    var phase = Phase.idle
    var event = Event()
    /// The counter of the event under way, or of the last one; -1 before the first. Its low 16 bits are connEventCounter.
    var eventCounter = -1
    var nextEvent = 0
    var missedEvents = 0
    var isEstablished = false
    /// How long the transmit window still is, until an anchor has been heard in it.
    var transmitWindow: Microseconds
    var lastAnchor: Microseconds
    var lastHeard: Microseconds

    var queue = TransmitQueue()
    var acknowledgement = Acknowledgement()
    var outstanding: OutgoingPDU?
    var outstandingWasSent = false

    private(set) var control: LinkControl!
    var eventTimer: AirTimer!
    var supervisionTimer: AirTimer!

    /// Makes the link, which runs from then on. Both ends are made at the end of CONNECT_IND (or of AUX_CONNECT_RSP).
    init(
        _ parameters: ConnectionParameters, configuration: ControllerConfiguration, defaults: LinkDefaults, radio: Radio,
        rewriter: PacketRewriter? = nil, delegate: any ConnectionDelegate
    ) {
        self.parameters = parameters
        self.configuration = configuration
        self.defaults = defaults
        self.radio = radio
        self.rewriter = rewriter ?? PacketRewriter(configuration.quirks.rewrites)
        self.delegate = delegate
        air = radio.air
        peripheralLatency = parameters.peripheralLatency
        supervisionTimeout = parameters.supervisionTimeout
        channelMap = parameters.channelMap
        transmitPHY = parameters.phy
        receivePHY = parameters.phy
        preferredTxPHYs = defaults.txPHYs
        preferredRxPHYs = defaults.rxPHYs
        transmitWindow = parameters.transmitWindowSize
        clock = AnchorClock(
            first: parameters.transmitWindowStart, interval: parameters.interval, drift: configuration.clockDrift)
        lastAnchor = radio.air.loop.now
        lastHeard = radio.air.loop.now
        hop =
            parameters.usesAlgorithm2
            ? .algorithm2(ChannelSelectionAlgorithm2(accessAddress: parameters.accessAddress))
            : .algorithm1(ChannelSelectionAlgorithm1(hopIncrement: parameters.hopIncrement))
        control = LinkControl(self)
        eventTimer = AirTimer(on: air.loop) { [unowned self] in beginEvent() }
        supervisionTimer = AirTimer(on: air.loop) { [unowned self] in superviseAgain() }
        lengths = initialLengths()
        dataLength = lengths.effective(interval: interval, transmitPHY: transmitPHY, receivePHY: receivePHY)
        air.attach(self)
        schedule(event: 0)
        startSupervision()
        control.linkStarted()
    }

    var handle: ConnectionHandle { parameters.handle }
    var role: ConnectionParameters.Role { parameters.role }
    var isClosed: Bool { phase == .closed }
    var priority: Int { RadioPriority.connection + min(missedEvents, 1_000) }

    /// Queues the data of one HCI ACL packet.
    ///
    /// - Parameter isStart: false where it continues an L2CAP PDU.
    func send(_ data: ArraySlice<UInt8>, isStart: Bool) {
        guard !isClosed else { return }
        guard !data.isEmpty else {
            delegate?.connection(self, completed: 1)
            return
        }
        queue.append(data, isStart: isStart)
        wake()
    }

    /// Queues a control PDU.
    func send(control pdu: [UInt8]) {
        guard !isClosed else { return }
        queue.append(control: pdu)
        wake()
    }

    /// Ends the link without a word on the air, as a reset does; the delegate hears nothing.
    func abandon() {
        delegate = nil
        close(.success)
    }

    /// Ends the link and tells the delegate.
    func close(_ reason: ErrorCode) {
        guard !isClosed else { return }
        phase = .closed
        eventTimer.cancel()
        supervisionTimer.cancel()
        control.linkEnded()
        queue.removeAll()
        outstanding = nil
        radio.forget(self)
        air.detach(self)
        delegate?.connection(self, disconnected: reason)
    }

    private func initialLengths() -> EffectiveDataLength {
        var lengths = EffectiveDataLength()
        let coded = configuration.features.contains(.leCodedPHY)
        if configuration.features.contains(.leDataPacketLengthExtension) {
            lengths.local = DataLength(
                maxTxOctets: min(defaults.suggestedTxOctets, configuration.maxOctets),
                maxTxTime: defaults.suggestedTxTime,
                maxRxOctets: configuration.maxOctets,
                maxRxTime: coded ? 17_040 : UInt16(clamping: (Int(configuration.maxOctets) + 14) * 8))
        }
        if parameters.phy == .leCoded {
            lengths.remote.maxTxTime = 2704
            lengths.remote.maxRxTime = 2704
            lengths.local.maxTxTime = max(lengths.local.maxTxTime, 2704)
            lengths.local.maxRxTime = max(lengths.local.maxRxTime, 2704)
        }
        return lengths
    }
}
