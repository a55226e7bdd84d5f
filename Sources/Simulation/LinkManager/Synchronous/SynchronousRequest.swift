import BBPackets

/// Synchronous connection parameters that a host requests or accepts. Core Vol 4, Part E, 7.1.26 and 7.1.27.
struct SynchronousRequest: Equatable {
    static let anyBandwidth: UInt32 = 0xFFFF_FFFF
    static let anyLatency: UInt16 = 0xFFFF
    private static let voice: UInt32 = 8_000

    /// Octets per second.
    var transmitBandwidth: UInt32
    var receiveBandwidth: UInt32
    /// Milliseconds, for the sum of interval and eSCO window.
    var maxLatency: UInt16
    /// Air mode as in LMP.
    var airMode: UInt8
    var effort: Effort
    var types: Set<BREDRPacketType>
    /// True if the host accepts a request: its bandwidths and its effort concern eSCO only. Core Vol 4, Part E, 7.1.27.
    var isAcceptance = false

    /// Retransmission_Effort.
    enum Effort: Equatable {
        case none
        /// At least one retransmission, optimized for power or for quality.
        case some
        case any

        /// Retransmission windows (W_eSCO) in exchanges, the preferred one first.
        fileprivate var exchanges: [Int] {
            switch self {
            case .none: [0]
            case .some: [2, 1]
            case .any: [1, 0]
            }
        }
    }

    private func octets(_ bandwidth: UInt32) -> UInt32 { bandwidth == Self.anyBandwidth ? Self.voice : bandwidth }

    // MARK: Offers of the local device

    /// The best offer within the host's parameters and both devices' features; nil if there is none.
    func offer(isExtended: Bool, _ link: ACLLinkState) -> SynchronousOffer? {
        guard link.bothSupport(ACLLinkState.features(ofAirMode: airMode)) else { return nil }
        return isExtended ? extendedOffer(link) : basicOffer(link)
    }

    /// Error code if no offer is possible.
    func impediment(_ link: ACLLinkState) -> ErrorCode {
        let usable = types.filter { link.bothHave($0) }
        guard link.bothSupport(ACLLinkState.features(ofAirMode: airMode)), !usable.isEmpty else { return .unsupportedRemoteFeature }
        let isBarred = link.security.mode == .aesCCM && usable.allSatisfy(SynchronousOffer.basicTypes.contains)
        return isBarred ? .connectionRejectedDueToSecurityReasons : .connectionRejectedDueToLimitedResources
    }

    /// SCO offer; HV3 leaves the most slots to others. No SCO on a link encrypted with AES-CCM, or with retransmissions.
    private func basicOffer(_ link: ACLLinkState) -> SynchronousOffer? {
        let isVoice = [transmitBandwidth, receiveBandwidth].allSatisfy { octets($0) == Self.voice }
        guard link.security.mode != .aesCCM, isAcceptance || isVoice && effort != .some else { return nil }
        let usable = SynchronousOffer.basicTypes.reversed().filter { types.contains($0) && link.bothHave($0) }
        return usable.lazy.compactMap { type in
            let length = UInt16(type.capacity)
            return link.placed(
                SynchronousOffer(type, interval: UInt8(length / 5), window: 0, lengths: (length, length), airMode: airMode))
        }.first
    }

    private func extendedOffer(_ link: ACLLinkState) -> SynchronousOffer? {
        let usable = SynchronousOffer.extendedTypes.map(\.type).filter { types.contains($0) && link.bothHave($0) }
        return usable.lazy.flatMap { type in intervals(of: type).map { (type, $0) } }.compactMap { type, interval in
            effort.exchanges.lazy.compactMap { exchanges in offer(type, interval, window: exchanges * 2 * type.slots, link) }.first
        }.first
    }

    /// Intervals, longest first, for fewer and fuller packets.
    private func intervals(of type: BREDRPacketType) -> [Int] { Array(stride(from: 254, through: 4, by: -2)) }

    private func offer(_ type: BREDRPacketType, _ interval: Int, window: Int, _ link: ACLLinkState) -> SynchronousOffer? {
        guard let transmit = length(octets(transmitBandwidth), interval), let receive = length(octets(receiveBandwidth), interval),
            max(transmit, receive) <= type.capacity, max(transmit, receive) > 0
        else { return nil }
        let offer = SynchronousOffer(
            type, interval: UInt8(interval), window: UInt8(window),
            lengths: link.role == .central ? (UInt16(transmit), UInt16(receive)) : (UInt16(receive), UInt16(transmit)), airMode: airMode)
        return offer.isLegal && isFast(offer) ? link.placed(offer) : nil
    }

