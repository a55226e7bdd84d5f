import BBHost
import BBMisbehaviour
import BBPackets

extension AccessoryConduct {
    /// All quirks of the bench's accessory.
    package static let allQuirks = Quirks(databaseQuirks + procedureQuirks + pairingQuirks + classicQuirks + bearerQuirks)

    private static let unsupported = "Core Vol 3, Part F, 4: support of the request is optional"

    private static let databaseQuirks: [Quirk<AccessoryConduct>] = [
        .number(
            "server-mtu", .accessory, 23...65_535, \.mtu, allowedBy: "Core Vol 3, Part F, 3.4.2.2: 23 to 65535", "has this Server Rx MTU"),
        .number(
            "services-before", .accessory, 0...100, \.servicesBefore, allowedBy: "Core Vol 3, Part F, 3.2.2: handles ascend, with gaps",
            "has N more services before its own"),
        .number(
            "services-after", .accessory, 0...100, \.servicesAfter, allowedBy: "Core Vol 3, Part F, 3.2.2: handles ascend, with gaps",
            "has N more services after its own"),
        .flag(
            "spare-declarations", .accessory, \.hasSpareDeclarations,
            allowedBy: "Core Vol 3, Part G, 3.3.1.1 and 3.3.3.1: the descriptor does not require the property",
            "has Characteristic Extended Properties without the property, and a characteristic without properties"),
        .flag(
            "generic-access-whole", .accessory, \.hasAllOfGenericAccess, allowedBy: "Core Vol 3, Part C, 12: optional for a peripheral",
            "has the optional characteristics of the Generic Access service, which is its last service"),
        .flag(
            "protects-parameters", .accessory, \.protectsParameters,
            allowedBy: "Core Vol 3, Part C, 12.3: a server chooses the permissions to read them",
            "has the optional characteristics of the Generic Access service; its preferred parameters need encryption"),
        .flag(
            "control-points", .accessory, \.hasControlPoints,
            allowedBy: "Core Vol 3, Part G, 2.6: a server has the services of its profiles",
            "has a Heart Rate Control Point and an SC Control Point"),
        lacks("lacks-read-multiple", [ATT.ReadMultipleReq.opcode, ATT.ReadMultipleVariableReq.opcode], "reading of several values"),
        lacks("lacks-read-blob", [ATT.ReadBlobReq.opcode], "reading of long values"),
        lacks("lacks-writes", [ATT.WriteReq.opcode, ATT.PrepareWriteReq.opcode, ATT.ExecuteWriteReq.opcode], "acknowledged writing"),
        .number(
            "busy-every", .accessory, 0...100, \.server.busyEvery,
            allowedBy: "Core Vol 3, Part F, 3.4.1.1: 0x80 to 0x9F are for the higher layer",
            "refuses each n-th read with an application error"),
        .flag(
            "tells-not-long", .accessory, \.server.tellsNotLong,
            allowedBy: "Core Vol 3, Part F, 3.4.4.5: Attribute Not Long may be returned",
            "refuses ATT_READ_BLOB_REQ for a value that fits into ATT_READ_RSP"),
        .flag(
            "asks-for-encryption", .accessory, \.server.asksForEncryption, allowedBy: "Core Vol 3, Part F, 4: either error may be sent",
            "reports insufficient encryption where authentication is missing, too"),
    ]

    private static let procedureQuirks: [Quirk<AccessoryConduct>] = [
        .number(
            "advertising-interval", .accessory, 20...10_240, \.advertisingInterval,
            allowedBy: "Core Vol 4, Part E, 7.8.5: 20 ms to 10.24 s; Core Vol 3, Part C, 9.3.11 only recommends less",
            "advertises at this interval in ms"),
        .number(
            "accessory-links", .accessory, 1...8, \.links,
            allowedBy: "Core Vol 3, Part C, 9.3.4: an application decides when it is connectable",
            "has at most N connections at a time"),
        asks("asks-for-parameters", \.asksForParameters, "Core Vol 3, Part A, 4.20: at any time", "other connection parameters"),
        asks("asks-for-phy", \.asksForPHY, anyTime, "another PHY"),
        asks("asks-for-data-length", \.asksForDataLength, anyTime, "a longer data length"),
        asks("asks-for-features", \.asksForFeatures, anyTime, "the features of the peer"),
        asks("exchanges-mtu", \.exchangesMTU, "Core Vol 3, Part F, 3.4.2: a client may ask once", "another ATT_MTU"),
        time(
            "accessory-delay", 0...10_000, \.delay, anyTime,
            "starts its procedures this long after a connection begins, and ends an unencrypted link after the same time"),
    ]

