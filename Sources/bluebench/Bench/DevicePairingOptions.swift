import ArgumentParser
import BBConformance
import BBHost
import BBProducts
import BBSessions

/// Pairing with the device under test, without a user at the terminal.
struct DevicePairingOptions: ParsableArguments {
    @Flag(help: "Pair with the DUT on each connection, so that protected values are read. The bonds are not kept.") var pair = false
    @Option(help: "With --pair: IO capability of this side. Default: none, or keyboard-display with --passkey.")
    var io: UserOptions.Capability?
    @OptionGroup var key: PasskeyOptions
    @Option(help: ArgumentHelp("With --pair: the DUT's out-of-band data (docs/guide/bonds.md).", valueName: "file"), completion: .file())
    var oob: String?

    /// - Returns: nil without --pair.
    func choice() throws -> PairingChoice? {
        guard pair else {
            guard io == nil, !key.isGiven, oob == nil else { throw CommandFailure(.usage, "--io, --passkey and --oob need --pair") }
            return nil
        }
        let passkey = try key.value()
        let data = try oob.map { try PairingData(file: $0, for: .le).data }
        let capability = io ?? (passkey == nil ? .none : .keyboardDisplay)
        return PairingChoice(io: capability.value, passkey: passkey, outOfBand: data)
    }
}
