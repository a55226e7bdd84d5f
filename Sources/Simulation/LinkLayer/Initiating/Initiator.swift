import BBPackets
import BBTiming

/// Peer and parameters of a connection attempt. Core Vol 4, Part E, 7.8.12 and 7.8.66.
struct InitiatorSettings {
    /// Connection parameters requested if the advertiser is found on a PHY.
    struct LinkRequest: Equatable {
        /// N x 1.25 ms.
        var interval: UInt16
        /// In connection events.
        var latency: UInt16
        /// N x 10 ms.
        var timeout: UInt16
    }

    var windows: [ScanWindows]
    /// Parameters by the PHY on which the connection is requested.
    var links: [PHY: LinkRequest]
    var ownAddress: DeviceAddress
    var own = OwnAddress()
    /// Nil to connect to any device in the filter accept list.
    var peer: DeviceAddress?
    var isExtended = false
    var channelMap = ChannelMap.all.bits
    var supportsAlgorithm2 = true
    /// Code of the local sleep clock accuracy (SCA).
    var clockAccuracy: UInt8 = 0
}

protocol InitiatorDelegate: AnyObject {
    /// True if the advertiser is the requested peer, or is in the filter accept list if that is used.
    func initiator(_ initiator: Initiator, accepts address: DeviceAddress) -> Bool
    /// True if the target address of directed advertising belongs to this device.
    func initiator(_ initiator: Initiator, isOwn address: DeviceAddress, calledBy advertiser: DeviceAddress?) -> Bool
    /// Own address towards an advertiser.
    func initiator(_ initiator: Initiator, addressFor advertiser: DeviceAddress) -> DeviceAddress
    /// True if two addresses belong to the same device: a private address may change between AUX_CONNECT_REQ and AUX_CONNECT_RSP.
    func initiator(_ initiator: Initiator, knows answerer: DeviceAddress, as advertiser: DeviceAddress) -> Bool
    /// CONNECT_IND was sent, or AUX_CONNECT_RSP was received; the initiator has stopped.
    func initiator(_ initiator: Initiator, connected request: ConnectRequest, over link: NewLink)
}

/// The initiating state. Core Vol 6, Part B, 4.4.4.
final class Initiator: ListenerOwner {
    let settings: InitiatorSettings
    private let listener: WindowedListener
    private unowned let delegate: any InitiatorDelegate
    private var random: RandomSource
    private var request: (request: ConnectRequest, link: NewLink)?
    private var nextEvent = 0

    init(_ settings: InitiatorSettings, radio: Radio, quirks: ControllerQuirks, random: RandomSource, delegate: any InitiatorDelegate) {
        self.settings = settings
        self.random = random
        self.delegate = delegate
        listener = WindowedListener(settings.windows, priority: RadioPriority.initiating, radio: radio, quirks: quirks)
        listener.owner = self
    }

    func start() { listener.start() }
    func stop() { listener.stop() }

    // MARK: Reception

    func heard(_ pdu: AdvertisingPDU, _ reception: Reception) -> Bool {
        switch pdu.type {
        case .advInd: return connect(to: pdu.sender, chSel: pdu.chSel, reception, isExtended: false)
        case .advDirectInd:
            guard let target = pdu.receiver, delegate.initiator(self, isOwn: target, calledBy: pdu.sender) else { return false }
            return connect(to: pdu.sender, chSel: pdu.chSel, reception, isExtended: false)
        case .extended:
            guard settings.isExtended, let header = ExtendedHeader(pdu), header.mode == .connectable,
                let pointer = header.auxiliaryPointer, settings.links[pointer.phy] != nil
            else { return false }
            nextEvent &+= 1
            listener.follow(pointer, from: reception.start, event: nextEvent)
            return false
        case .advNonconnInd, .advScanInd, .scanReq, .scanRsp, .connectInd, .auxConnectRsp: return false
        }
    }

    func heard(_ pdu: AdvertisingPDU, _ reception: Reception, announcedAs announcement: WindowedListener.AuxiliaryReception) -> Bool {
        guard pdu.type == .extended, let header = ExtendedHeader(pdu), header.mode == .connectable,
            header.target.map({ delegate.initiator(self, isOwn: $0, calledBy: header.advertiser) }) ?? true
        else { return false }
        return connect(to: header.advertiser, chSel: true, reception, isExtended: true)
    }

    // MARK: Requests

    /// Returns true if the request is being sent.
    private func connect(to advertiser: DeviceAddress?, chSel: Bool, _ reception: Reception, isExtended: Bool) -> Bool {
        let phy = reception.phy.phy
        guard let advertiser, let wanted = settings.links[phy], delegate.initiator(self, accepts: advertiser) else { return false }
        let both = isExtended || (chSel && settings.supportsAlgorithm2)
        let request = ConnectRequest(
            initiator: delegate.initiator(self, addressFor: advertiser), advertiser: advertiser,
            accessAddress: AccessAddress.random(&random),
            crcInit: UInt32(truncatingIfNeeded: random.next() & 0xFF_FFFF), windowSize: 1, windowOffset: 0, interval: wanted.interval,
            latency: wanted.latency, timeout: wanted.timeout, channelMap: settings.channelMap,
            hop: UInt8.random(in: 5...16, using: &random), clockAccuracy: settings.clockAccuracy,
            chSel: !isExtended && settings.supportsAlgorithm2)
        self.request = (request, NewLink(requestEnd: .zero, phy: phy, isExtended: isExtended, usesAlgorithm2: both))
        listener.beginExchange(request.pdu, after: reception)
        return true
    }

    func exchangeSent(at end: Microseconds) {
        guard var request else { return }
        request.link.requestEnd = end
        self.request = request
        if request.link.isExtended { listener.awaitAnswer(after: end) } else { finish() }
    }

    func exchangeAnswered(_ reception: Reception?) -> Bool {
        guard let reception, reception.isIntact, let pdu = AdvertisingPDU(reception.pdu), pdu.type == .auxConnectRsp,
            let header = ExtendedHeader(pdu), let answerer = header.advertiser, var request, header.target == request.request.initiator,
            delegate.initiator(self, knows: answerer, as: request.request.advertiser)
        else {
            self.request = nil
            return false
        }
        request.request.advertiser = answerer
        self.request = request
        finish()
        return true
    }

    func exchangeLost() { request = nil }

    /// The event is abandoned; the next one is announced again.
    func missed(_ announcement: WindowedListener.AuxiliaryReception) {}

    private func finish() {
        guard let request else { return }
        stop()
        delegate.initiator(self, connected: request.request, over: request.link)
    }
}
