import BBHost
import BBMisbehaviour
import BBPackets
import BBTiming

extension UpperTesterQuirks {
    /// All quirks of an upper tester by name.
    public static let all = Quirks(protocolQuirks + applicationQuirks + pairingQuirks)

    private static let protocolQuirks: [Quirk<Self>] = [
        time("answers-late", \.answerDelay, "Bluetooth Test Protocol: no time limit", "sends each response this much later"),
        time("events-late", \.eventDelay, "Bluetooth Test Protocol: no time limit", "sends each event this much later"),
        .number(
            "splits-messages", .upperTester, 1...1024, \.pieceLength, allowedBy: "Bluetooth Test Protocol: a stream of octets",
            "sends its messages in pieces of N octets"),
        time("joins-messages", \.collectionTime, "Bluetooth Test Protocol: a stream of octets", "sends its messages of this time together"),
        .flag(
            "starts-silently", .upperTester, \.startsSilently, allowedBy: "Bluetooth Test Protocol: a tester may connect later",
            "does not report that it is ready"),
        Quirk(
            QuirkDeclaration(
                "lacks-messages", .upperTester, .names(CommandGroup.allCases.map(\.rawValue)),
                allowedBy: "Bluetooth Test Protocol: every service and command is optional", "does not have these commands")
        ) { $0.lacks = Set($1.names.compactMap(CommandGroup.init)) },
    ]

    private static let applicationQuirks: [Quirk<Self>] = [
        .number(
            "host-mtu", .upperTester, 23...65_535, \.offeredMTU, allowedBy: "Core Vol 3, Part F, 3.4.2.2: 23 to 65535",
            "offers this ATT_MTU"),
        .number(
            "host-services-before", .upperTester, 0...100, \.servicesBefore,
            allowedBy: "Core Vol 3, Part F, 3.2.2: handles ascend, with gaps", "has N services before those of the tester"),
        .flag(
            "withholds-unsubscribed", .upperTester, \.withholdsUnsubscribed,
            allowedBy: "Core Vol 3, Part G, 4.10 and 4.11: the client confirms; the rest is the application's",
            "reports no value on a connection on which the tester has not subscribed"),
        .flag(
            "host-exchanges-mtu", .upperTester, \.exchangesMTU, allowedBy: "Core Vol 3, Part F, 3.4.2: a client may ask once",
            "asks for another ATT_MTU on each new connection"),
        .flag(
            "host-asks-for-parameters", .upperTester, \.asksForParameters, allowedBy: "Core Vol 3, Part A, 4.20: at any time",
            "asks for other connection parameters on each new connection as a peripheral"),
        .flag(
            "host-asks-for-security", .upperTester, \.asksForSecurity, allowedBy: "Core Vol 3, Part H, 2.4.6: a peripheral may ask",
            "sends a Security Request on each new connection as a peripheral"),
        .flag(
            "host-broadcasts-privately", .upperTester, \.broadcastsPrivately,
            allowedBy: "Core Vol 3, Part C, 10.7.1: a private address in non-connectable mode",
            "advertises under a non-resolvable private address while it is not connectable"),
        .flag(
            "host-advertises-extended", .upperTester, \.advertisesExtended,
            allowedBy: "Core Vol 4, Part E, 7.8.53: Advertising_Event_Properties without legacy advertising PDUs",
            "advertises with extended events, and has its scan response in the advertising data"),
        .flag(
            "host-hides-silently", .upperTester, \.hidesSilently,
            allowedBy: "Core Vol 3, Part C, 9.2.2.2: a device that is not discoverable may advertise",
            "sends no advertising events while it is neither connectable nor discoverable"),
        .number(
            "host-advertising-interval", .upperTester, 20...10_240, \.advertisingInterval,
            allowedBy: "Core Vol 4, Part E, 7.8.5: 20 ms to 10.24 s; Core Vol 3, Part C, 9.3.11 only recommends less",
            "advertises at this interval in ms"),
        .flag(
            "host-protects-parameters", .upperTester, \.protectsParameters,
            allowedBy: "Core Vol 3, Part C, 12.3: a server chooses the permissions to read them",
            "has Peripheral Preferred Connection Parameters, which it shows on an encrypted link only"),
        .flag(
            "host-keeps-private-address", .upperTester, \.keepsPrivateAddress, violates: "Core Vol 3, Part C, 10.7.3",
            "never changes the non-resolvable private address under which it advertises"),
        .flag(
            "host-directs-unresolved", .upperTester, \.directsUnresolved, violates: "Core Vol 3, Part C, 10.7.1.1",
            "directs advertising to a private address of a peer that is not known to resolve addresses"),
        .flag(
            "host-stays-discoverable", .upperTester, \.staysDiscoverable, violates: "Core Vol 3, Part C, 4.1.2",
            "does not end limited discoverable mode over BR/EDR"),
        .number(
            "host-pads-encrypted-data", .upperTester, 0...16, \.paddingLength,
            allowedBy: "Core Supplement, Part A, 1.23: non-significant data after the structures, from 6.2",
            "encrypts N zeros after the structures of encrypted advertising data"),
    ]

