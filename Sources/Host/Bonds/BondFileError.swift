/// Why a bond file is not read or not written. The file stays as it is.
public enum BondFileError: Error, Sendable, Equatable {
    /// There is no such file.
    case missing
    /// A link, a pipe, a device or a folder.
    case notRegular(String)
    /// Others than the owner may read or write it.
    case open(mode: UInt32)
    /// It belongs to somebody else.
    case foreign
    case tooLong(octets: Int)
    /// It holds something else, or its end is missing.
    case noBonds(String)
    /// Written by a later version of this program.
    case newer(version: Int)
    /// A value that cannot be: where it stands, and what is wrong with it.
    case damaged(place: String, String)
    /// Another process changes it.
    case inUse
    /// Somebody has put another file in its place since it was read.
    case replaced
    /// The system's words.
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
        case .tooLong(let octets): "\(octets) octets are no bond file"
        case .noBonds(let why): "it is no bond file, or damaged, and is left as it is: \(why)"
        case .newer(let version):
            "it is of version \(version), which a later bluebench has written; this one knows version \(BondDocument.version)"
        case .damaged(let place, let what): "it is damaged and left as it is: \(place): \(what)"
        case .inUse: "another bluebench uses it: wait until that has ended, or name another file"
        case .replaced: "somebody has put another file in its place meanwhile"
        case .system(let words): words
        }
    }
}
