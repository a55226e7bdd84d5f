import BBBenchTesting
import BBPackets
import BBTiming
import BBTransport
import Testing

@testable import BBHost

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Several programs with one bond file: neither excludes the other, and what each of them learns is kept.
@Suite struct BondMergeTests {
    private static let address = DeviceAddress(value: 0xC0B1_BE00_0001, kind: .random)
    private static let peer = PeerIdentity(address)
    private static let other = DeviceAddress(value: 0xC0B1_BE00_0002, kind: .random)

    /// A bond whose keys are made of one octet.
    private static func bond(_ key: UInt8, of address: DeviceAddress = address) -> Bond {
        var bond = Bond(address, localLongTermKey: LongTermKey([UInt8](repeating: key, count: 16)), isSecureConnections: true)
        bond.localSigningKey = SigningKey([UInt8](repeating: key, count: 16), counter: 4)
        bond.peerSigningKey = SigningKey([UInt8](repeating: key, count: 16), counter: 6)
        return bond
    }

    private static func counting(_ own: UInt32, _ peers: UInt32) -> Bond {
        var bond = bond(1)
        bond.localSigningKey?.counter = own
        bond.peerSigningKey?.counter = peers
        return bond
    }

    private static func record(_ handle: UInt16) -> ClientRecord {
        var record = ClientRecord()
        record.configurations[handle] = 1
        return record
    }

    private static let database = RemoteDatabase(
        hash: [UInt8](0..<16), services: [.init(service: RemoteService(uuid: 0x180F, handle: 1, endHandle: 4), characteristics: [])])
    private static let linkKey = LinkKey([UInt8](repeating: 9, count: 16), .authenticatedCombinationP256)

    /// The changes of two programs that have read the same file with one bond; the second writes later.
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var first: @Sendable (KeyStore) -> Void
        var second: @Sendable (KeyStore) -> Void
        var holds: @Sendable (KeyStore) -> Bool
    }

    static let rows = [
        Row(
            testDescription: "two bonds", first: { $0.add(bond(2, of: other)) }, second: { $0.add(bond(3, of: DeviceAddress(value: 7))) },
            holds: {
                $0.all.count == 3
            }),
        Row(
            testDescription: "counters, each in one program", first: { $0.update(counting(9, 6)) }, second: { $0.update(counting(5, 8)) },
            holds: { $0.all == [counting(9, 8)] }),
        Row(
            testDescription: "a database and a subscription", first: { $0.keep(database, of: peer) },
            second: { $0.keep(record(3), of: peer) },
            holds: {
                $0.database(of: peer) == database && $0.client(of: peer) == record(3)
            }),
        Row(
            testDescription: "two subscriptions", first: { $0.keep(record(3), of: peer) }, second: { $0.keep(record(5), of: peer) },
            holds: {
                $0.client(of: peer) == record(5)
            }),
        Row(
            testDescription: "removed, then a counter", first: { $0.remove(peer) }, second: { $0.update(counting(9, 9)) },
            holds: { $0.all.isEmpty }),
        Row(
            testDescription: "a counter, then removed", first: { $0.update(counting(9, 9)) }, second: { $0.remove(peer) },
            holds: { $0.all.isEmpty }),
        Row(
            testDescription: "removed, then paired", first: { $0.remove(peer) }, second: { $0.add(bond(2)) }, holds: { $0.all == [bond(2)] }
        ),
        Row(
            testDescription: "paired, then removed", first: { $0.add(bond(2)) }, second: { $0.remove(peer) }, holds: { $0.all == [bond(2)] }
        ),
        Row(testDescription: "both removed", first: { $0.remove(peer) }, second: { $0.remove(peer) }, holds: { $0.all.isEmpty }),
        Row(testDescription: "paired twice", first: { $0.add(bond(2)) }, second: { $0.add(bond(3)) }, holds: { $0.all == [bond(3)] }),
        Row(
            testDescription: "paired, then a counter of the old keys", first: { $0.add(bond(2)) },
            second: { $0.update(counting(99, 99)) }, holds: { $0.all == [bond(2)] }),
        Row(
            testDescription: "a link key and LE keys of a new peer", first: { $0.keep(linkKey, of: BDADDR(7)) },
            second: { $0.add(bond(2, of: DeviceAddress(value: 7))) },
            holds: {
                let kept = $0[PeerIdentity(DeviceAddress(value: 7))]
                return kept?.linkKey == linkKey && kept?.localLongTermKey == bond(2).localLongTermKey
            }),
        Row(
            testDescription: "an address on the air of two peers",
            first: {
                var claimed = bond(2, of: other)
                claimed.addressOnAir = DeviceAddress(value: 5)
                $0.add(claimed)
            },
            second: {
                var claimed = bond(3)
                claimed.addressOnAir = DeviceAddress(value: 5)
                $0.add(claimed)
            }, holds: { $0.all.map(\.addressOnAir) == [DeviceAddress(value: 5), nil] }),
        Row(
            testDescription: "two identities", first: { $0.identityAddress = DeviceAddress(value: 1) },
            second: { $0.identityAddress = DeviceAddress(value: 2) }, holds: { $0.identityAddress == DeviceAddress(value: 1) }),
        Row(
            testDescription: "two IRKs", first: { $0.identityResolvingKey = [UInt8](1...16) },
            second: { $0.identityResolvingKey = [UInt8](2...17) }, holds: { $0.identityResolvingKey == [UInt8](1...16) }),
    ]

    @Test(arguments: rows) func nothingIsLostThatTwoLearnAtOnce(_ row: Row) throws {
        let folder = try BondFileTests.Folder()
        let (first, second) = (try BondFile(changing: folder.file), try BondFile(changing: folder.file))
        first.keys.add(Self.bond(1))
        second.keys.refresh()
        row.first(first.keys)
        row.second(second.keys)
        #expect(first.failure == nil && second.failure == nil)
        let kept = try BondFile.read(folder.file)
        #expect(row.holds(kept), "\(kept.kept)")
        first.keys.refresh()
        #expect(first.keys.content == kept.content && second.keys.content == kept.content, "both know all of it")
    }

    /// Each thread has a store of its own, and the first of them creates the file.
    @Test func programsThatWriteAtTheSameTimeWaitForOneAnother() throws {
        let folder = try BondFileTests.Folder()
        let path = folder.file
        let threads = (0..<4).map { number in
            SystemThread {
                guard let file = try? BondFile(changing: path) else { return }
                for bond in 0..<4 { file.keys.add(Bond(DeviceAddress(value: UInt64(10 * number + bond + 1)))) }
            }
        }
        for thread in threads { thread.join() }
        #expect(try BondFile.read(path).all.count == 16)
    }

    /// A host whose program runs for long knows a bond that another program has made, once the peer connects.
    @Test func aBondOfAnotherProgramIsKnownOnTheNextLink() throws {
        let folder = try BondFileTests.Folder()
        let (file, paired) = (try BondFile(changing: folder.file), try BondFile(changing: folder.file))
        try SimulatedHosts.run { hosts in
            hosts.peripheral.keys = file.keys
            let bond = Self.bond(1, of: SimulatedHosts.centralAddress)
            paired.keys.add(bond)
            #expect(file.keys.all.isEmpty)
            let links = try await hosts.link()
            #expect(links.peripheral.bond == bond)
        }
    }
}
