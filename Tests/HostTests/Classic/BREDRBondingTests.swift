import BBPackets
import Testing

@testable import BBHost

/// The kinds of bonding that a host asks for and accepts. Core Vol 3, Part C, 4.3.1 and 6.5.
@Suite struct BREDRBondingTests {
    private static func features(_ io: IOCapability, _ requirements: UInt8) -> BREDRSecurity.Action {
        .replyFeatures(SimplePairingFeatures(io, requirements: requirements))
    }

    /// The initiator's Authentication_Requirements by whether it bonds, and whether only for bonding. Core Vol 3, Part C, 6.5.3.
    @Test(arguments: [(true, true, 2), (true, false, 4), (false, true, 0), (false, false, 0)] as [(Bool, Bool, UInt8)])
    func aPairingSaysWhatItIsFor(_ isBonding: Bool, _ isDedicated: Bool, _ requirements: UInt8) {
        var settings = PairingSettings()
        settings.isBonding = isBonding
        var machine = BREDRSecurity(settings, known: nil)
        #expect(machine.require(.unauthenticated, isDedicated: isDedicated) == [.authenticate])
        #expect(machine.featuresRequested() == [Self.features(.noInputNoOutput, requirements)])
    }

    /// In non-bondable mode only dedicated bonding is refused. Core Vol 3, Part C, 4.3.1.
    @Test(
        arguments: [(true, 2, true), (true, 0, true), (false, 0, true), (false, 4, true), (false, 2, false), (false, 3, false)]
            as [(Bool, UInt8, Bool)])
    func bondingAloneNeedsABondableHost(_ isBondable: Bool, _ requirements: UInt8, _ accepts: Bool) {
        var settings = PairingSettings()
        settings.ioCapability = .displayYesNo
        settings.isBonding = isBondable
        var machine = BREDRSecurity(settings, known: nil)
        machine.featuresReceived(SimplePairingFeatures(.displayYesNo, requirements: requirements))
        let answer = accepts ? Self.features(.displayYesNo, isBondable ? 4 : 0) : .refuseFeatures(.pairingNotAllowed)
        #expect(machine.featuresRequested() == [answer])
    }
}
