import BBMisbehaviour
import BBPackets

extension HostQuirks {
    /// Defects of a server with several clients.
    static let clientQuirks: [Quirk<HostQuirks>] = [
        .flag(
            "shares-mtu", .att, \.clients.sharesMTU, violates: "Core Vol 3, Part F, 3.2.8", "has one ATT_MTU for all its clients"),
        .flag(
            "shares-prepared-writes", .att, \.clients.sharesPreparedWrites, violates: "Core Vol 3, Part F, 3.4.6",
            "has one queue of prepared writes for all its clients"),
        .flag(
            "shares-configurations", .gatt, \.clients.sharesConfigurations, violates: "Core Vol 3, Part G, 3.3.3.3",
            "has one value of each Client Characteristic Configuration for all its clients"),
        .flag(
            "forgets-together", .gatt, \.clients.forgetsTogether, violates: "Core Vol 3, Part G, 3.3.3.3",
            "forgets the subscriptions of all its clients when one leaves"),
        .flag(
            "answers-first-client", .att, \.clients.answersFirst, violates: "Core Vol 3, Part F, 3.3.2",
            "sends every response to the client that came first"),
        .flag(
            "notifies-every-client", .gatt, \.clients.notifiesAll, violates: "Core Vol 3, Part G, 3.3.3.3",
            "sends each notification to all its clients"),
        .flag(
            "shares-security", .att, \.clients.sharesSecurity, violates: "Core Vol 3, Part F, 4",
            "counts the link of each client as encrypted if one of them is"),
    ]
}
