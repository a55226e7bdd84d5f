import BBMisbehaviour
import BBPackets

extension ControllerConfiguration {
    /// All quirks of a virtual controller, in the order in which they apply.
    public static let allQuirks = Quirks(
        abilityQuirks + choiceQuirks + linkManagerQuirks + defects + procedureDefects + periodicDefects + encryptionDefects + bredrDefects)

    /// Identity and capabilities.
    private static let abilityQuirks: [Quirk<ControllerConfiguration>] = [
        Quirk(
            QuirkDeclaration(
                "core-version", .controller, .number(6...17),
                allowedBy: "Core Vol 4, Part E, 3.1: additions of later versions are absent",
                "is a controller of this version, as in the assigned numbers, without the commands, events and features of later ones")
        ) { $0.limit(to: UInt8(clamping: $1.number)) },
        Quirk(
            QuirkDeclaration(
                "le-only", .controller, allowedBy: "Core Vol 1, Part A, 1.2: a device may have either system or both", "has no BR/EDR")
        ) { if $1.isOn { $0.profile = .le } },
        Quirk(
            QuirkDeclaration(
                "zero-address", .controller, knownOf: "Zephyr, MediaTek without firmware",
                allowedBy: "Core Vol 6, Part B, 1.3: an LE device needs no public address",
                "has no public address and no BR/EDR: BD_ADDR reads 0")
        ) { if $1.isOn { ($0.address, $0.profile) = (DeviceAddress(value: 0), .le) } },
        Quirk(
            QuirkDeclaration(
                "lacks", .controller, .commands, knownOf: "every controller of an older version",
                allowedBy: "Core Vol 4, Part E, 3.1: commands are optional", "does not have these commands, and does not claim them")
        ) { $0.choices.withoutCommands.formUnion($1.commands.keys) },
        Quirk(
            QuirkDeclaration(
                "lacks-events", .controller, .events, allowedBy: "Core Vol 4, Part E, 3.1: events are optional",
                "never sends these events")
        ) { $0.choices.withoutEvents.formUnion($1.names) },
        Quirk(
            QuirkDeclaration(
                "lacks-le-features", .controller, .number(0...Int.max),
                allowedBy: "Core Vol 6, Part B, 4.6: features are optional", "does not have the LE features of this mask")
        ) { $0.features.subtract(LEFeatures(rawValue: UInt64($1.number))) },
        Quirk(
            QuirkDeclaration(
                "lacks-lmp-features", .controller, .number(0...Int.max),
                allowedBy: "Core Vol 2, Part C, 3.2: features are optional", "does not have the LMP features of this mask, page 0")
        ) { $0.choices.withoutLMPFeatures = UInt64($1.number) },
        .flag(
            "lacks-secure-connections", .baseband, \.choices.lacksSecureConnections,
            allowedBy: "Core Vol 2, Part C, 3.2: the feature is optional", "does not have Secure Connections over BR/EDR"),
        Quirk(
            QuirkDeclaration(
                "acl-buffers", .controller, .buffers, standard: "1021x4", knownOf: "every manufacturer",
                allowedBy: "Core Vol 4, Part E, 7.4.5: any length and number", "has these ACL buffers, length and number")
        ) { ($0.bredrACLLength, $0.bredrACLCount) = (UInt16($1.buffers.length), UInt8(clamping: $1.buffers.count)) },
        Quirk(
            QuirkDeclaration(
                "le-buffers", .controller, .buffers, standard: "27x7", knownOf: "old and cheap LE chips",
                allowedBy: "Core Vol 4, Part E, 7.8.2: 27 octets or more", "has these LE ACL buffers, length and number")
        ) { ($0.aclLength, $0.aclCount) = (UInt16(max(27, $1.buffers.length)), UInt8(clamping: max(1, $1.buffers.count))) },
        Quirk(
            QuirkDeclaration(
                "shared-buffers", .controller, knownOf: "CSR, Qualcomm 4.0",
                allowedBy: "Core Vol 4, Part E, 7.8.2: 0 means shared buffers",
                "shares its ACL buffers between LE and BR/EDR: LE_Read_Buffer_Size returns 0 x 0")
        ) { $0.choices.sharesBuffers = $1.isOn },
        .number(
            "advertising-sets", .controller, 0...240, \.maxAdvertisingSets, standard: "0", knownOf: "several",
            allowedBy: "Core Vol 4, Part E, 7.8.58: 1 to 240", legalValues: 1...240, "has room for N advertising sets"),
        .number(
            "advertising-data-length", .controller, 31...1_650, \.maxAdvertisingDataLength, standard: "31",
            knownOf: "Zephyr 191, MediaTek 192, several 31", allowedBy: "Core Vol 4, Part E, 7.8.57: 31 to 1650 octets",
            "has room for N octets of advertising data"),
        .number(
            "accept-list-size", .controller, 1...255, \.acceptListSize, allowedBy: "Core Vol 4, Part E, 7.8.14: 1 to 255",
            "has room for N devices in the Filter Accept List"),
        .number(
            "resolving-list-size", .controller, 1...255, \.resolvingListSize,
            allowedBy: "Core Vol 4, Part E, 7.8.41: the controller chooses the size", "has room for N devices in the resolving list"),
        .number(
            "max-links", .controller, 1...20, \.maxConnections, standard: "2", knownOf: "CSR8510 5, RTL8761B 7",
            allowedBy: "Core Vol 4, Part E, 7.8.12: the number of connections is limited", "has room for N connections"),
        .number(
            "command-credits", .controller, 1...255, \.commandPackets, standard: "2", knownOf: "Realtek 2 or 3",
            allowedBy: "Core Vol 4, Part E, 4.4: any number", "allows N commands at once"),
        Quirk(
            QuirkDeclaration(
                "answer-slow", .controller, .milliseconds(1...60_000), standard: "5-20", knownOf: "any dongle over USB",
                allowedBy: "Core Vol 4, Part E, 4.4: commands may take time", "answers every command late")
        ) { $0.commandLatency = .milliseconds($1.milliseconds.lowerBound) ... .milliseconds($1.milliseconds.upperBound) },
        .number(
            "max-octets", .linkLayer, 27...251, \.maxOctets, allowedBy: "Core Vol 4, Part E, 7.8.46: 27 to 251 octets",
            "sends and receives link layer payloads of at most N octets"),
        .number(
            "clock-drift", .linkLayer, -500...500, \.clockDrift,
            allowedBy: "Core Vol 6, Part B, 4.2.2: up to the claimed accuracy", "has a sleep clock that drifts by N ppm"),
        .number(
            "clock-accuracy", .linkLayer, 0...500, \.clockAccuracy, allowedBy: "Core Vol 6, Part B, 4.2.2: at worst 500 ppm",
            "claims a sleep clock accuracy of N ppm"),
    ]

