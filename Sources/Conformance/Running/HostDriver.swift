import Packets
import Timing

/// A host of ours above an end, and the actions that case files may ask of it.
///
/// `@unchecked Sendable`: lives on its loop's thread only.
final class HostDriver: @unchecked Sendable {
    /// Actions that need a host; the others work on the bare HCI.
    static let names: Set<String> = []

    static let shapes: [Vocabulary.ActionShape] = [
        .init(
            name: "find characteristic",
            about: "looks a characteristic up by its UUID, with ATT_READ_BY_TYPE_REQ and ATT_FIND_INFORMATION_REQ",
            arguments: [
                .init("on", isRequired: true, "the connection's handle"), .init("uuid", isRequired: true, "the characteristic's UUID"),
            ],
            results: ["declaration", "properties", "value", "cccd", "end"])
    ]

    static func start(on end: Endpoint, loop: RunLoop) async throws -> HostDriver { HostDriver() }

    func stop() async {}
}
