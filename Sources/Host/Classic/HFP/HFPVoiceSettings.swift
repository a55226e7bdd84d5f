extension SynchronousSettings {
    private static let linear: UInt16 = 0x0060
    private static let transparent: UInt16 = 0x0063
    private static let power: UInt8 = 1
    private static let quality: UInt8 = 2
    private static let any: UInt8 = 0xFF
    // 0x03C0 disallows all EDR types; 0x0380 allows 2-EV3.
    private static let ev3: UInt16 = 0x03C8
    private static let twoEV3: UInt16 = 0x0380
    private static let hv3: UInt16 = 0x03C4

    // Parameter sets of HFP 1.8, 5.7.1.
    static let d1 = SynchronousSettings(maxLatency: 0xFFFF, voiceSetting: linear, retransmissionEffort: any, packetTypes: hv3)
    static let s1 = SynchronousSettings(maxLatency: 7, voiceSetting: linear, retransmissionEffort: power, packetTypes: ev3)
    static let s3 = SynchronousSettings(maxLatency: 10, voiceSetting: linear, retransmissionEffort: power, packetTypes: twoEV3)
    static let s4 = SynchronousSettings(maxLatency: 12, voiceSetting: linear, retransmissionEffort: quality, packetTypes: twoEV3)
    static let t1 = SynchronousSettings(maxLatency: 8, voiceSetting: transparent, retransmissionEffort: quality, packetTypes: ev3)
    static let t2 = SynchronousSettings(maxLatency: 13, voiceSetting: transparent, retransmissionEffort: quality, packetTypes: twoEV3)

    /// Settings that a gateway requests, in this order.
    static func offers(of codec: HFPCodec, hasS4: Bool) -> [SynchronousSettings] {
        codec == .mSBC ? [t2, t1] : (hasS4 ? [s4] : []) + [s3, s1, d1]
    }

    /// Settings that a hands-free unit accepts: EV3 and 2-EV3 with any latency; also HV1 and HV3 for CVSD.
    static func accepted(by codec: HFPCodec) -> SynchronousSettings {
        SynchronousSettings(
            maxLatency: 0xFFFF, voiceSetting: codec == .mSBC ? transparent : linear, retransmissionEffort: any,
            packetTypes: codec == .mSBC ? 0x0388 : 0x038D)
    }
}
