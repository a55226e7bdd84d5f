import Foundation

extension CBPhone {
    /// Takes the declarations of the app's Info.plist: its background modes and its usage description, without which a phone ends the app
    /// when it makes a manager. Call it before that, on the thread of the bench.
    ///
    /// - Throws: an error of the file, or of its form.
    public func apply(infoPlist file: URL) throws {
        let content = try PropertyListSerialization.propertyList(from: try Data(contentsOf: file), options: [], format: nil)
        guard let declarations = content as? [String: Any] else { throw CocoaError(.propertyListReadCorrupt) }
        apply(infoPlist: declarations)
    }

    /// The same, of a dictionary.
    public func apply(infoPlist declarations: [String: Any]) {
        let declared = declarations["UIBackgroundModes"] as? [String] ?? []
        var modes: BackgroundModes = []
        if declared.contains("bluetooth-central") { modes.insert(.central) }
        if declared.contains("bluetooth-peripheral") { modes.insert(.peripheral) }
        backgroundModes = modes
        let usage = declarations["NSBluetoothAlwaysUsageDescription"] as? String
        isDeclared = usage?.isEmpty == false
    }

    /// False if a phone would end the program, which is reported; its managers then never get a state.
    func mayUse() -> Bool {
        if isDeclared { return true }
        misuse(
            "This app has crashed because it attempted to access privacy-sensitive data without a usage description. The app's Info.plist "
                + "must contain an NSBluetoothAlwaysUsageDescription key with a string value explaining to the user how the app uses this data."
        )
        return false
    }
}
