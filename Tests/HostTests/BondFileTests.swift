import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBHost

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The bond file: stored bonds are restored, invalid data is refused with a reason, and the file is kept.
@Suite struct BondFileTests {
    /// A folder that is deleted after the test.
    final class Folder {
        let path: String
        init() throws {
            var name = Array("/tmp/bonds.XXXXXX".utf8CString)
            path = try #require(mkdtemp(&name).map { String(cString: $0) })
        }
        deinit {
            for name in ["bonds.json", "other"] { unlink("\(path)/\(name)") }
            rmdir(path)
        }
        var file: String { "\(path)/bonds.json" }
        var mode: mode_t? {
            var found = stat()
            return lstat(file, &found) == 0 ? found.st_mode : nil
        }
    }

    private static let linkKey = LinkKey([UInt8](0x50..<0x60), .authenticatedCombinationP256, size: 8)
    private static let peer = PeerIdentity(DeviceAddress(value: 0xC0B1_BE00_0001, kind: .random))

    /// A store with all kinds of bond data.
    private static func store() -> KeyStore {
        let keys = KeyStore()
        keys.identityAddress = DeviceAddress(value: 0xC000_0000_0001, kind: .random)
        keys.identityResolvingKey = [UInt8](1...16)
        var bond = Bond(
            peer.address,
            localLongTermKey: LongTermKey(
                [UInt8](1...7) + [UInt8](repeating: 0, count: 9), encryptedDiversifier: 0xABCD, randomNumber: .max, size: 7),
            peerLongTermKey: LongTermKey([UInt8](0x10..<0x20), encryptedDiversifier: 1, randomNumber: 2), isAuthenticated: true)
        bond.identityResolvingKey = [UInt8](0x20..<0x30)
        bond.addressOnAir = DeviceAddress(value: 0xF5_F4F3_F2F1_F0, kind: .random)
        bond.localSigningKey = SigningKey([UInt8](0x30..<0x40), counter: 7)
        bond.peerSigningKey = SigningKey([UInt8](0x40..<0x50), counter: .max)
        keys.add(bond)
        var client = ClientRecord(features: .robustCaching, knownHash: [UInt8](0x60..<0x70))
        client.configurations[17] = 1
        keys.keep(client, of: peer)
        let characteristic = RemoteCharacteristic(uuid: 0x2A19, properties: [.read, .notify], declaration: 2, value: 3, endHandle: 4)
        keys.keep(
            RemoteDatabase(
                hash: [UInt8](0x70..<0x80),
                services: [
                    .init(
                        service: RemoteService(uuid: 0x180F, handle: 1, endHandle: 4),
                        characteristics: [.init(characteristic: characteristic, descriptors: [RemoteDescriptor(uuid: 0x2902, handle: 4)])])
                ]), of: peer)
        keys.keep(linkKey, of: BDADDR(0x1B_DC00_0001))
        return keys
    }

    @Test func everythingComesBack() throws {
        let folder = try Folder()
        let before = Self.store()
        do {
            let file = try BondFile(changing: folder.file)
            file.keys.identityAddress = before.identityAddress
            file.keys.identityResolvingKey = before.identityResolvingKey
            for entry in before.kept {
                let identity = PeerIdentity(entry.bond.identity)
                file.keys.add(entry.bond)
                if let client = entry.client { file.keys.keep(client, of: identity) }
                file.keys.keep(entry.database, of: identity)
            }
            #expect(file.failure == nil)
        }
        #expect(folder.mode == S_IFREG | 0o600)
        let after = try BondFile.read(folder.file)
        #expect(after.kept == before.kept)
        #expect(after.identityAddress == before.identityAddress && after.identityResolvingKey == before.identityResolvingKey)
        let file = try BondFile(changing: folder.file)
        #expect(file.keys.remove(Self.peer))
        #expect(try BondFile.read(folder.file).all.map(\.identity) == [DeviceAddress(value: 0x1B_DC00_0001)])
        #expect(folder.mode == S_IFREG | 0o600)
    }