    private static let pairingQuirks: [Quirk<Self>] = [
        Quirk(
            QuirkDeclaration(
                "host-io-capability", .upperTester, .number(0...4), allowedBy: "Core Vol 3, Part H, 2.3.2: the device chooses it",
                "has this IO capability, and no other")
        ) { $0.ioCapability = IOCapability(rawValue: UInt8(clamping: $1.number)) },
        .flag(
            "host-lacks-secure-connections", .upperTester, \.lacksSecureConnections, allowedBy: "Core Vol 3, Part H, 2.3.1: optional",
            "does not have LE Secure Connections"),
        .flag(
            "host-does-not-bond", .upperTester, \.doesNotBond, allowedBy: "Core Vol 3, Part H, 2.3.1: bonding is optional",
            "does not bond"),
        .flag(
            "host-does-not-pair", .upperTester, \.doesNotPair, allowedBy: "Core Vol 3, Part H, 3.5.5: Pairing Not Supported",
            "does not pair"),
        .flag(
            "host-insists-on-mitm", .upperTester, \.insistsOnMITM,
            allowedBy: "Core Vol 3, Part H, 2.3.5.1: a device may refuse a key without MITM protection",
            "accepts authenticated pairing only, if it has IO capabilities"),
        .number(
            "host-most-key-size", .upperTester, 7...16, \.mostKeySize, allowedBy: "Core Vol 3, Part H, 2.3.4: 7 to 16 octets",
            "has keys of at most N octets"),
        .number(
            "host-least-key-size", .upperTester, 7...16, \.leastKeySize, allowedBy: "Core Vol 3, Part H, 2.3.4: 7 to 16 octets",
            "accepts keys of at least N octets only"),
        .flag(
            "host-secure-connections-only", .upperTester, \.isSecureConnectionsOnly,
            allowedBy: "Core Vol 3, Part C, 10.2.4: a device may be in Secure Connections Only mode",
            "is in Secure Connections Only mode"),
        .flag(
            "host-omits-ct2", .upperTester, \.omitsCT2, allowedBy: "Core Vol 3, Part H, 3.5.1: CT2 is set by a device with h7",
            "derives keys for the other transport by h6 only, and does not set CT2"),
        .number(
            "host-keys", .upperTester, 1...7, \.ownKeys, allowedBy: "Core Vol 3, Part H, 3.6.1: each device chooses its keys",
            "distributes these keys and asks for none: 1 LTK, 2 IRK, 4 CSRK"),
    ]

    private static func time(
        _ name: String, _ field: Quirk<Self>.Field<Microseconds>, _ allowedBy: String, _ text: String
    ) -> Quirk<Self> {
        Quirk(QuirkDeclaration(name, .upperTester, .milliseconds(0...10_000), allowedBy: allowedBy, text)) {
            $0[keyPath: field] = .milliseconds($1.milliseconds.upperBound)
        }
    }
}
