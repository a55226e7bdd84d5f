/// The tags of cases, which select cases across suites: `bluebench run --tag usb`.
public enum CaseTag {
    /// Cases that run on two dongles in real time and are short enough for every test run over USB.
    public static let usb = "usb"

    /// The description of each tag.
    public static let all: [String: String] = [usb: "runs on two dongles in wall time, and is short"]
}

extension TestCase {
    /// Returns the reason why the case cannot have a tag, or nil.
    func impediment(to tag: String) -> String? {
        guard tag == CaseTag.usb else { return nil }
        if let needs, !needs.canHold(without: ["air", "virtual"]) { return "the case needs the simulation" }
        return world.isDefault ? nil : "the case sets up the simulated world"
    }
}