    /// Octets per packet at an interval; nil if not an integer.
    private func length(_ bandwidth: UInt32, _ interval: Int) -> Int? {
        let octets = Int(bandwidth) * interval * Int(NativeClock.slot.rawValue)
        return octets % 1_000_000 == 0 ? octets / 1_000_000 : nil
    }

    private func isFast(_ offer: SynchronousOffer) -> Bool {
        maxLatency == Self.anyLatency || NativeClock.slot * (Int(offer.interval) + offer.slots) <= .milliseconds(Int(maxLatency))
    }

    // MARK: Offers of the peer

    /// Error code if an offer does not match the host's parameters; nil if it does.
    func objection(to offer: SynchronousOffer, _ link: ACLLinkState) -> ErrorCode? {
        guard offer.airMode == airMode, link.supports(ACLLinkState.features(ofAirMode: airMode)) else { return .scoAirModeRejected }
        let own = offer.parameters(for: link.role)
        for type in [own.transmitType, own.receiveType] {
            guard let type else { continue }
            guard types.contains(type), link.supports(type) else { return .unsupportedLMPParameterValue }
        }
        if isAcceptance, !offer.isExtended { return nil }
        guard carries(own.transmitLength, offer, transmitBandwidth), carries(own.receiveLength, offer, receiveBandwidth) else {
            return .scoIntervalRejected
        }
        guard offer.isExtended else { return nil }
        guard isFast(offer) else { return .scoIntervalRejected }
        switch effort {
        case .none: return offer.window == 0 ? nil : .unsupportedLMPParameterValue
        case .some: return offer.window > 0 ? nil : .unsupportedLMPParameterValue
        case .any: return nil
        }
    }

    private func carries(_ length: UInt16, _ offer: SynchronousOffer, _ bandwidth: UInt32) -> Bool {
        bandwidth == Self.anyBandwidth || self.length(bandwidth, Int(offer.interval)) == Int(length)
    }
}

extension ACLLinkState {
    /// LMP feature of a synchronous packet type. Core Vol 2, Part C, 3.3.
    private static func features(of type: BREDRPacketType) -> LMPFeatures {
        switch type {
        case .hv1: .sco
        case .hv2: [.sco, .hv2]
        case .hv3: [.sco, .hv3]
        case .ev3: .extendedSCO
        case .ev4: [.extendedSCO, .ev4]
        case .ev5: [.extendedSCO, .ev5]
        case .twoEV3: [.extendedSCO, .enhancedRateSCO2M]
        case .threeEV3: [.extendedSCO, .enhancedRateSCO3M]
        case .twoEV5: [.extendedSCO, .enhancedRateSCO2M, .threeSlotEnhancedRateSCO]
        case .threeEV5: [.extendedSCO, .enhancedRateSCO3M, .threeSlotEnhancedRateSCO]
        default: []
        }
    }

    fileprivate static func features(ofAirMode mode: UInt8) -> LMPFeatures {
        switch mode {
        case 0: .muLaw
        case 1: .aLaw
        case 2: .cvsd
        default: .transparentSynchronous
        }
    }

    fileprivate func supports(_ type: BREDRPacketType) -> Bool { supports(Self.features(of: type)) }
    fileprivate func bothHave(_ type: BREDRPacketType) -> Bool { bothSupport(Self.features(of: type)) }

    /// The offer with handle, LT_ADDR and slots of this piconet; unchanged on a peripheral, since the central assigns them. Nil if no slots
    /// are free.
    func placed(_ offer: SynchronousOffer) -> SynchronousOffer? {
        guard role == .central else { return offer }
        guard let id = (1...255 as ClosedRange<UInt8>).first(where: { synchronous[$0] == nil }),
            let offset = slots.freeOffset(offer.interval, offer.slots)
        else { return nil }
        var placed = offer
        if offer.isExtended {
            guard let ltAddr = slots.freeLTAddr() else { return nil }
            placed.ltAddr = ltAddr
        }
        (placed.id, placed.offset, placed.flags) = (id, offset, slot & Self.slots >> 1 != 0 ? 2 : 0)
        return placed
    }
}

/// Free slots of a piconet for synchronous transports, provided by the baseband.
struct SynchronousSlots {
    /// Offset D with this number of free slots in each interval.
    var freeOffset: (_ interval: UInt8, _ slots: Int) -> UInt8?
    var freeLTAddr: () -> UInt8?
}
