import BBHCI
import BBPackets

/// Removes or changes reports in legacy and extended advertising report events.
final class ReportFilter: ConductRule {
    typealias Legacy = HCIEvents.LEAdvertisingReport.Report
    typealias Extended = HCIEvents.LEExtendedAdvertisingReport.Report

    private let legacy: (Legacy) -> Legacy?
    private let extended: (Extended) -> Extended?

    init(legacy: @escaping (Legacy) -> Legacy? = { $0 }, extended: @escaping (Extended) -> Extended? = { $0 }) {
        self.legacy = legacy
        self.extended = extended
    }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        if var event = try? packet.event(as: HCIEvents.LEAdvertisingReport.self) {
            event.reports = event.reports.compactMap(legacy)
            return event.reports.isEmpty ? nil : HCIPacket(event: event)
        }
        if var event = try? packet.event(as: HCIEvents.LEExtendedAdvertisingReport.self) {
            event.reports = event.reports.compactMap(extended)
            return event.reports.isEmpty ? nil : HCIPacket(event: event)
        }
        return packet
    }
}

/// Receives nothing: no reports, no responses to inquiry and page, no connections.
final class HearsNothing: ConductRule {
    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        if packet.isReport || packet.isInquiryResult { return nil }
        return packet.openedConnection == nil ? packet : nil
    }
}

extension HCIPacket {
    private static let reports = [
        HCIEvents.LEAdvertisingReport.subevent, HCIEvents.LEExtendedAdvertisingReport.subevent,
        HCIEvents.LEDirectedAdvertisingReport.subevent,
    ].compactMap { $0 }

    var isReport: Bool { leSubevent.map { Self.reports.contains($0) } ?? false }

    var isInquiryResult: Bool {
        [HCIEvents.InquiryResult.code, HCIEvents.InquiryResultWithRSSI.code, HCIEvents.ExtendedInquiryResult.code].contains {
            $0 == eventCode
        }
    }
}

/// Receives nothing while LE Coded is among the scanning or initiating PHYs.
final class CodedDeaf: ConductRule {
    private var scansCoded = false
    private var initiatesCoded = false

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        if let command = try? packet.command(as: HCICommands.LESetExtendedScanParameters.self) {
            scansCoded = command.scanningPHYs.rawValue & 4 != 0
        } else if let command = try? packet.command(as: HCICommands.LEExtendedCreateConnection.self) {
            initiatesCoded = command.initiatingPHYs.rawValue & 4 != 0
        } else if packet.commandOpcode == HCICommands.Reset.opcode {
            (scansCoded, initiatesCoded) = (false, false)
        }
        return packet
    }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        if scansCoded, packet.isReport { return nil }
        if initiatesCoded, let connection = packet.openedConnection, connection.kind == .le, connection.role != .peripheral { return nil }
        return packet
    }
}

/// Filters duplicates by address alone, even if the data changes.
final class StrictDuplicates: ConductRule {
    private var isOn = false
    private var seen: Set<BDADDR> = []

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        if let command = try? packet.command(as: HCICommands.LESetScanEnable.self) { begin(command.filterDuplicates != 0) }
        if let command = try? packet.command(as: HCICommands.LESetExtendedScanEnable.self) { begin(command.filterDuplicates != 0) }
        return packet
    }

    private func begin(_ filters: Bool) {
        isOn = filters
        seen = []
    }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard isOn else { return packet }
        return ReportFilter(
            legacy: { [self] in seen.insert($0.address).inserted ? $0 : nil },
            extended: { [self] in seen.insert($0.address).inserted ? $0 : nil }
        ).toHost(packet, wire)
    }
}

/// Reports legacy advertisements in legacy reports although the host scans with extended commands.
final class LegacyReports: ConductRule {
    private static let legacyFlag: UInt16 = 0x10

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard let event = try? packet.event(as: HCIEvents.LEExtendedAdvertisingReport.self),
            event.reports.allSatisfy({ $0.eventType & Self.legacyFlag != 0 })
        else { return packet }
        let reports = event.reports.map { report in
            HCIEvents.LEAdvertisingReport.Report(
                eventType: Self.type(report.eventType), addressType: report.addressType, address: report.address, data: report.data,
                rssi: report.rssi)
        }
        return HCIPacket(event: HCIEvents.LEAdvertisingReport(reports: reports))
    }

    /// Bits from 0 on: connectable, scannable, directed, scan response.
    private static func type(_ bits: UInt16) -> AdvertisingReportType {
        if bits & 8 != 0 { return .scanRsp }
        if bits & 4 != 0 { return .advDirectInd }
        if bits & 1 != 0 { return .advInd }
        return bits & 2 != 0 ? .advScanInd : .advNonconnInd
    }
}

