import BBHost
import BBPackets
import BBTiming

/// Advice for failures of pairing or encryption.
enum PairAdvice {
    static func failure(_ error: any Error) -> CommandFailure {
        switch error {
        case is CancellationError: CommandFailure(.bench, "interrupted before the pairing ended")
        case is TimeOut: CommandFailure(.bench, "the pairing did not end in time; --seconds sets how long to wait")
        case HostError.environment(.timedOut(.incomingConnection)):
            CommandFailure(.bench, "no device connected in time; --seconds sets how long to wait")
        case HostError.peer(.timedOut(.connection)):
            CommandFailure(.bench, "the peer did not answer: is it there, does it advertise, and is its address of that kind?")
        case HostError.peer(let fault):
            CommandFailure(CommandFailure(error).code, HostError.peer(fault).description + advice(fault))
        default: CommandFailure(error)
        }
    }

    private static func advice(_ fault: HostError.PeerFault) -> String {
        switch fault {
        case .rejected(_, .pinOrKeyMissing):
            "; the peer has no key for this bench any more: `bluebench pair --again` makes a new bond, `bluebench bonds forget` drops the old one"
        case .rejected(_, .pageTimeout): ": is it there, and does it let others connect?"
        case .rejected(_, .authenticationFailure), .disconnected(.authenticationFailure):
            "; the two sides have different keys, PINs or passkeys, or somebody answered with no: `bluebench pair --again` makes new ones"
        case .rejected(_, .pairingNotAllowed): "; one of the two does not pair now, or not as well protected as the other wants it"
        case .rejected(_, .insufficientSecurity):
            "; the link is less protected than this side requires: --no-mitm and --min-key-size lower that"
        case .rejected(_, .connectionTerminatedDueToMICFailure), .disconnected(.connectionTerminatedDueToMICFailure):
            "; the two sides have different keys: `bluebench pair --again` makes new ones"
        case .pairingFailed(.pairingNotSupported): "; the peer does not pair now: some must be put into a pairing mode"
        case .pairingFailed(.repeatedAttempts), .pairingRefused(.repeatedAttempts): "; wait some seconds and try again"
        case .pairingFailed(.authenticationRequirements), .pairingRefused(.authenticationRequirements):
            "; the IO capabilities of both sides do not give the required protection: see --io and --no-mitm, or --accept-weaker for less than the bond has"
        case .pairingFailed(.confirmValueFailed), .pairingRefused(.confirmValueFailed): "; the passkeys, or the data out of band, differ"
        case .pairingFailed(.oobNotAvailable), .pairingRefused(.oobNotAvailable): "; it needs data out of band: --oob FILE"
        case .pairingFailed(.encryptionKeySize), .pairingRefused(.encryptionKeySize): "; --min-key-size and --max-key-size set the limits"
        case .pairingRefused(.passkeyEntryFailed), .pairingRefused(.numericComparisonFailed):
            "; the question was not answered, or answered with no: --passkey N and --accept answer it in a script"
        default: ""
        }
    }
}
