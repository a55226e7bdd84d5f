import BBMisbehaviour
import BBPackets

extension HostQuirks {
    /// All defects of a host by name.
    public static let all = Quirks(attributeQuirks + advertisingQuirks + pairingQuirks + channelQuirks + bearerQuirks + clientQuirks)

    private static let attributeQuirks: [Quirk<HostQuirks>] = [
        .flag("never-confirms", .att, \.neverConfirms, violates: "Core Vol 3, Part F, 3.4.7.3", "never sends ATT_HANDLE_VALUE_CFM"),
        .number(
            "used-mtu", .att, 23...65_535, \.usedMTU, violates: "Core Vol 3, Part F, 3.4.2.2", "uses this ATT_MTU instead of the agreed one"
        ),
        .flag("ignores-permissions", .att, \.ignoresPermissions, violates: "Core Vol 3, Part F, 4", "allows all reads and writes"),
        .flag(
            "long-read-off-by-one", .att, \.longReadOffByOne, violates: "Core Vol 3, Part F, 3.4.4.6",
            "answers ATT_READ_BLOB_REQ with the octets from offset + 1 on"),
        .flag(
            "forgets-prepared-writes", .att, \.forgetsPreparedWrites, violates: "Core Vol 3, Part F, 3.4.6.3",
            "confirms ATT_PREPARE_WRITE_REQ, but does not execute the write"),
        .flag(
            "duplicates-notifications", .gatt, \.duplicatesNotifications, violates: "Core Vol 3, Part G, 4.10.1",
            "sends each notification twice"),
        .flag(
            "notifies-unasked", .gatt, \.notifiesUnasked, violates: "Core Vol 3, Part G, 3.3.3.3",
            "sends notifications and indications to clients that have not subscribed"),
        .flag(
            "loses-first-part", .att, \.losesFirstPart, violates: "Core Vol 3, Part F, 3.4.6.3",
            "writes all prepared parts except the first"),
        .flag(
            "ignores-part-offsets", .att, \.ignoresPartOffsets, violates: "Core Vol 3, Part F, 3.4.6.3",
            "joins prepared parts from last to first, ignoring offsets"),
        .flag(
            "indicates-without-waiting", .att, \.indicatesWithoutWaiting, violates: "Core Vol 3, Part F, 3.3.2",
            "sends an indication before the previous one is confirmed"),
        .flag(
            "answers-unknown-commands", .att, \.answersUnknownCommands, violates: "Core Vol 3, Part F, 3.3",
            "answers unknown commands with an error"),
        .flag(
            "claims-all-properties", .gatt, \.claimsAllProperties, violates: "Core Vol 3, Part G, 3.3.1.1",
            "declares the properties read, write and notify on every characteristic"),
        .flag("ignores-key-size", .att, \.ignoresKeySize, violates: "Core Vol 3, Part F, 4", "accepts keys of any size"),
        .flag(
            "ignores-sign-counter", .att, \.ignoresSignCounter, violates: "Core Vol 3, Part H, 2.4.5",
            "accepts signed writes with any counter"),
        .flag(
            "ignores-signature", .att, \.ignoresSignature, violates: "Core Vol 3, Part F, 3.4.5.4",
            "accepts signed writes with any signature"),
        .flag(
            "trusts-addresses", .gatt, \.trustsAddresses, violates: "Core Vol 3, Part G, 3.3.3.3",
            "uses data stored with a bond on unencrypted links, too"),
        .flag(
            "takes-values-in-clear", .gatt, \.takesValuesInClear, violates: "Core Vol 3, Part C, 10.3.2.2",
            "passes values of a bonded server on before the link is encrypted"),
        .flag("hides-changes", .gatt, \.hidesChanges, violates: "Core Vol 3, Part G, 7.1", "does not indicate database changes"),
        Quirk(
            QuirkDeclaration(
                "error-code", .att, .number(1...255), violates: "Core Vol 3, Part F, 3.4.1.1",
                "uses this error code for every rejected request")
        ) { $0.errorCode = ATTErrorCode(UInt8(clamping: $1.number)) },
        .flag(
            "host-resolves-no-address", .gatt, \.resolvesNoAddress, violates: "Core Vol 3, Part C, 10.8.2.3",
            "does not resolve private addresses"),
    ]

