import Packets
import Timing

/// Who inquires and who scans for inquiries on one air.
///
/// An inquirer sends 3,200 ID packets a second, nearly all of which nobody hears. So they are not sent one by one: from both clocks a scanner
/// computes which one it will hear next, to the slot, and only that one happens. What is simplified: BR/EDR has a radio of its own beside that of LE,
/// ID packets do not collide with one another, and nothing of this is in the air log, which knows LE packets only.
final class InquiryChannel {
    unowned let air: Air
    private(set) var inquirers: [Inquirer] = []
    private var scanners: [InquiryScanner] = []

    init(_ air: Air) { self.air = air }

    func add(_ inquirer: Inquirer) {
        inquirers.append(inquirer)
        tellScanners()
    }

    func remove(_ inquirer: Inquirer) {
        inquirers.removeAll { $0 === inquirer }
        tellScanners()
    }

    func add(_ scanner: InquiryScanner) { scanners.append(scanner) }

    func remove(_ scanner: InquiryScanner) { scanners.removeAll { $0 === scanner } }

    private func tellScanners() {
        for scanner in scanners { scanner.inquirersChanged() }
    }

    /// What `receiver` makes of a packet: its strength in dBm and whether it is intact; nil when it is not noticed.
    func reception(power: Int8, from sender: Int, to receiver: Int) -> (rssi: Int8, isIntact: Bool)? {
        let rssi = air.propagation.rssi(power: power, from: sender, to: receiver)
        return switch air.propagation.outcome(from: sender, to: receiver, rssi: rssi) {
        case .received: (rssi, true)
        case .corrupted: (rssi, false)
        case .unnoticed: nil
        }
    }
}
