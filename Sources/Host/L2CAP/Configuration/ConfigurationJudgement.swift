import BBL2CAP
import BBPackets

/// This side's answer to a proposal of the peer. Core Vol 3, Part A, 5.
struct ConfigurationJudgement {
    private(set) var result = ConfigurationResult.success
    /// Acceptable values for the options that were refused.
    private(set) var better = ConfigurationOptions()
    /// The proposal with this side's adjustments.
    private(set) var agreed: ConfigurationOptions

    init(_ options: ConfigurationOptions, mode: ChannelMode, settings: ClassicChannelSettings) {
        agreed = options
        if let mtu = options.mtu, mtu < ChannelTerms.minimumMTU { refuse { $0.mtu = ChannelTerms.minimumMTU } }
        // 0 is reserved. Core Vol 3, Part A, 5.2.
        if options.flushTimeout == 0 { refuse { $0.flushTimeout = 0xFFFF } }
        if let quality = options.qualityOfService, quality.serviceType >= QualityOfService.ServiceType.guaranteed {
            refuse { $0.qualityOfService = QualityOfService() }
        }
        if let check = options.frameCheckSequence, check > 1 { refuse { $0.frameCheckSequence = 1 } }
        if let window = options.extendedWindowSize, !(1...ChannelTerms.maximumExtendedWindow).contains(window) {
            refuse { $0.extendedWindowSize = ChannelTerms.maximumExtendedWindow }
        }
        judge(options.retransmission, mode, settings)
        if let flow = options.extendedFlowSpecification, flow.serviceType >= QualityOfService.ServiceType.guaranteed {
            result = .flowSpecRejected
            better = ConfigurationOptions()
            better.extendedFlowSpecification = ExtendedFlowSpecification(identifier: flow.identifier)
        }
    }

    private mutating func judge(_ option: RetransmissionOption?, _ mode: ChannelMode, _ settings: ClassicChannelSettings) {
        guard var option, mode != .basic else { return }
        let maximum = UInt8(ChannelTerms.maximumWindow)
        let isWindowLegal = mode != .enhancedRetransmission || (1...maximum).contains(option.transmitWindow)
        guard option.mps > 0, isWindowLegal else {
            if !isWindowLegal { option.transmitWindow = maximum }
            if option.mps == 0 { option.mps = settings.mps }
            return refuse { $0.retransmission = option }
        }
        // The response sets the time-outs of the peer's timers. Core Vol 3, Part A, 5.4.
        option.mps = min(option.mps, settings.mps)
        let isEnhanced = mode == .enhancedRetransmission
        option.retransmissionTimeOut = isEnhanced ? UInt16(saturating: ChannelTerms.retransmissionTimeOut.milliseconds) : 0
        option.monitorTimeOut = isEnhanced ? UInt16(saturating: ChannelTerms.monitorTimeOut.milliseconds) : 0
        agreed.retransmission = option
    }

    private mutating func refuse(_ improve: (inout ConfigurationOptions) -> Void) {
        result = .unacceptableParameters
        improve(&better)
    }
}
