import ArgumentParser
import BBHost
import BBPackets
import BBSessions

/// The peer of a pairing, and the role of this side.
struct PairEnds: ParsableArguments {
    @Option(help: "Peer: its address, C0:B1:BE:00:00:01/random, or over LE its name or the UUID of a service that it advertises.")
    var peer: String?
    @Option(help: ArgumentHelp("Advertise under this name and wait for a peer.", valueName: "name")) var advertise: String?
    @Option(help: "Transport: le or bredr. The keys of the other follow by CTKD if both sides support it.") var transport = SessionTransport
        .le
    @Flag(help: "With --advertise: send a Security Request.") var request = false
    @Flag(name: .customLong("private"), help: "Use resolvable private addresses, which bonded peers alone can resolve.") var isPrivate =
        false
    @Option(help: "Timeout for the peer, in seconds.", transform: Arguments.seconds) var seconds = 60.0
}

/// The requirements of a pairing.
struct SecurityOptions: ParsableArguments {
    @Flag(inversion: .prefixedNo, help: "Request protection against a man in the middle (MITM).") var mitm = true
    @Flag(help: "LE legacy pairing; over BR/EDR no Secure Connections.") var legacy = false
    @Flag(help: "Secure Connections Only mode: refuse any other key.")
    var secureConnectionsOnly = false
    @Option(help: "Minimum encryption key size in octets.", transform: Arguments.whole(7...16)) var minKeySize = 7
    @Option(help: "Maximum encryption key size in octets.", transform: Arguments.whole(7...16)) var maxKeySize = 16
    @Flag(help: "Distribute and request signing keys (CSRK).") var signing = false
    @Flag(help: "Use the public address and derive a BR/EDR link key from the LE pairing (CTKD).") var bredr = false
    @Option(help: ArgumentHelp("Over BR/EDR: PIN for a peer without Secure Simple Pairing.", valueName: "digits")) var pin: String?
    @Option(help: ArgumentHelp("File with the PIN: other users see what --pin names.", valueName: "file"), completion: .file())
    var pinFile: String?

    /// The PIN of the option or the file.
    func givenPIN() throws -> String? {
        guard let pinFile else { return pin }
        guard pin == nil else { throw CommandFailure(.usage, "--pin and --pin-file exclude each other") }
        return try SecretFile.text(pinFile, of: "--pin-file")
    }
}

/// The capabilities of the user of this side, and predefined answers.
struct UserOptions: ParsableArguments {
    enum Capability: String, ExpressibleByArgument, CaseIterable {
        case none, display
        case displayYesNo = "display-yes-no"
        case keyboard
        case keyboardDisplay = "keyboard-display"

        var value: IOCapability {
            switch self {
            case .none: .noInputNoOutput
            case .display: .displayOnly
            case .displayYesNo: .displayYesNo
            case .keyboard: .keyboardOnly
            case .keyboardDisplay: .keyboardDisplay
            }
        }
    }

    @Option(help: "IO capability of this side.") var io = Capability.keyboardDisplay
    @Flag(help: "Confirm every question.") var accept = false
    @OptionGroup var key: PasskeyOptions
}

/// Out-of-band data of a pairing.
struct OutOfBandOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The peer's out-of-band data (docs/guide/bonds.md).", valueName: "file"), completion: .file()) var oob:
        String?
    @Option(help: ArgumentHelp("Write this side's out-of-band data for the peer.", valueName: "file"), completion: .file())
    var oobOwn: String?
}

/// The handling of the bond.
struct PairBondOptions: ParsableArguments {
    @OptionGroup var store: BondOptions
    @Flag(inversion: .prefixedNo, help: "Keep the keys.") var bond = true
    @Flag(help: "Pair again with a bonded peer.") var again = false
    @Flag(help: "Let a pairing replace a bond of higher security.") var acceptWeaker = false
}
