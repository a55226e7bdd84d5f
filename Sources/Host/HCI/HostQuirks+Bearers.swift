import BBMisbehaviour
import BBPackets

extension HostQuirks {
    /// Defects of Enhanced ATT bearers.
    static let bearerQuirks: [Quirk<HostQuirks>] = [
        .flag(
            "admits-bearers-in-clear", .att, \.bearers.admitsInClear, violates: "Core Vol 3, Part G, 5.3.2",
            "accepts Enhanced ATT bearers on an unencrypted link"),
        .flag(
            "admits-bearers-of-other-mode", .att, \.bearers.admitsOtherMode, violates: "Core Vol 3, Part G, 5.3",
            "accepts channels to EATT in LE credit-based flow control mode"),
        .flag(
            "keeps-first-mtu", .att, \.bearers.keepsFirstMTU, violates: "Core Vol 3, Part G, 5.3.1",
            "keeps ATT_MTU although the channel is reconfigured"),
        .flag(
            "ignores-own-mtu", .att, \.bearers.ignoresOwnMTU, violates: "Core Vol 3, Part G, 5.3.1",
            "uses the peer's MTU alone as ATT_MTU of an Enhanced ATT bearer"),
        .flag(
            "replies-on-fixed-channel", .att, \.bearers.repliesOnFixedChannel, violates: "Core Vol 3, Part F, 3.3.3",
            "answers requests and indications of Enhanced ATT bearers on the fixed channel"),
        .flag(
            "informs-one-bearer", .gatt, \.bearers.informsOneBearer, violates: "Core Vol 3, Part G, 2.5.2.1",
            "sends Database Out Of Sync on one bearer only, and takes the next request for proof of awareness"),
        .flag(
            "serves-one-bearer", .att, \.bearers.servesOneBearer, violates: "Core Vol 3, Part F, 3.3.2",
            "answers requests on the first Enhanced ATT bearer only"),
        .flag(
            "closes-all-on-time-out", .att, \.bearers.closesAllOnTimeOut, violates: "Core Vol 3, Part F, 3.3.3",
            "closes all Enhanced ATT bearers after a time-out on one"),
        .flag(
            "reads-hash-at-once", .att, \.bearers.readsHashAtOnce, violates: "Core Vol 3, Part G, 2.5.2.1",
            "after Database Out Of Sync, reads the hash while requests on other bearers are pending"),
        .flag(
            "takes-signed-writes", .att, \.bearers.takesSignedWrites, violates: "Core Vol 3, Part G, 4.2",
            "carries out signed writes on Enhanced ATT bearers"),
        .flag(
            "retries-bearers-at-once", .att, \.bearers.retriesAtOnce, violates: "Core Vol 3, Part G, 5.4",
            "as a peripheral, requests Enhanced ATT bearers again at once after a collision"),
        .flag(
            "separates-prepared-writes", .att, \.bearers.separatesPreparedWrites, violates: "Core Vol 3, Part F, 3.4.6",
            "has a queue of prepared writes for each bearer"),
    ]
}
