/// The named actions of case files.
enum ActionShapes {
    /// Actions carried out by a host of ours; the others work on the bare HCI.
    static let needHost: Set<String> = []

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
    ]
}
