import BBHost
import BBPackets

extension AdvertisingSettings {
    /// Connectable advertising as of a phone: 28 octets of UUIDs and name in the advertising data, and the name in the scan response if there
    /// is no room. UUIDs without room, and all of a program in the background, are in the overflow area. Without such an area they are left
    /// out.
    init(_ advertisements: [Advertisement], inBackground: Bool, hasOverflow: Bool) {
        self.init()
        intervalMin = 0x30
        intervalMax = 0x30
        var room = 28
        var elements: [AdvertisingElement] = [.flags([.generalDiscoverable, .brEDRNotSupported])]
        var (response, responseRoom): ([AdvertisingElement], Int) = ([], 31)
        let services = advertisements.flatMap(\.services)
        var left = inBackground ? services : []
        for width in [2, 4, 16] where !inBackground {
            let all = services.filter { $0.octetCount == width }
            let fitting = Array(all.prefix(max(0, (room - 2) / width)))
            left += all.dropFirst(fitting.count)
            guard !fitting.isEmpty else { continue }
            elements.append(.services(fitting, complete: fitting.count == all.count))
            room -= 2 + fitting.count * width
        }
        if hasOverflow, !left.isEmpty {
            if OverflowArea.size <= room {
                elements.append(OverflowArea.element(left))
                room -= OverflowArea.size
            } else {
                response.append(OverflowArea.element(left))
                responseRoom -= OverflowArea.size
            }
        }
        if !inBackground, let name = advertisements.lazy.compactMap(\.name).first {
            if name.utf8.count + 2 <= room {
                elements.append(.completeLocalName(name))
            } else {
                let cut = String(decoding: Array(name.utf8.prefix(responseRoom - 2)), as: UTF8.self)
                response.append(cut == name ? .completeLocalName(name) : .shortenedLocalName(cut))
            }
        }
        data = AdvertisingData(elements).octets
        if !response.isEmpty { scanResponse = AdvertisingData(response).octets }
    }
}

/// Services that a phone advertises for other phones alone, which find them if they look for them: one bit of 128 for each service. Which bit
/// stands for a service is not public; here it follows from the UUID, so that phones of this module find each other. Two services may have
/// the same bit.
enum OverflowArea {
    /// Manufacturer data of Apple, of the type of the overflow area.
    private static let (company, type): (UInt16, UInt8) = (0x004C, 0x01)
    private static let octets = 16
    /// Octets of the element.
    static let size = 2 + 2 + 1 + octets

    static func element(_ services: [BluetoothUUID]) -> AdvertisingElement {
        var bits = [UInt8](repeating: 0, count: octets)
        for service in services {
            let bit = bit(of: service)
            bits[bit / 8] |= 0x80 >> (bit % 8)
        }
        return .manufacturerData(company: company, [type] + bits)
    }

    static func isOverflow(_ company: UInt16, _ data: [UInt8]) -> Bool {
        company == self.company && data.count == 1 + octets && data.first == type
    }

    /// Those of the services that the data may advertise.
    static func services(_ services: [BluetoothUUID], in data: AdvertisingData) -> [BluetoothUUID] {
        for case .manufacturerData(let company, let octets) in data.elements where isOverflow(company, octets) {
            return services.filter { service in
                let bit = bit(of: service)
                return octets[1 + bit / 8] & (0x80 >> (bit % 8)) != 0
            }
        }
        return []
    }

    /// FNV-1a over the octets of the UUID, folded.
    private static func bit(of service: BluetoothUUID) -> Int {
        let hash = service.long.octets.reduce(0x811C_9DC5 as UInt32) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
        return Int((hash ^ hash >> 16) & 127)
    }
}