/// Sends LE_Advertising_Set_Terminated when the host disables a set.
final class TerminatedAfterDisable: ConductRule {
    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        if let command = packet.roleCommand, command.opcode == HCICommands.LESetExtendedAdvertisingEnable.opcode, !command.isOn {
            let count: UInt8 = 0x44
            wire.answer(
                HCIPacket(
                    event: HCIEvents.LEAdvertisingSetTerminated(
                        status: .operationCancelledByHost, numCompletedExtendedAdvertisingEvents: count)))
        }
        return packet
    }
}

/// Uses a new random address only after the next advertising parameters.
final class LateRandomAddress: ConductRule {
    private var waiting: HCICommands.LESetRandomAddress?

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        if let command = try? packet.command(as: HCICommands.LESetRandomAddress.self) {
            waiting = command
            if let answer = HCIPacket.success(of: packet) { wire.answer(answer) }
            return nil
        }
        let opcodes = [
            HCICommands.LESetAdvertisingParameters.opcode, HCICommands.LESetExtendedAdvertisingParameters.opcode,
            HCICommands.LESetScanParameters.opcode, HCICommands.LESetExtendedScanParameters.opcode,
        ]
        if let command = waiting, let opcode = packet.commandOpcode, opcodes.contains(opcode) {
            waiting = nil
            wire.command(command)
        }
        return packet
    }
}

/// Supports periodic advertising sync transfer only on links whose remote features have been read.
final class PASTNeedsFeatures: ConductRule {
    private var known: Set<ConnectionHandle> = []

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        if let command = try? packet.command(as: HCICommands.LEReadRemoteFeatures.self) { known.insert(command.connectionHandle) }
        guard let transfer = try? packet.command(as: HCICommands.LEPeriodicAdvertisingSyncTransfer.self),
            !known.contains(transfer.connectionHandle)
        else { return packet }
        if let answer = HCIPacket.success(of: packet) { wire.answer(answer) }
        return nil
    }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        if let ended = try? packet.event(as: HCIEvents.DisconnectionComplete.self) { known.remove(ended.connectionHandle) }
        return packet
    }
}

/// Starts a data length update on each new LE link.
final class UnaskedDataLength: ConductRule {
    private let delay: ClosedRange<Int>

    init(delay: ClosedRange<Int>) { self.delay = delay }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard let connection = packet.openedConnection, connection.kind == .le else { return packet }
        wire.after(wire.time(delay)) {
            guard wire.links.open[connection.handle] != nil else { return }
            wire.command(HCICommands.LESetDataLength(connectionHandle: connection.handle, txOctets: 251, txTime: 2_120))
        }
        return packet
    }
}

/// Returns the suggested data length when it is read, but does not use it.
final class SuggestionIgnored: ConductRule {
    private var suggestion: HCICommands.LEWriteSuggestedDefaultDataLength?

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        if packet.commandOpcode == HCICommands.Reset.opcode { suggestion = nil }
        guard let command = try? packet.command(as: HCICommands.LEWriteSuggestedDefaultDataLength.self), (try? command.validate()) != nil
        else { return packet }
        suggestion = command
        if let answer = HCIPacket.success(of: packet) { wire.answer(answer) }
        return nil
    }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard let suggestion else { return packet }
        return packet.changingReturns(of: HCICommands.LEReadSuggestedDefaultDataLength.self) {
            ($0.suggestedMaxTXOctets, $0.suggestedMaxTXTime) = (suggestion.suggestedMaxTXOctets, suggestion.suggestedMaxTXTime)
        }
    }
}

/// Splits extended advertising reports. Core Vol 4, Part E, 7.7.65.13.
final class FragmentedReports: ConductRule {
    private static let legacyFlag: UInt16 = 0x10
    private static let dataStatus: UInt16 = 0x60
    private static let moreToCome: UInt16 = 0x20
    private let size: Int

    init(size: Int) { self.size = size }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard let event = try? packet.event(as: HCIEvents.LEExtendedAdvertisingReport.self) else { return packet }
        for report in event.reports {
            for fragment in fragments(of: report) {
                wire.answer(HCIPacket(event: HCIEvents.LEExtendedAdvertisingReport(reports: [fragment])))
            }
        }
        return nil
    }

    private func fragments(of report: ReportFilter.Extended) -> [ReportFilter.Extended] {
        guard report.eventType & Self.legacyFlag == 0, report.data.count > size else { return [report] }
        return stride(from: 0, to: report.data.count, by: size).map { start in
            var fragment = report
            fragment.data = Array(report.data[start..<min(start + size, report.data.count)])
            if start + size < report.data.count { fragment.eventType = report.eventType & ~Self.dataStatus | Self.moreToCome }
            return fragment
        }
    }
}