    /// Behaviour that the specification leaves to a controller.
    private static let choiceQuirks: [Quirk<ControllerConfiguration>] = [
        .flag(
            "connection-complete-v2", .controller, \.choices.sendsConnectionCompleteV2,
            allowedBy: "Core Vol 4, Part E, 7.7.65.10: sent when it is not masked", "sends LE_Enhanced_Connection_Complete [v2]"),
        Quirk(
            QuirkDeclaration(
                "credits-one-by-one", .controller, knownOf: "CSR",
                allowedBy: "Core Vol 4, Part E, 7.7.19: the controller chooses how often",
                "reports each completed packet in an event of its own")
        ) { if $1.isOn { ($0.choices.creditBatch, $0.choices.creditDelay) = (1, .zero) } },
        Quirk(
            QuirkDeclaration(
                "credits-late", .controller, .milliseconds(1...5_000), standard: "480", knownOf: "Cypress, Broadcom",
                allowedBy: "Core Vol 4, Part E, 7.7.19: the controller chooses when", "reports completed packets this much later")
        ) { ($0.choices.creditBatch, $0.choices.creditDelay) = (255, .milliseconds($1.milliseconds.upperBound)) },
        .number(
            "reports-per-event", .controller, 1...25, \.choices.reportsPerEvent,
            allowedBy: "Core Vol 4, Part E, 7.7.65.2: Num_Reports is 1 to 25", "puts N advertising reports into an event"),
        time(
            "report-delay", .controller, 0...10_000, \.choices.reportDelay,
            allowedBy: "Core Vol 4, Part E, 7.7.65.2: reports may be collected",
            "delays the first report of an event by this time, to collect others"
        ),
        .flag(
            "withholds-rssi", .controller, \.choices.withholdsRSSI,
            allowedBy: "Core Vol 4, Part E, 7.7.65.2: RSSI 127 means that it is not available", "reports advertisements without RSSI"),
        .number(
            "first-handle", .controller, 1...0x0EFF, \.choices.firstHandle,
            allowedBy: "Core Vol 4, Part E, 5.3.1: any number from 0x0000 to 0x0EFF", "gives the first connection this handle"),
        .flag(
            "looks-for-room-first", .controller, \.choices.looksForRoomFirst,
            allowedBy: "Core Vol 4, Part E, 7.8.38: neither error has priority",
            "refuses a new entry for a full resolving list with Memory Capacity Exceeded, even if the list is in use"),
        .flag(
            "answers-privately", .linkLayer, \.choices.answersPrivately,
            allowedBy: "Core Vol 4, Part E, 7.7.65.10: the last addresses that were sent and received are reported",
            "as an extended advertiser, sends AUX_CONNECT_RSP under its resolvable private address for the initiator"),
        .number(
            "used-octets", .linkLayer, 27...251, \.choices.usedOctets,
            allowedBy: "Core Vol 4, Part E, 7.8.33: smaller or larger values may be used",
            "never sends more octets in a PDU, whatever the host asks for"),
        .number(
            "initial-octets", .linkLayer, 27...251, \.choices.initialOctets,
            allowedBy: "Core Vol 6, Part B, 4.5.10: the controller chooses connInitialMaxTxOctets",
            "begins with this data length unless the host suggests one"),
        .number(
            "channels", .linkLayer, 0...0x1F_FFFF_FFFF, \.choices.channels,
            allowedBy: "Core Vol 6, Part B, 4.5.8.1: the central classifies channels", "as a central, uses the data channels of this mask"),
        .flag(
            "ignores-host-channels", .linkLayer, \.choices.ignoresHostChannels,
            allowedBy: "Core Vol 4, Part E, 7.8.19: the controller may use the classification",
            "as a central, uses channels that the host classifies as bad"),
        time(
            "channel-map-period", .linkLayer, 0...10_000, \.choices.channelMapPeriod,
            allowedBy: "Core Vol 6, Part B, 4.5.8.1: the central classifies channels",
            "as a central, changes the channel map with this period; 0: never"),
        Quirk(
            QuirkDeclaration(
                "answered-phys", .linkLayer, .number(1...7), allowedBy: "Core Vol 6, Part B, 5.1.10: a change can be rejected",
                "accepts the PHYs of this mask when the peer asks")
        ) { $0.choices.answeredPHYs = PHYs(rawValue: UInt8(clamping: $1.number)) },
        .flag(
            "keeps-links-past-instants", .linkLayer, \.choices.keepsLinksPastInstants,
            allowedBy: "Core Vol 6, Part B, 5.5.1: only LL_CONNECTION_UPDATE_IND must end the link",
            "as a peripheral, applies a channel map or PHY at once if its instant has passed"),
        time(
            "own-phy-delay", .linkLayer, 0...10_000, \.choices.ownPHYDelay,
            allowedBy: "Core Vol 6, Part B, 5.1.10: either controller may start the procedure",
            "as a central, changes to LE 2M by itself after this time, unless its host prefers other PHYs; 0: never"),
        Quirk(
            QuirkDeclaration(
                "information-late", .linkLayer, .milliseconds(1...30_000),
                allowedBy: "Core Vol 6, Part B, 5.2: the limit of a procedure is 40 s", "sends its features and its version this much later"
            )
        ) {
            for name in [LLControl.FeatureRsp.name, LLControl.VersionInd.name] {
                guard let late = try? PacketRewrite(.llControl, name, .delay(.milliseconds($1.milliseconds.upperBound))) else { continue }
                $0.quirks.rewrites.append(late)
            }
        },
        .flag(
            "declines-parameters", .linkLayer, \.choices.declinesParameters,
            allowedBy: "Core Vol 6, Part B, 5.1.7: parameters that are not acceptable are rejected",
            "rejects all connection parameters that the peer asks for"),
        .flag(
            "listens-at-every-event", .linkLayer, \.choices.listensAtEveryEvent,
            allowedBy: "Core Vol 6, Part B, 4.5.1: a peripheral need not use its latency", "as a peripheral, does not use its latency"),
        Quirk(
            QuirkDeclaration(
                "least-advertising-delay", .linkLayer, .number(0...10_000), allowedBy: "Core Vol 6, Part B, 4.4.2.2.1: 0 to 10 ms",
                "advertises with an advDelay of at least N us")
        ) { $0.choices.advertisingDelay = Int64($1.number)...max(Int64($1.number), $0.choices.advertisingDelay.upperBound) },
        Quirk(
            QuirkDeclaration(
                "most-advertising-delay", .linkLayer, .number(0...10_000), allowedBy: "Core Vol 6, Part B, 4.4.2.2.1: 0 to 10 ms",
                "advertises with an advDelay of at most N us")
        ) { $0.choices.advertisingDelay = min(Int64($1.number), $0.choices.advertisingDelay.lowerBound)...Int64($1.number) },
        .flag(
            "uses-shortest-interval", .linkLayer, \.choices.usesShortestInterval,
            allowedBy: "Core Vol 4, Part E, 7.8.12: the controller chooses within the range",
            "as an initiator, chooses the shortest connection interval of the host's range"),
        .flag(
            "uses-longest-advertising-interval", .linkLayer, \.choices.usesLongestAdvertisingInterval,
            allowedBy: "Core Vol 4, Part E, 7.8.5: the controller chooses within the range",
            "chooses the longest advertising interval of the host's range"),
        time(
            "high-duty-duration", .linkLayer, 1...1_280, \.choices.highDutyDuration,
            allowedBy: "Core Vol 6, Part B, 4.4.2.4.3: no later than 1.28 s", "ends high duty cycle advertising after this time"),
        .flag(
            "prefers-s2", .linkLayer, \.prefersS2, allowedBy: "Core Vol 6, Part B, 2.2: the sender chooses S=2 or S=8",
            "sends S=2 on LE Coded unless the host prefers S=8"),
        Quirk(
            QuirkDeclaration(
                "reserves-longest-reply", .linkLayer,
                allowedBy: "Core Vol 6, Part B, 4.5.6: the number of packets in an event is not specified",
                "begins an exchange only if the longest reply fits into the connection event")
        ) { $0.eventFilling = $1.isOn ? .reserveMax : .actual },
        .number(
            "exchanges-per-event", .linkLayer, 1...1_000, \.maxExchangesPerEvent,
            allowedBy: "Core Vol 6, Part B, 4.5.6: either side may close an event after its packet",
            "has at most N exchanges in a connection event"),
    ]