    /// Keys of virtual time follow from the seed: a file with them serves no real device, and one of real devices gets none of them.
    @Test(arguments: [true, false]) func aFileServesOneKindOfTime(_ isVirtual: Bool) throws {
        let folder = try Folder()
        do {
            let file = try BondFile(changing: folder.file)
            try file.keys.reserve(forVirtualTime: isVirtual)
            try file.keys.reserve(forVirtualTime: !isVirtual)
            try file.keys.reserve(forVirtualTime: isVirtual)
            file.keys.identityResolvingKey = [UInt8](1...16)
            #expect(file.failure == nil)
        }
        let keys = try BondFile.read(folder.file)
        #expect(keys.isOfVirtualTime == isVirtual)
        try keys.reserve(forVirtualTime: isVirtual)
        #expect(throws: isVirtual ? BondFileError.virtualTime : .realTime) { try keys.reserve(forVirtualTime: !isVirtual) }
    }

    /// Two processes that began with an empty file: the second kind of time adds nothing to the first.
    @Test(arguments: [true, false]) func anEmptyFileServesTheTimeThatWritesFirst(_ isVirtual: Bool) throws {
        let folder = try Folder()
        let first = try BondFile(changing: folder.file)
        let second = try BondFile(changing: folder.file)
        try first.keys.reserve(forVirtualTime: isVirtual)
        try second.keys.reserve(forVirtualTime: !isVirtual)
        try first.keys.reserve(forVirtualTime: isVirtual)
        first.keys.identityResolvingKey = [UInt8](1...16)
        #expect(first.failure == nil)
        second.keys.refresh()
        #expect(second.keys.identityResolvingKey == nil)
        second.keys.add(Bond(Self.peer.address))
        #expect(second.failure == (isVirtual ? .virtualTime : .realTime))
        let keys = try BondFile.read(folder.file)
        #expect(keys.isOfVirtualTime == isVirtual && keys.all.isEmpty)
    }

    @Test func whatAKilledProcessHasLeftIsRemoved() throws {
        let folder = try Folder()
        let file = try BondFile(changing: folder.file)
        let name = folder.file.split(separator: "/").last ?? ""
        let place = folder.file.dropLast(name.count)
        for (path, isKept) in [
            ("\(place).\(name).draft-Ab3dE9", false), ("\(place).\(name).backup", true), ("\(place)\(name).Ab3dE9", true),
        ] {
            close(open(path, O_CREAT | O_WRONLY, 0o600))
            file.keys.add(Bond(Self.peer.address))
            #expect(file.failure == nil && (access(path, F_OK) == 0) == isKept, "\(path)")
            unlink(path)
        }
    }

    @Test func aRemovedFileIsNotMadeAnew() throws {
        let folder = try Folder()
        let file = try BondFile(changing: folder.file)
        file.keys.add(Bond(Self.peer.address))
        unlink(folder.file)
        file.keys.remove(Self.peer)
        #expect(file.failure == .removed && folder.mode == nil)
    }

    /// A command that only reads its bonds learns of it, too, and once.
    @Test func aRemovedFileIsReportedWhereItIsNextUsed() throws {
        let folder = try Folder()
        let file = try BondFile(changing: folder.file)
        var reported: [BondFileError] = []
        file.onFailure = { reported.append($0) }
        file.keys.refresh()
        #expect(reported.isEmpty)
        unlink(folder.file)
        for _ in 0..<3 { file.keys.refresh() }
        file.keys.add(Bond(Self.peer.address))
        #expect(reported == [.removed])
        let other = try BondFile(changing: folder.file)
        file.keys.add(Bond(Self.peer.address))
        #expect(file.failure == nil && other.failure == nil)
        unlink(folder.file)
        file.keys.refresh()
        #expect(reported == [.removed, .removed])
    }

