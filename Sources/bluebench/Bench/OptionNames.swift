import ArgumentParser
import Foundation

/// The name of an option or flag on the command line.
struct OptionName {
    var text: String
    var isFlag: Bool
}

/// A group inside a group.
private protocol NestedGroup {
    static var names: [OptionName] { get }
}

extension OptionGroup: NestedGroup {
    fileprivate static var names: [OptionName] { Value.names }
}

extension ParsableArguments {
    /// The names of the group's options and flags, with those of the groups inside it.
    static var names: [OptionName] {
        Mirror(reflecting: Self()).children.flatMap { child in
            if let group = child.value as? any NestedGroup { return type(of: group).names }
            return child.label.flatMap(optionName).map { [OptionName(text: $0, isFlag: child.value is Flag<Bool>)] } ?? []
        }
    }

    static var optionNames: [String] { names.map(\.text) }

    /// The first of them on the command line, even with its default value.
    static var given: String? { optionNames.first(where: Arguments.given) }

    /// The group's own options whose value is an optional text, most of them paths.
    var texts: [(option: String, path: String?)] {
        Mirror(reflecting: self).children.compactMap { child in
            guard let name = child.label.flatMap(Self.optionName), let option = child.value as? Option<String?> else { return nil }
            return (name, option.wrappedValue)
        }
    }

    /// Returns the option of a stored property wrapper, whose label is the property's name after an underscore: `packetErrorRate` is
    /// `--packet-error-rate`, `forceUSB` is `--force-usb`.
    private static func optionName(of label: String) -> String? {
        guard label.hasPrefix("_") else { return nil }
        var (name, isInAbbreviation) = ("--", true)
        for letter in label.dropFirst() {
            if letter.isUppercase, !isInAbbreviation { name += "-" }
            name += letter.lowercased()
            isInAbbreviation = letter.isUppercase
        }
        return name
    }
}
