import BBPackets
import Testing

@testable import BBL2CAP

/// Signalling of both directions, and the channels that follow from it. Core Vol 3, Part A, 4 and 7.1.
@Suite struct ChannelTrackerTests {
    private typealias Message = (LinkDirection, any L2CAPSignalingPDU)

    private static func tracker(_ messages: [(LinkDirection, any L2CAPSignalingPDU)]) -> ChannelTracker {
        var tracker = ChannelTracker()
        for (direction, pdu) in messages {
            for command in SignalingCommand.list(bytes(of: pdu)).commands { tracker.note(command, direction) }
        }
        return tracker
    }

    private static func bytes(of pdu: some L2CAPSignalingPDU) -> [UInt8] { pdu.bytes(identifier: 7) }

    private static let opened: [Message] = [
        (.forth, L2CAPSignaling.ConnectionReq(psm: PSM.avdtp, sourceCID: 0x0041)),
        (.back, L2CAPSignaling.ConnectionRsp(destinationCID: 0x0050, sourceCID: 0x0041, result: .successful, status: 0)),
    ]

    private static func configured(_ options: String, _ response: ConfigurationResult = .success) -> [Message] {
        let octets = Hex.parse(options) ?? []
        return [(LinkDirection.forth, UInt16(0x0050), UInt16(0x0041)), (.back, 0x0041, 0x0050)].flatMap {
            direction, destination, source -> [Message] in
            [
                (direction, L2CAPSignaling.ConfigurationReq(destinationCID: destination, flags: 0, configurationOptions: octets)),
                (direction.other, L2CAPSignaling.ConfigurationRsp(sourceCID: source, flags: 0, result: response, config: [])),
            ]
        }
    }

    @Test func aChannelHasAnIdentifierInEachDirection() {
        let tracker = Self.tracker(Self.opened)
        #expect(tracker.channel(0x0050, .forth)?.psm == PSM.avdtp && tracker.channel(0x0041, .back)?.psm == PSM.avdtp)
        #expect(tracker.channel(0x0041, .forth) == nil && tracker.channel(0x0050, .back) == nil)
        #expect(tracker.channel(0x0041, .back)?.isRetransmitting == false)
    }

    @Test(arguments: [
        ("04 09 03 08 03 0000 0000 F203", ConfigurationResult.success, true, true),
        ("04 09 04 08 03 0000 0000 F203 05 01 00", .success, true, false),
        ("01 02 A002", .success, false, true),
        ("04 09 03 08 03 0000 0000 F203", .unacceptableParameters, false, true),
        // An option longer than the request changes nothing.
        ("04 09 03 08", .success, false, true),
    ])
    func theModeIsWhatBothDirectionsAgreeOn(_ options: String, _ result: ConfigurationResult, _ isRetransmitting: Bool, _ hasCheck: Bool) {
        let channel = Self.tracker(Self.opened + Self.configured(options, result)).channel(0x0041, .back)
        #expect(channel?.isRetransmitting == isRetransmitting && channel?.hasCheck == hasCheck)
    }

    @Test(arguments: [
        ("04 09 03 08 03 0000 0000 F203", ConfigurationResult.success, false),
        ("04 09 03 3F 03 0000 0000 F203 07 02 0001", .success, true),
        ("04 09 03 3F 03 0000 0000 F203 07 02 0001", .unacceptableParameters, false),
    ])
    func theExtendedWindowExtendsTheControlField(_ options: String, _ result: ConfigurationResult, _ isExtended: Bool) {
        // One side's window is enough. Core Vol 3, Part A, 5.7.
        let channel = Self.tracker(Self.opened + Self.configured(options, result).prefix(2)).channel(0x0041, .back)
        #expect(channel?.isExtended == isExtended)
    }

    @Test func aRefusedOrClosedChannelIsForgotten() {
        let refused = Self.tracker([
            (.forth, L2CAPSignaling.ConnectionReq(psm: PSM.sdp, sourceCID: 0x0041)),
            (.back, L2CAPSignaling.ConnectionRsp(destinationCID: 0, sourceCID: 0x0041, result: .pending, status: 1)),
            (.back, L2CAPSignaling.ConnectionRsp(destinationCID: 0, sourceCID: 0x0041, result: .refusedSecurityBlock, status: 0)),
        ])
        #expect(refused.channel(0x0041, .back) == nil)
        let closed = Self.tracker(
            Self.opened + [(.forth, L2CAPSignaling.DisconnectionRsp(destinationCID: 0x0041, sourceCID: 0x0050))])
        #expect(closed.channel(0x0041, .back) == nil && closed.channel(0x0050, .forth) == nil)
    }

    @Test func creditBasedChannelsOpenSeveralAtOnce() {
        let tracker = Self.tracker([
            (
                .back,
                L2CAPSignaling.CreditBasedConnectionReq(spsm: PSM.eatt, mtu: 64, mps: 64, initialCredits: 1, sourceCID: [0x0041, 0x0042])
            ),
            (
                .forth,
                L2CAPSignaling.CreditBasedConnectionRsp(
                    mtu: 64, mps: 64, initialCredits: 1, result: .refusedNoResources, destinationCID: [0x0060, 0])
            ),
        ])
        #expect(tracker.channel(0x0041, .forth)?.isCreditBased == true && tracker.channel(0x0060, .back)?.psm == PSM.eatt)
        #expect(tracker.channel(0x0042, .forth) == nil)
    }
}
