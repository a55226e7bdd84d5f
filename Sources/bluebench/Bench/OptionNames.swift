import ArgumentParser
import Foundation

extension ParsableArguments {
    /// The names of the group's options and flags on the command line: `packetErrorRate` is `--packet-error-rate`.
    static var optionNames: [String] { Mirror(reflecting: Self()).children.compactMap { $0.label.flatMap(optionName) } }

    /// The first of them on the command line, even with its default value.
    static var given: String? { optionNames.first(where: Arguments.given) }

    /// The group's files, each with its option.
    var paths: [(option: String, path: String?)] {
        Mirror(reflecting: self).children.compactMap { child in
            guard let name = child.label.flatMap(Self.optionName), let option = child.value as? Option<String?> else { return nil }
            return (name, option.wrappedValue)
        }
    }

    /// Returns the option of a stored property wrapper, whose label is the property's name after an underscore.
    private static func optionName(of label: String) -> String? {
        guard label.hasPrefix("_") else { return nil }
        return label.dropFirst().reduce(into: "--") { name, letter in
            name += letter.isUppercase ? "-" + letter.lowercased() : String(letter)
        }
    }
}
