/// The named actions of case files.
enum ActionShapes {
    /// Actions carried out by a host of ours; the others work on the bare HCI.
    static let needHost: Set<String> = ["connect", "exchange mtu", "read", "write", "disconnect"]

    static let all: [Vocabulary.ActionShape] = [
        .init(
            name: "find characteristic",
            about: "looks a characteristic up by its UUID, with ATT_READ_BY_TYPE_REQ and ATT_FIND_INFORMATION_REQ",
            arguments: [
                .init("on", isRequired: true, "the connection's handle"), .init("uuid", isRequired: true, "the characteristic's UUID"),
            ],
            results: ["declaration", "properties", "value", "next", "cccd", "end"]),
        .init(
            name: "lose packets", about: "loses packets of the simulated air from now on",
            arguments: [.init("permille", isRequired: true, "how many of a thousand")], results: []),
        .init(
            name: "connect", about: "the host of this end connects to a device",
            arguments: [
                .init("address", isRequired: true, "the device's address"), .init("type", "0 public, 1 random; public by default"),
                .init("interval", "N x 1.25 ms; 24 by default"),
            ],
            results: ["handle", "interval"]),
        .init(
            name: "exchange mtu", about: "the host's client exchanges the MTU", arguments: [onLink, .init("mtu", "247 by default")],
            results: ["mtu"]),
        .init(
            name: "read", about: "the host's client looks a characteristic up and reads the whole value, in parts if it is long",
            arguments: [onLink, .init("uuid", isRequired: true, "the characteristic's UUID")], results: ["value"]),
        .init(
            name: "write", about: "the host's client looks a characteristic up and writes the value, in parts if it is long",
            arguments: [
                onLink, .init("uuid", isRequired: true, "the characteristic's UUID"),
                .init("value", isRequired: true, "the octets to write"),
            ],
            results: []),
        .init(name: "disconnect", about: "the host ends the connection", arguments: [onLink], results: ["reason"]),
    ]

    private static let onLink = Vocabulary.ActionShape.Argument("on", isRequired: true, "the connection's handle")
}