    private static let pairingQuirks: [Quirk<AccessoryConduct>] = [
        lacks("does-not-pair", \.pairs, "Core Vol 3, Part H, 3.5.5: Pairing Not Supported", "does not pair"),
        lacks("does-not-bond", \.bonds, "Core Vol 3, Part H, 2.3.1: bonding is optional", "does not bond"),
        lacks(
            "lacks-le-secure-connections", \.hasSecureConnections, "Core Vol 3, Part H, 2.3.1: optional",
            "does not have LE Secure Connections"),
        .number(
            "least-key-size", .accessory, 7...16, \.leastKeySize, allowedBy: "Core Vol 3, Part H, 2.3.4: 7 to 16 octets",
            "accepts keys of at least N octets"),
        .number(
            "most-key-size", .accessory, 7...16, \.mostKeySize, allowedBy: "Core Vol 3, Part H, 2.3.4: 7 to 16 octets",
            "has keys of at most N octets"),
        .flag(
            "asks-for-security", .accessory, \.asksForSecurity, allowedBy: "Core Vol 3, Part H, 2.4.6: a peripheral may ask",
            "sends a Security Request"),
        Quirk(
            QuirkDeclaration(
                "io-capability", .accessory, .number(0...4), allowedBy: "Core Vol 3, Part H, 2.3.2: the device chooses it",
                "has this IO capability")
        ) { $0.io = IOCapability(rawValue: UInt8(clamping: $1.number)) },
        .flag(
            "asks-for-mitm", .accessory, \.asksForMITM, allowedBy: "Core Vol 3, Part H, 2.3.5.1: the device chooses it",
            "asks for protection against man-in-the-middle attacks"),
        .flag(
            "leaves-after-failure", .accessory, \.leavesAfterFailure, allowedBy: "Core Vol 3, Part C, 9.3.10: at any time",
            "ends the link after a failed pairing"),
        .flag(
            "leaves-unencrypted", .accessory, \.leavesUnencrypted, allowedBy: "Core Vol 3, Part C, 9.3.10: at any time",
            "ends the link of a bonded central that does not encrypt it"),
        time("user-takes", 0...20_000, \.userTakes, "Core Vol 3, Part H, 3.4: the SMP timeout is 30 s", "its user answers after this time"),
        .flag(
            "distributes-no-keys", .accessory, \.keepsKeysToItself, allowedBy: "Core Vol 3, Part H, 3.6.1: the device chooses its keys",
            "distributes no keys"),
        .flag(
            "restarts-at-changes", .accessory, \.restartsAtChanges, allowedBy: "Core Vol 3, Part C, 9.3.10: at any time",
            "ends the link when its services change"),
        .flag(
            "no-irk", .accessory, \.hasNoIRK, allowedBy: "Core Vol 3, Part H, 3.6.4: an IRK of zeros means that there is none",
            "has no private addresses"),
    ]

    private static let classicQuirks: [Quirk<AccessoryConduct>] = [
        .number(
            "most-list-octets", .profiles, 7...65_535, \.classic.mostListOctets,
            allowedBy: "Core Vol 3, Part B, 4.6.1: the server decides where to divide", "divides SDP lists after N octets"),
        .number(
            "credit-window", .profiles, 1...255, \.classic.creditWindow, allowedBy: "RFCOMM 1.2, 6.5: left to the device",
            "lets N RFCOMM frames be outstanding"),
    ]

    private static let bearerQuirks: [Quirk<AccessoryConduct>] = [
        .number(
            "most-bearers", .att, 1...5, \.bearers.most, allowedBy: "Core Vol 3, Part G, 5.4: a device may have limited resources",
            "has at most N Enhanced ATT bearers on a connection"),
        bearer("bearer-mtu", 64...65_535, \.mtu, "accepts PDUs of N octets on an Enhanced ATT bearer"),
        bearer("bearer-mps", 64...65_533, \.mps, "accepts K-frames of N octets on an Enhanced ATT bearer"),
        bearer("bearer-credits", 1...65_535, \.initialCredits, "gives N credits at first on an Enhanced ATT bearer"),
    ]

    /// A limit of the channel of an Enhanced ATT bearer.
    private static func bearer(
        _ name: String, _ range: ClosedRange<Int>, _ field: WritableKeyPath<CreditBasedChannelSettings, UInt16> & Sendable, _ text: String
    ) -> Quirk<Self> {
        Quirk(
            QuirkDeclaration(name, .att, .number(range), allowedBy: "Core Vol 3, Part A, 4.26: 64 octets and one credit at least", text)
        ) { $0.bearers.channel[keyPath: field] = UInt16(clamping: $1.number) }
    }

    private static let anyTime = "Core Vol 6, Part B, 5.1: either side may start these procedures at any time"

    private static func asks(_ name: String, _ field: Quirk<Self>.Field<Bool>, _ allowedBy: String, _ what: String) -> Quirk<Self> {
        .flag(name, .accessory, field, allowedBy: allowedBy, "asks for \(what) on each new connection")
    }

    /// A flag that switches a field off.
    private static func lacks(_ name: String, _ field: Quirk<Self>.Field<Bool>, _ allowedBy: String, _ text: String) -> Quirk<Self> {
        Quirk(QuirkDeclaration(name, .accessory, allowedBy: allowedBy, text)) { $0[keyPath: field] = !$1.isOn }
    }

    private static func lacks(_ name: String, _ requests: Set<UInt8>, _ what: String) -> Quirk<Self> {
        Quirk(QuirkDeclaration(name, .accessory, allowedBy: unsupported, "does not support \(what)")) {
            if $1.isOn { $0.server.withoutRequests.formUnion(requests) }
        }
    }

    private static func time(
        _ name: String, _ range: ClosedRange<Int>, _ field: Quirk<Self>.Field<Microseconds>, _ allowedBy: String, _ text: String
    ) -> Quirk<Self> {
        Quirk(QuirkDeclaration(name, .accessory, .milliseconds(range), allowedBy: allowedBy, text)) {
            $0[keyPath: field] = .milliseconds($1.milliseconds.upperBound)
        }
    }
}