    private static let advertisingQuirks: [Quirk<HostQuirks>] = [
        .flag(
            "repeats-randomizer", .gap, \.advertising.repeatsRandomizer, violates: "Core Supplement, Part A, 1.23.4",
            "encrypts each payload of advertising data with the same randomizer"),
        .flag(
            "reverses-advertising-iv", .gap, \.advertising.reversesIV, violates: "Core Supplement, Part A, 1.23.3",
            "encrypts advertising data with the octets of the IV in reverse order"),
        .flag(
            "accepts-any-advertising-mic", .gap, \.advertising.acceptsAnyMIC, violates: "Core Supplement, Part A, 1.23.3",
            "accepts encrypted advertising data with any MIC"),
        .flag(
            "exposes-advertising-keys", .gap, \.advertising.exposesKeys, violates: "Core Vol 3, Part C, 12.6",
            "lets everybody read its Encrypted Data Key Material"),
        .flag(
            "hides-new-advertising-keys", .gap, \.advertising.hidesNewKeys, violates: "Core Vol 3, Part C, 12.6",
            "does not indicate new key material"),
    ]

    private static let pairingQuirks: [Quirk<HostQuirks>] = [
        .flag(
            "accepts-any-confirm", .smp, \.pairing.acceptsAnyConfirm, violates: "Core Vol 3, Part H, 2.3.5.5", "accepts any confirm value"),
        .flag(
            "accepts-any-dhkey-check", .smp, \.pairing.acceptsAnyDHKeyCheck, violates: "Core Vol 3, Part H, 2.3.5.6.5",
            "accepts any DHKey check"),
        .flag(
            "skips-curve-check", .smp, \.pairing.skipsCurveCheck, violates: "Core Vol 3, Part H, 2.3.5.6.1",
            "accepts a public key that is not on the curve"),
        .flag(
            "accepts-reflected-key", .smp, \.pairing.acceptsReflectedKey, violates: "Core Vol 3, Part H, 2.3.5.6.1",
            "accepts its own public key"),
        .flag(
            "ignores-minimum-key-size", .smp, \.pairing.ignoresMinimumKeySize, violates: "Core Vol 3, Part H, 2.3.4",
            "accepts keys shorter than its minimum"),
        .flag(
            "ignores-minimum-level", .smp, \.pairing.ignoresMinimumLevel, violates: "Core Vol 3, Part C, 10.2.4",
            "accepts pairing below its minimum security level"),
        .flag(
            "accepts-any-key-size", .smp, \.pairing.acceptsAnyKeySize, violates: "Core Vol 3, Part H, 2.3.4", "accepts invalid key sizes"),
        .flag(
            "allows-repeated-attempts", .smp, \.pairing.allowsRepeatedAttempts, violates: "Core Vol 3, Part H, 2.3.6",
            "responds after any number of failed attempts"),
        .flag(
            "claims-out-of-band-data", .smp, \.pairing.claimsOutOfBandData, violates: "Core Vol 3, Part H, 2.3.5.1",
            "sets its OOB data flag without the peer's data, and computes with zeros"),
        .flag(
            "believes-out-of-band-flag", .smp, \.pairing.believesOutOfBandFlag, violates: "Core Vol 3, Part H, 2.3.5.6.4",
            "counts a peer's OOB data flag as authentication although no data was created"),
        .flag("overrates-keys", .smp, \.pairing.overratesKeys, violates: "Core Vol 3, Part C, 14.1", "counts every key as authenticated"),
        .flag(
            "keeps-old-bond", .smp, \.pairing.keepsOldBond, violates: "Core Vol 3, Part C, 9.4.4",
            "keeps its bond when the peer pairs again"),
        .flag(
            "uses-random-as-key", .smp, \.pairing.usesRandomAsKey, violates: "Core Vol 3, Part H, 2.3.5.5",
            "encrypts with the peer's random number in LE legacy pairing"),
        .flag(
            "repeats-passkey", .smp, \.pairing.repeatsPasskey, violates: "Core Vol 3, Part H, 2.3.5.6.3",
            "displays the same passkey each time"),
        .flag(
            "sets-reserved-bits", .smp, \.pairing.setsReservedBits, violates: "Core Vol 3, Part H, 3.5.1",
            "sets the reserved bits of AuthReq"),
        .flag(
            "accepts-own-confirm", .smp, \.pairing.acceptsOwnConfirm, violates: "Core Vol 3, Part H, 2.3.5.5",
            "accepts its own confirm value from the responder in LE legacy pairing"),
        .flag(
            "repeats-nonces", .smp, \.pairing.repeatsNonces, violates: "Core Vol 3, Part H, 2.3.5.6.2", "uses the same nonce each time"),
        .flag(
            "takes-one-flag", .smp, \.pairing.takesOneFlag, violates: "Core Vol 3, Part H, 2.3.5.1",
            "uses out-of-band data in LE legacy pairing although only one device has them"),
        .flag(
            "outlives-time-out", .smp, \.pairing.outlivesTimeOut, violates: "Core Vol 3, Part H, 3.4",
            "continues a pairing after the time-out of 30 s"),
        .flag(
            "cuts-time-out-short", .smp, \.pairing.cutsTimeOutShort, violates: "Core Vol 3, Part H, 3.4",
            "ends a pairing 10 s before the time-out of 30 s"),
        .flag(
            "computes-with-zero-key", .smp, \.pairing.computesWithZeroKey, violates: "Core Vol 3, Part H, 2.3.5.6.1",
            "computes with a DHKey of zeros"),
        .flag(
            "pairs-again-unasked", .smp, \.pairing.pairsAgainUnasked, violates: "Core Vol 3, Part C, 10.3.2",
            "pairs again with a bonded device without asking its user"),
        .flag(
            "misderives-keys", .smp, \.pairing.misderivesKeys, violates: "Core Vol 3, Part H, 2.4.2.4",
            "derives keys from a different input than the peer"),
        .flag(
            "ignores-ct2", .smp, \.pairing.ignoresCT2, violates: "Core Vol 3, Part H, 2.4.2.4", "uses h6 although both devices support h7"),
        .flag(
            "derives-from-weak-keys", .smp, \.pairing.derivesFromWeakKeys, violates: "Core Vol 3, Part H, 2.4.2.4",
            "derives keys from LE legacy pairing and from P-192 keys"),
        .flag(
            "replaces-stronger-link-keys", .smp, \.pairing.replacesStrongerLinkKeys, violates: "Core Vol 3, Part C, 14.1",
            "replaces a stronger link key by a derived one"),
        .flag(
            "replaces-stronger-long-term-keys", .smp, \.pairing.replacesStrongerLongTermKeys, violates: "Core Vol 3, Part C, 14.1",
            "replaces a stronger LTK by a derived one"),
        .flag(
            "derives-unasked", .smp, \.pairing.derivesUnasked, violates: "Core Vol 3, Part H, 2.4.2.4",
            "derives a link key that was not negotiated"),
        .flag("derives-no-link-key", .smp, \.pairing.derivesNoLinkKey, violates: "Core Vol 3, Part H, 2.4.2.4", "derives no link key"),
        .flag("derives-no-long-term-key", .smp, \.pairing.derivesNoLongTermKey, violates: "Core Vol 3, Part H, 2.4.2.5", "derives no LTK"),
        .flag(
            "keeps-old-link-key", .smp, \.pairing.keepsOldLinkKey, violates: "Core Vol 3, Part C, 14.1",
            "keeps the existing link key instead of a new one"),
        .flag(
            "keeps-old-long-term-key", .smp, \.pairing.keepsOldLongTermKey, violates: "Core Vol 3, Part H, 2.4.2.5",
            "keeps the existing LTK instead of a derived one"),
        .flag(
            "pairs-for-bonding", .smp, \.pairing.pairsForBonding, violates: "Core Vol 3, Part C, 4.3.1",
            "accepts dedicated bonding over BR/EDR in non-bondable mode"),
        .flag(
            "pairs-twice", .smp, \.pairing.pairsTwice, violates: "Core Vol 3, Part C, 14.1",
            "pairs over BR/EDR although there is a link key"),
        .flag(
            "pages-first", .smp, \.pairing.pagesFirst, violates: "Core Vol 3, Part C, 14.1",
            "connects over BR/EDR before the LE link is encrypted"),
    ]