    private static let linkManagerQuirks: [Quirk<ControllerConfiguration>] = [
        time(
            "link-manager-delay", .baseband, 0...29_000, \.choices.linkManagerDelay,
            allowedBy: "Core Vol 2, Part C, 2.6: a link manager has 30 s for its answer", "handles each LMP message after this delay"),
        .flag(
            "refuses-role-switch", .baseband, \.choices.refusesRoleSwitch,
            allowedBy: "Core Vol 2, Part C, 4.4.2: LMP_switch_req may be refused", "refuses each role switch that the peer asks for"),
        .flag(
            "repeats-start-number", .baseband, \.choices.repeatsStartNumber,
            allowedBy: "Core Vol 2, Part H, 9.1: with AES-CCM, EN_RAND has no effect",
            "sends the same number in each LMP_start_encryption_req of AES-CCM"),
        .number(
            "longest-key", .baseband, 1...16, \.choices.longestKey,
            allowedBy: "Core Vol 2, Part C, 4.2.5: the device chooses its longest key", "uses encryption keys of at most N octets"),
    ]

    static func time(
        _ name: String, _ part: QuirkDeclaration.Part, _ range: ClosedRange<Int>,
        _ field: Quirk<ControllerConfiguration>.Field<Microseconds>,
        allowedBy: String, _ text: String
    ) -> Quirk<ControllerConfiguration> {
        Quirk(QuirkDeclaration(name, part, .milliseconds(range), allowedBy: allowedBy, text)) {
            $0[keyPath: field] = .milliseconds($1.milliseconds.upperBound)
        }
    }
}
