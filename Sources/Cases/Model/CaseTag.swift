/// The selections across suites that cases can be tagged for: `bluebench run --tag usb`.
public enum CaseTag {
    /// Cases that run on two dongles in wall time, short enough to be driven over USB in every test run.
    public static let usb = "usb"

    /// What each tag says about a case.
    public static let all: [String: String] = [usb: "runs on two dongles in wall time, and is short"]
}

extension TestCase {
    /// Why the case cannot be what a tag says, or nil.
    func impediment(to tag: String) -> String? {
        guard tag == CaseTag.usb else { return nil }
        if let needs, !needs.canHold(without: ["air", "virtual"]) { return "the case needs the simulation" }
        return world.isDefault ? nil : "the case sets up the simulated world"
    }
}
