import BBHost
import BBPackets

/// The tester's side of a pairing with the device under test, with the answers of its user.
public struct PairingChoice: Sendable {
    public var settings: PairingSettings
    /// The passkey that the tester's user enters; nil if none is entered.
    public var passkey: UInt32?

    /// - Parameter io: with a display or a keyboard, the tester requests protection against a man in the middle.
    public init(io: IOCapability = .noInputNoOutput, passkey: UInt32? = nil, outOfBand: OutOfBandData? = nil) {
        settings = PairingSettings()
        settings.ioCapability = io
        settings.asksForMITM = io != .noInputNoOutput || outOfBand != nil
        settings.passkey = passkey
        settings.outOfBandData = outOfBand
        settings.acceptsWeakerBond = true
        self.passkey = passkey
    }
}
