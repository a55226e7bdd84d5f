/// Reason why a bond file was not read or written. The file is unchanged.
public enum BondFileError: Error, Sendable, Equatable {
    /// The file does not exist.
    case missing
    /// A link, pipe, device or folder.
    case notRegular(String)
    /// Other users may read or write it.
    case open(mode: UInt32)
    /// The file belongs to another user.
    case foreign
    case tooLong(octets: Int)
    /// The file is not a bond file, or it is truncated.
    case noBonds(String)
    /// Written by a later version of this program.
    case newer(version: Int)
    /// An invalid value: its position and the reason.
    case damaged(place: String, String)
    /// Its keys were made in virtual time, and anybody can compute them.
    case virtualTime
    /// Its keys are those of real devices.
    case realTime
    /// Another process has been writing it for ten seconds.
    case inUse
    /// The file was removed since it was read.
    case removed
    /// Error text of the system.
    case system(String)
}

extension BondFileError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .missing: "there is no such file; `bluebench pair` makes one"
        case .notRegular(let kind): "it is \(kind); bonds are kept in a regular file of their own: name another one"
        case .open(let mode):
            "others may read or write it (mode \(String(mode, radix: 8))): its keys may be known; pair anew, or chmod 600 it"
        case .foreign: "it belongs to another user"
        case .tooLong(let octets): "it is too long for a bond file: \(octets) octets"
        case .noBonds(let why): "it is not a bond file, or it is damaged: \(why); it was not changed"
        case .newer(let version):
            "it has version \(version), which a later bluebench has written; this one reads version \(BondDocument.version)"
        case .damaged(let place, let what): "it is damaged at \(place): \(what); it was not changed"
        case .virtualTime:
            "it was made in virtual time, where keys follow from the seed and are not secret: use it only with ,virtual-time, or name another file"
        case .realTime:
            "it has keys of real devices, which virtual time would make known: name another file"
        case .inUse: "another bluebench has been writing it for 10 s: end that, or name another file"
        case .removed: "the file was removed while the command ran"
        case .system(let words): words
        }
    }
}
