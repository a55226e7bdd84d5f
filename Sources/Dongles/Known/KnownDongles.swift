import Packets

/// The table of known dongles: the one that is built in, and rows of the user's.
public struct KnownDongles: Sendable {
    /// In the order of the files; those of the user come last.
    public private(set) var rows: [KnownDongle]
    /// Addresses that many units have, by what they come from.
    public private(set) var addresses: [SharedAddress]

    public struct SharedAddress: Sendable, Equatable {
        /// The first and the last address of the range.
        public var addresses: ClosedRange<UInt64>
        public var origin: String
    }

    /// The table that the program carries.
    public static let builtIn: KnownDongles = {
        var table = KnownDongles(rows: [], addresses: [])
        let text = String(decoding: PackageResources.KnownDongles_yaml, as: UTF8.self)
        // A test reads it and finds no mistake.
        try? table.add(text, file: "KnownDongles.yaml")
        return table
    }()

    /// Adds what a file's text says. A row of the same id takes the place of the one before.
    ///
    /// - Throws: every mistake, with line and column; then nothing is added.
    public mutating func add(_ text: String, file: String) throws(TableErrors) {
        var reader = KnownDonglesReader(file: file)
        reader.read(text)
        guard reader.errors.isEmpty else { throw TableErrors(list: reader.errors) }
        for row in reader.rows {
            rows.removeAll { $0.id == row.id }
            rows.append(row)
        }
        addresses += reader.addresses
    }

    /// The rows that a dongle fits.
    public func find(_ numbers: DongleNumbers) -> [KnownDongle] { rows.filter { $0.match.fits(numbers) } }

    /// The rows that nothing but the numbers of USB decides: they hold before the first command.
    public func find(vendor: UInt16, product: UInt16, release: UInt16?) -> [KnownDongle] {
        rows.filter { $0.match.isOfUSB && $0.match.fitsUSB(vendor: vendor, product: product, release: release) }
    }

    /// What the address is known from, where it does not tell one unit from another.
    public func origin(ofShared address: DeviceAddress) -> String? {
        addresses.first { $0.addresses.contains(address.value) }?.origin
    }
}

/// A mistake in a table of known dongles; lines and columns count from 1.
public struct TableError: Error, Sendable, Equatable, CustomStringConvertible {
    public var file: String
    public var line: Int
    public var column: Int
    public var text: String

    public var description: String { "\(file):\(line):\(column): \(text)" }
}

/// Every mistake of a table.
public struct TableErrors: Error, Sendable, CustomStringConvertible {
    public var list: [TableError]

    public var description: String { list.map(\.description).joined(separator: "\n") }
}