    struct Place: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var make: @Sendable (String, String) -> Void
        var error: BondFileError
        var mode: mode_t
    }

    static let places = [
        Place(testDescription: "a link", make: { path, other in symlink(other, path) }, error: .notRegular("a link"), mode: S_IFLNK),
        Place(testDescription: "a pipe", make: { path, _ in mkfifo(path, 0o600) }, error: .notRegular("a pipe"), mode: S_IFIFO),
        Place(
            testDescription: "for all to read",
            make: { path, _ in
                close(creat(path, 0o600))
                chmod(path, 0o644)
            }, error: .open(mode: 0o644), mode: S_IFREG),
        Place(
            testDescription: "empty", make: { path, _ in close(creat(path, 0o600)) }, error: .noBonds("it is not JSON of its kind"),
            mode: S_IFREG),
    ]

    @Test(arguments: places) func aPlaceThatIsNoneOfOurs(_ place: Place) throws {
        let folder = try Folder()
        place.make(folder.file, "\(folder.path)/other")
        #expect(throws: place.error) { try BondFile(changing: folder.file) }
        #expect(throws: place.error) { try BondFile.read(folder.file) }
        #expect(folder.mode.map { $0 & S_IFMT } == place.mode)
    }

    @Test func aFileThatIsNotThere() throws {
        let folder = try Folder()
        #expect(throws: BondFileError.missing) { try BondFile.read(folder.file) }
        #expect(throws: BondFileError.system("No such file or directory")) { try BondFile(changing: "\(folder.path)/none/bonds.json") }
        #expect(throws: BondFileError.notRegular("a folder")) { try BondFile(changing: folder.path) }
        #expect(throws: BondFileError.notRegular("a device")) { try BondFile(changing: "/dev/null") }
    }

    /// Replacements in the file, and the resulting errors.
    static let damages: [(name: String, old: String, new: String, error: BondFileError)] = [
        ("cut short", "\n}\n", "", .noBonds("it is not JSON of its kind")),
        ("another format", "bluebench bonds", "bonds", .noBonds("its format is 'bonds'")),
        ("newer", "\"version\" : 2", "\"version\" : 3", .newer(version: 3)),
        ("older", "\"version\" : 2", "\"version\" : 0", .damaged(place: "version", "0")),
        ("no type of a link key", "\"type\" : 8", "\"type\" : 9", .damaged(place: "bonds[0].link_key.type", "9, 0 to 8 are possible")),
        (
            "a link key of a short LTK", "\"size\" : 8", "\"size\" : 6",
            .damaged(place: "bonds[0].link_key.size", "6, 7 to 16 octets are possible")
        ),
        ("a link key without type", ",\n        \"type\" : 8", "", .damaged(place: "bonds[0].link_key.type", "it is missing")),
        ("a short key", "0F0E0D", "0F0E", .damaged(place: "identity.irk", "15 octets, 16 are needed")),
        ("no key", "100F0E0D", "XXXXXXXX", .damaged(place: "identity.irk", "it is not hexadecimal")),
        ("a key size of 6", "\"size\" : 7", "\"size\" : 6", .damaged(place: "bonds[1].local_ltk.size", "6, 7 to 16 octets are possible")),
        (
            "a key size of 17", "\"size\" : 16", "\"size\" : 17",
            .damaged(place: "bonds[1].peer_ltk.size", "17, 7 to 16 octets are possible")
        ),
        (
            "more key than its size", "\"size\" : 16", "\"size\" : 15",
            .damaged(place: "bonds[1].peer_ltk.key", "it is longer than 15 octets")
        ),
        (
            "a zero key", "1F1E1D1C1B1A19181716151413121110", "00000000000000000000000000000000",
            .damaged(place: "bonds[1].peer_ltk.key", "it is zero")
        ),
        ("no EDIV", "\"ABCD\"", "\"1ABCD\"", .damaged(place: "bonds[1].local_ltk.ediv", "it is not a number of 16 bits")),
        ("no Rand", "FFFFFFFFFFFFFFFF", "-1", .damaged(place: "bonds[1].local_ltk.rand", "it is not a number of 64 bits")),
        ("a counter beyond", "4294967295", "4294967296", .damaged(place: "bonds[1].peer_csrk.counter", "it is not a number of 32 bits")),
        (
            "no address", "C0:B1:BE:00:00:01/random", "C0:B1:BE:00:00:01",
            .damaged(place: "bonds[1].peer", "it is not an address such as C0:B1:BE:00:00:01/random")
        ),
        ("twice", "00:1B:DC:00:00:01/public", "C0:B1:BE:00:00:01/random", .damaged(place: "bonds[1].peer", "it is there twice")),
        (
            "another kind", "\"authenticated\" : true", "\"authenticated\" : 1",
            .damaged(place: "bonds[1].authenticated", "it has another type")
        ),
        ("nothing said", "\"authenticated\" : true,", "", .damaged(place: "bonds[1].authenticated", "it is missing")),
        (
            "a configuration of nothing", "\"handle\" : 17", "\"handle\" : 0",
            .damaged(place: "bonds[1].client.configurations", "handle 0, bits 1")
        ),
        (
            "handles reversed", "\"value\" : 3", "\"value\" : 2",
            .damaged(place: "bonds[1].database.services[0]", "characteristic with handles 2, 2...4")
        ),
        (
            "a name of legacy pairing on another key", "\"secure_connections\" : false\n    }\n  ]",
            "\"secure_connections\" : true\n    }\n  ]",
            .damaged(place: "bonds[1].local_ltk", "EDIV and Rand of a key of LE Secure Connections are 0")
        ),
    ]

    /// A file from before link keys had a type.
    @Test func theFirstVersionIsStillRead() throws {
        let now = String(decoding: BondDocument.text(of: Self.store()), as: UTF8.self)
        let text = now.replacing("\"version\" : 2", with: "\"version\" : 1")
        #expect(try BondDocument.read([UInt8](text.utf8)).kept == Self.store().kept)
        let key = try #require(text.firstRange(of: "\"link_key\" : {"))
        let end = try #require(text[key.upperBound...].firstIndex(of: "}"))
        let old = text[..<key.lowerBound] + "\"link_key\" : \"\(String(repeating: "5A", count: 16))\"" + text[text.index(after: end)...]
        let read = try BondDocument.read([UInt8](old.utf8))
        #expect(read.all.map(\.linkKey) == [LinkKey([UInt8](repeating: 0x5A, count: 16), .combination), nil])
        #expect(read.kept.map(\.client) == Self.store().kept.map(\.client))
    }

    @Test(arguments: damages) func aDamagedFileIsKept(name: String, old: String, new: String, error: BondFileError) throws {
        let text = String(decoding: BondDocument.text(of: Self.store()), as: UTF8.self)
        let found = text.ranges(of: old)
        try #require(!found.isEmpty, "\(text)")
        let damaged = text.replacingCharacters(in: found, with: new)
        #expect(throws: error) { try BondDocument.read([UInt8](damaged.utf8)) }
        let folder = try Folder()
        let descriptor = creat(folder.file, 0o600)
        _ = [UInt8](damaged.utf8).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
        #expect(throws: error) { try BondFile(changing: folder.file) }
        var found2 = stat()
        #expect(stat(folder.file, &found2) == 0 && found2.st_size == damaged.utf8.count)
    }

    static let databases: [(name: String, declaration: UInt16, value: UInt16, end: UInt16, descriptor: UInt16, isInOrder: Bool)] = [
        ("in order", 2, 3, 4, 4, true), ("no handle", 0, 3, 4, 4, false), ("a value before its declaration", 3, 2, 4, 4, false),
        ("a value beyond", 2, 5, 4, 6, false), ("an end beyond the service", 2, 3, 9, 4, false), ("a descriptor before", 2, 3, 4, 3, false),
        ("a descriptor beyond", 2, 3, 4, 5, false),
    ]

    /// A database discovered on a server is stored only if the file accepts it.
    @Test(arguments: databases)
    func aDatabaseIsKeptInOrder(name: String, declaration: UInt16, value: UInt16, end: UInt16, descriptor: UInt16, isInOrder: Bool) {
        let characteristic = RemoteCharacteristic(
            uuid: 0x2A19, properties: .read, declaration: declaration, value: value, endHandle: end)
        let service = RemoteDatabase.Service(
            service: RemoteService(uuid: 0x180F, handle: 1, endHandle: 8),
            characteristics: [.init(characteristic: characteristic, descriptors: [RemoteDescriptor(uuid: 0x2902, handle: descriptor)])])
        let database = RemoteDatabase(hash: [UInt8](0..<16), services: [service])
        #expect(database.isInOrder == isInOrder)
        let keys = KeyStore()
        let bond = Bond(DeviceAddress(value: 1), localLongTermKey: LongTermKey([UInt8](1...16)))
        keys.add(bond)
        keys.keep(database, of: PeerIdentity(bond.identity))
        #expect(((try? BondDocument.read(BondDocument.text(of: keys))) != nil) == isInOrder)
    }
}

extension String {
    /// The text with the last of the ranges replaced.
    fileprivate func replacingCharacters(in ranges: [Range<String.Index>], with text: String) -> String {
        guard let range = ranges.last else { return self }
        return String(self[..<range.lowerBound]) + text + String(self[range.upperBound...])
    }
}
