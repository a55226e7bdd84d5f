import BBMisbehaviour
import BBPackets

extension ControllerConfiguration {
    /// Defects of a virtual controller and its link layer.
    static let defects: [Quirk<ControllerConfiguration>] = [
        Quirk(
            QuirkDeclaration(
                "inter-frame-space", .linkLayer, .number(0...1_000), violates: "Core Vol 6, Part B, 4.1.1",
                "replies after N us instead of 150")
        ) { $0.quirks.interFrameSpace = Microseconds($1.number) },
        .number(
            "crc-octets", .linkLayer, 0...16, \.quirks.crcOctets, violates: "Core Vol 6, Part B, 2.1.4", "sends N octets of CRC"),
        .number(
            "extra-exchanges-per-event", .linkLayer, 0...100, \.quirks.extraExchangesPerEvent, violates: "Core Vol 6, Part B, 4.5.1",
            "begins N exchanges that no longer fit into the connection event"),
        .flag(
            "sequence-number-is-stuck", .linkLayer, \.quirks.sequenceNumberIsStuck, violates: "Core Vol 6, Part B, 4.5.9",
            "sends each new PDU with the sequence number of the previous one"),
        .number(
            "hop-offset", .linkLayer, 0...36, \.quirks.hopOffset, violates: "Core Vol 6, Part B, 4.5.8",
            "adds this number to each data channel of the hop sequence"),
        .number(
            "instant-offset", .linkLayer, -500...500, \.quirks.instantOffset, violates: "Core Vol 6, Part B, 5.1.1",
            "applies a change N connection events after its instant"),
        .flag(
            "never-retransmits", .linkLayer, \.quirks.neverRetransmits, violates: "Core Vol 6, Part B, 4.5.9",
            "treats each PDU as acknowledged as soon as it is sent"),
        .flag(
            "ignores-supervision-timeout", .linkLayer, \.quirks.ignoresSupervisionTimeout, violates: "Core Vol 6, Part B, 4.5.2",
            "keeps a silent link forever"),
        Quirk(
            QuirkDeclaration(
                "phy-answer", .linkLayer, .number(0...255), violates: "Core Vol 6, Part B, 5.1.10",
                "answers LL_PHY_REQ with this mask, whatever it supports and prefers")
        ) { $0.quirks.phyAnswer = PHYs(rawValue: UInt8(clamping: $1.number)) },
        .number(
            "data-length-answer", .linkLayer, 0...65_535, \.quirks.dataLengthAnswer, violates: "Core Vol 6, Part B, 5.1.9",
            "answers LL_LENGTH_REQ with N octets"),
        .flag(
            "no-advertising-delay", .linkLayer, \.quirks.hasNoAdvertisingDelay, violates: "Core Vol 6, Part B, 4.4.2.2.1",
            "advertises at exactly the interval, without advDelay"),
        .flag(
            "credits-at-once", .controller, \.quirks.creditsAtOnce, violates: "Core Vol 4, Part E, 4.1.1",
            "reports a packet as completed before the peer has acknowledged it"),
        .number(
            "varying-random-bits", .controller, 0...Int.max, \.quirks.varyingRandomBits, violates: "Core Vol 4, Part E, 7.8.23",
            "varies only the random bits of this mask"),
        .flag(
            "controller-resolves-no-address", .linkLayer, \.quirks.resolvesNoAddress, violates: "Core Vol 6, Part B, 6.3",
            "does not resolve private addresses"),
        .flag(
            "first-local-key", .linkLayer, \.quirks.usesFirstLocalKey, violates: "Core Vol 6, Part B, 6.2",
            "uses the local IRK of the first entry of its resolving list towards every peer"),
        Quirk(
            QuirkDeclaration(
                "reset-keeps", .controller, .names(ResetKeeps.named.keys.sorted()), violates: "Core Vol 4, Part E, 7.3.2",
                "does not clear these parts of its state at HCI_Reset")
        ) { for name in $1.names { $0.quirks.resetKeeps.formUnion(ResetKeeps.named[name] ?? []) } },
    ]