    private static let channelQuirks: [Quirk<HostQuirks>] = [
        .flag(
            "ignores-frame-check", .l2cap, \.channels.frames.ignoresCheck, violates: "Core Vol 3, Part A, 3.3.5",
            "accepts frames with a wrong FCS"),
        .flag(
            "repeats-sequence", .l2cap, \.channels.frames.repeatsSequence, violates: "Core Vol 3, Part A, 8.3",
            "uses the same number for all I-frames"),
        .flag(
            "skips-sequence", .l2cap, \.channels.frames.skipsSequence, violates: "Core Vol 3, Part A, 8.3",
            "numbers I-frames from 1 on in place of 0"),
        .flag(
            "acknowledges-less", .l2cap, \.channels.frames.acknowledgesLess, violates: "Core Vol 3, Part A, 8.6.1",
            "acknowledges one I-frame less than it has received"),
        .flag(
            "ends-segments-early", .l2cap, \.channels.frames.endsEarly, violates: "Core Vol 3, Part A, 3.3.2",
            "marks continuations of an SDU as its end"),
        .flag(
            "sets-reserved-frame-bits", .l2cap, \.channels.frames.setsReservedBits, violates: "Core Vol 3, Part A, 3.3.2",
            "sets the reserved bits of S-frames"),
        .flag(
            "ignores-remote-busy", .l2cap, \.channels.ignoresRemoteBusy, violates: "Core Vol 3, Part A, 8.6.1.3",
            "sends although the peer is not ready"),
        .flag(
            "ignores-window", .l2cap, \.channels.ignoresWindow, violates: "Core Vol 3, Part A, 8.6.2",
            "sends more I-frames than the peer's window allows"),
        .flag(
            "delivers-repetitions", .l2cap, \.channels.deliversRepetitions, violates: "Core Vol 3, Part A, 8.6.1",
            "delivers repeated I-frames"),
        .number(
            "channel-mps", .l2cap, 64...65_533, \.channels.offeredMPS, allowedBy: "Core Vol 3, Part A, 4.22",
            "offers this MPS on credit-based channels"),
        .number(
            "channel-credits", .l2cap, 1...65_535, \.channels.offeredCredits, allowedBy: "Core Vol 3, Part A, 4.22",
            "offers this number of credits on credit-based channels at first"),
        .flag(
            "channel-credits-later", .l2cap, \.channels.offersNoCredits, allowedBy: "Core Vol 3, Part A, 4.22 and 4.23: 0 to 65535",
            "gives the first credits of a channel in LE credit-based mode when it is open"),
        .flag(
            "channel-credits-for-sdus", .l2cap, \.channels.creditsWholeSDUs,
            allowedBy: "Core Vol 3, Part A, 10.1: the number and the time of credits are the receiver's choice",
            "gives credits for whole SDUs only, at first those of the longest one"),
        .number(
            "channel-limit", .l2cap, 1...64, \.channels.mostChannels, allowedBy: "Core Vol 3, Part A, 4.23 and 4.26",
            "has resources for this number of credit-based channels on an LE link"),
        .flag("ignores-rfcomm-credits", .profiles, \.channels.ignoresCredits, violates: "RFCOMM 1.2, 6.5", "sends without credits"),
        .flag(
            "ignores-rfcomm-frame-size", .profiles, \.channels.ignoresFrameSize, violates: "TS 07.10, 5.4.6.3.1",
            "sends longer frames than agreed"),
        .flag(
            "forgets-continuation", .profiles, \.channels.forgetsContinuation, violates: "Core Vol 3, Part B, 4.3",
            "answers every continuation state with the first part"),
        .flag(
            "stays-in-clear", .l2cap, \.channels.staysInClear, violates: "Core Vol 3, Part C, 5.2.2",
            "does not end an unencrypted BR/EDR link on which a protected service was requested"),
        .flag(
            "requests-in-clear", .l2cap, \.channels.requestsInClear, violates: "Core Vol 3, Part C, 5.2.2.1",
            "requests channels over BR/EDR without raising the security of the link"),
        .flag(
            "ignores-security-levels", .l2cap, \.channels.ignoresLevels, violates: "Core Vol 3, Part C, 5.2.2.8",
            "takes security mode 4 level 2 for every level above it"),
        .flag("hides-records", .profiles, \.channels.hidesRecords, violates: "Core Vol 3, Part B, 2.7.1", "finds no records"),
        .flag(
            "admits-in-clear", .l2cap, \.channels.admitsInClear, violates: "Core Vol 3, Part C, 5.2.2.8",
            "accepts all channels on an unencrypted link"),
        .flag(
            "exchanges-mtu-over-bredr", .att, \.channels.exchangesMTU, violates: "Core Vol 3, Part G, 4.3.1",
            "exchanges ATT_MTU over BR/EDR"),
    ]
}