    static let periodicDefects: [Quirk<ControllerConfiguration>] = [
        .element(
            "train-ends-with-set", .linkLayer, \.quirks.periodic, .trainEndsWithSet, violates: "Core Vol 4, Part E, 7.8.63",
            "ends a periodic advertising train with the advertising of its set"),
        .element(
            "keeps-train-data", .linkLayer, \.quirks.periodic, .keepsTrainData, violates: "Core Vol 4, Part E, 7.8.62",
            "sends the periodic data with which the train began"),
        .element(
            "misplaces-train", .linkLayer, \.quirks.periodic, .misplacesTrain, violates: "Core Vol 6, Part B, 2.3.4.6",
            "announces each event of a train 600 us too early"),
        .element(
            "ignores-train-channels", .linkLayer, \.quirks.periodic, .ignoresTrainChannels, violates: "Core Vol 6, Part B, 4.4.3.4",
            "does not follow a train to other channels"),
        .element(
            "takes-any-train", .linkLayer, \.quirks.periodic, .takesAnyTrain, violates: "Core Vol 4, Part E, 7.8.67",
            "synchronises with any train of a sought advertiser"),
    ]

    static let encryptionDefects: [Quirk<ControllerConfiguration>] = [
        .element(
            "ignores-mic", .linkLayer, \.quirks.encryption, .ignoresMIC, violates: "Core Vol 6, Part B, 2.4", "accepts PDUs with any MIC"),
        .element(
            "keeps-packet-counters", .linkLayer, \.quirks.encryption, .keepsPacketCounters, violates: "Core Vol 6, Part E, 2.1",
            "begins a session with the packet counters of the previous one"),
        .element(
            "counts-retransmissions", .linkLayer, \.quirks.encryption, .countsRetransmissions, violates: "Core Vol 6, Part E, 2.1",
            "encrypts a retransmitted PDU again, with a new packet counter"),
        .element(
            "seals-empty-pdus", .linkLayer, \.quirks.encryption, .sealsEmptyPDUs, violates: "Core Vol 6, Part B, 2.4",
            "sends empty PDUs with a MIC"),
        .element(
            "sends-data-while-starting", .linkLayer, \.quirks.encryption, .sendsDataWhileStarting, violates: "Core Vol 6, Part B, 5.1.3.1",
            "sends data while encryption starts or pauses"),
        .element(
            "needs-no-key", .linkLayer, \.quirks.encryption, .needsNoKey, violates: "Core Vol 6, Part B, 5.1.3.1",
            "as a peripheral, encrypts with a key of zeros without asking its host"),
        .element(
            "repeats-session-halves", .linkLayer, \.quirks.encryption, .repeatsSessionHalves, violates: "Core Vol 6, Part B, 5.1.3.1",
            "sends the same half of SKD and IV in each session of a link"),
        .element(
            "takes-anything-while-starting", .linkLayer, \.quirks.encryption, .takesAnythingWhileStarting,
            violates: "Core Vol 6, Part B, 5.1.3.1", "accepts unencrypted data while encryption starts"),
        .element(
            "opens-repetitions", .linkLayer, \.quirks.encryption, .opensRepetitions, violates: "Core Vol 6, Part B, 4.5.9",
            "decrypts a repeated PDU, which fails its MIC, before it notices the repetition"),
    ]

    static let procedureDefects: [Quirk<ControllerConfiguration>] = [
        .element(
            "starts-beside-served", .linkLayer, \.quirks.procedures, .startsBesideServed, violates: "Core Vol 6, Part B, 5.3",
            "starts a procedure beside an incompatible one of the peer that it has answered"),
        .element(
            "encrypts-beside-others", .linkLayer, \.quirks.procedures, .encryptsBesideOthers, violates: "Core Vol 6, Part B, 5",
            "starts encryption while another of its procedures is open"),
        .element(
            "starts-beside-encryption", .linkLayer, \.quirks.procedures, .startsBesideEncryption, violates: "Core Vol 6, Part B, 5.1.3.1",
            "starts procedures while encryption starts or pauses"),
        .element(
            "answers-beside-encryption", .linkLayer, \.quirks.procedures, .answersBesideEncryption,
            violates: "Core Vol 6, Part B, 5.1.3.1", "answers requests of the peer while encryption starts or pauses"),
        .element(
            "rejects-no-collision", .linkLayer, \.quirks.procedures, .rejectsNoCollision, violates: "Core Vol 6, Part B, 5.3",
            "as a central, serves procedures of the peer that collide with its own"),
        .element(
            "rejection-clears-instants", .linkLayer, \.quirks.procedures, .rejectionClearsInstants, violates: "Core Vol 6, Part B, 5.3",
            "discards a pending instant when the peer rejects a procedure"),
        .element(
            "rejection-leaves-timeout", .linkLayer, \.quirks.procedures, .rejectionLeavesTimeout, violates: "Core Vol 6, Part B, 5.2",
            "leaves the response timeout of a rejected procedure running"),
        .element(
            "shares-timeout", .linkLayer, \.quirks.procedures, .sharesTimeout, violates: "Core Vol 6, Part B, 5.2",
            "restarts one response timeout with each step of any procedure"),
        .element(
            "ignores-requests-before-instants", .linkLayer, \.quirks.procedures, .ignoresRequestsBeforeInstants,
            violates: "Core Vol 6, Part B, 5.2", "ignores requests of the peer while an instant is pending"),
    ]

    static let bredrDefects: [Quirk<ControllerConfiguration>] = [
        .element(
            "ignores-poll-interval", .baseband, \.quirks.bredr, .ignoresPollInterval, violates: "Core Vol 2, Part B, 8.6.1",
            "as a central, polls at ten times the agreed interval"),
        .element(
            "takes-any-response", .baseband, \.quirks.bredr, .takesAnyResponse, violates: "Core Vol 2, Part C, 4.2.1",
            "accepts any LMP_sres"),
        .element(
            "takes-invalid-keys", .baseband, \.quirks.bredr, .takesInvalidKeys, violates: "Core Vol 2, Part H, 7.6",
            "accepts a public key that is not on the curve"),
        .element(
            "takes-own-key", .baseband, \.quirks.bredr, .takesOwnKey, violates: "Core Vol 2, Part H, 7.6",
            "accepts its own public key as the peer's"),
        .element(
            "takes-short-keys", .baseband, \.quirks.bredr, .takesShortKeys, violates: "Core Vol 2, Part C, 4.2.5",
            "accepts encryption keys shorter than its minimum"),
        .element(
            "repeats-random-numbers", .baseband, \.quirks.bredr, .repeatsRandomNumbers, violates: "Core Vol 2, Part H, 3.1",
            "uses the same random numbers in each procedure of a link"),
        .element(
            "takes-any-check", .baseband, \.quirks.bredr, .takesAnyCheck, violates: "Core Vol 2, Part C, 4.2.7",
            "accepts any LMP_DHkey_check"),
        .element(
            "takes-any-commitment", .baseband, \.quirks.bredr, .takesAnyCommitment, violates: "Core Vol 2, Part C, 4.2.7",
            "accepts any commitment value"),
        .element(
            "sends-forbidden-types", .baseband, \.quirks.bredr, .sendsForbiddenTypes, violates: "Core Vol 4, Part E, 7.1.14",
            "sends packet types that its host has disabled"),
        .element(
            "repeats-sequence-number", .baseband, \.quirks.bredr, .repeatsSequenceNumber, violates: "Core Vol 2, Part B, 7.6.2",
            "sends each new packet with the sequence number of the previous one"),
        .element(
            "bredr-never-retransmits", .baseband, \.quirks.bredr, .neverRetransmits, violates: "Core Vol 2, Part B, 7.6.1",
            "treats each packet as acknowledged when the next one is received"),
    ]
}

extension ResetKeeps {
    /// The parts of the state by name.
    static let named: [String: ResetKeeps] = [
        "filter-accept-list": .filterAcceptList, "advertising": .advertising, "scanning": .scanning, "random-address": .randomAddress,
        "suggested-data-length": .suggestedDataLength, "event-masks": .eventMasks, "links": .links, "initiating": .initiating,
        "advertising-sets": .advertisingSets, "resolving-list": .resolvingList, "channel-classification": .channelClassification,
        "link-defaults": .linkDefaults, "legacy-advertising": .legacyAdvertising, "scan-parameters": .scanParameters,
        "host-flow-control": .hostFlowControl, "bredr-settings": .bredrSettings,
        "event-mask": .eventMask, "le-event-mask": .leEventMask, "periodic-advertisers": .periodicAdvertisers, "sync-request": .syncRequest,
    ]
}
