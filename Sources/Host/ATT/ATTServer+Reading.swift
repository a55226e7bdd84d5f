import BBPackets

extension ATTServer {
    // MARK: Values

    /// The first 512 octets of a value. Core Vol 3, Part F, 3.2.9.
    func value(_ handle: UInt16, _ access: AttributeAccess) throws(Refusal) -> [UInt8] {
        let value = try wholeValue(handle, access)
        return value.count > AttributeValueLength.longest ? [UInt8](value.prefix(AttributeValueLength.longest)) : value
    }

    private func wholeValue(_ handle: UInt16, _ access: AttributeAccess) throws(Refusal) -> [UInt8] {
        guard let attribute = database[attribute: handle] else { throw Refusal(handle: handle, code: .invalidHandle) }
        var access = access
        access.handle = handle
        if let refusal = mayRead(attribute, access) { throw refusal }
        switch attribute.role {
        case .configuration(let characteristic, _):
            let bits = configuration(of: characteristic)
            return [UInt8(truncatingIfNeeded: bits), UInt8(bits >> 8)]
        case .databaseHash:
            client.awareness.readHash()
            return database.databaseHash
        case .clientFeatures: return [client.features.rawValue]
        case .value: break
        }
        guard let onRead = attribute.onRead else {
            return quirks.claimsAllProperties && attribute.type == .characteristic ? [0x3A] + attribute.value.dropFirst() : attribute.value
        }
        switch onRead(access) {
        case .value(let value): return value
        case .error(let code): throw Refusal(handle: handle, code: code)
        case .later: throw .later
        }
    }

    private func mayRead(_ attribute: GATTDatabase.Attribute, _ access: AttributeAccess) -> Refusal? {
        if quirks.ignoresPermissions || quirks.advertising.exposesKeys && attribute.type == .encryptedDataKeyMaterial { return nil }
        guard attribute.permissions.contains(.read) else { return Refusal(handle: access.handle, code: .readNotPermitted) }
        return attribute.permissions.protectionForReading(keySize: quirks.ignoresKeySize ? 0 : attribute.keySize)
            .refusal(of: access, in: database)
    }

    func read(_ request: ATT.ReadReq, _ access: AttributeAccess) throws(Refusal) -> [UInt8] {
        let value = try value(request.attributeHandle, access)
        if isBusy(request.attributeHandle) { throw Refusal(handle: request.attributeHandle, code: ATTErrorCode(rawValue: 0x80)) }
        return [ATT.ReadRsp.opcode] + value.prefix(mtu - 1)
    }

    func readBlob(_ request: ATT.ReadBlobReq, _ access: AttributeAccess) throws(Refusal) -> [UInt8] {
        var access = access
        access.offset = Int(request.valueOffset)
        let value = try value(request.attributeHandle, access)
        if database.choices.tellsNotLong, isAlwaysShort(request.attributeHandle) {
            throw Refusal(handle: request.attributeHandle, code: .attributeNotLong)
        }
        var offset = Int(request.valueOffset)
        guard offset <= value.count else { throw Refusal(handle: request.attributeHandle, code: .invalidOffset) }
        if quirks.longReadOffByOne, offset > 0 { offset = min(value.count, offset + 1) }
        return [ATT.ReadBlobRsp.opcode] + value[offset...].prefix(mtu - 1)
    }

    /// True if the application rejects this read of a value. Declarations and descriptors, types 0x2800...0x29FF, are handled by the server
    /// itself.
    private func isBusy(_ handle: UInt16) -> Bool {
        let every = database.choices.busyEvery
        guard every > 0, let attribute = database[attribute: handle], case .value = attribute.role else { return false }
        let short = UInt16(truncatingIfNeeded: attribute.type.value >> 96)
        guard attribute.type.octetCount == 16 || !(0x2800...0x29FF).contains(short) else { return false }
        reads += 1
        return reads.isMultiple(of: every)
    }

    private func isAlwaysShort(_ handle: UInt16) -> Bool {
        guard let attribute = database[attribute: handle], attribute.onRead == nil else { return false }
        return !attribute.permissions.contains(.write) && attribute.value.count < mtu
    }

    func readMultiple(_ request: ATT.ReadMultipleReq, _ access: AttributeAccess) throws(Refusal) -> [UInt8] {
        guard request.setOfHandles.count >= 2 else { throw Refusal(handle: 0, code: .invalidPDU) }
        var values: [UInt8] = []
        for handle in request.setOfHandles { values += try value(handle, access) }
        return [ATT.ReadMultipleRsp.opcode] + values.prefix(mtu - 1)
    }

    func readMultipleVariable(_ request: ATT.ReadMultipleVariableReq, _ access: AttributeAccess) throws(Refusal) -> [UInt8] {
        guard request.setOfHandles.count >= 2 else { throw Refusal(handle: 0, code: .invalidPDU) }
        var writer = ByteWriter()
        writer.u8(ATT.ReadMultipleVariableRsp.opcode)
        for handle in request.setOfHandles {
            let value = try value(handle, access)
            writer.u16(UInt16(truncatingIfNeeded: value.count))
            writer.bytes(value)
        }
        return [UInt8](writer.bytes.prefix(mtu))
    }

    // MARK: Searching

    private static func range(_ start: UInt16, _ end: UInt16) throws(Refusal) -> ClosedRange<UInt16> {
        guard start > 0, start <= end else { throw Refusal(handle: start, code: .invalidHandle) }
        return start...end
    }

    /// The handles of a range that exist in the database.
    private func handles(_ range: ClosedRange<UInt16>) -> Range<Int> {
        let first = Int(range.lowerBound)
        return first..<max(first, min(Int(range.upperBound), database.attributes.count) + 1)
    }

    func findInformation(_ request: ATT.FindInformationReq) throws(Refusal) -> [UInt8] {
        let range = try Self.range(request.startingHandle, request.endingHandle)
        var writer = ByteWriter(reserving: mtu)
        writer.u8(ATT.FindInformationRsp.opcode)
        var width = 0
        for handle in handles(range) {
            guard let type = database.attributes[handle - 1]?.type.declared else { continue }
            if width == 0 {
                width = type.count
                writer.u8(width == 2 ? 1 : 2)
            }
            guard type.count == width, writer.bytes.count + 2 + width <= mtu else { break }
            writer.u16(UInt16(handle))
            writer.bytes(type)
        }
        guard width > 0 else { throw Refusal(handle: request.startingHandle, code: .attributeNotFound) }
        return writer.bytes
    }

    func findByTypeValue(_ request: ATT.FindByTypeValueReq, _ access: AttributeAccess) throws(Refusal) -> [UInt8] {
        let range = try Self.range(request.startingHandle, request.endingHandle)
        let type = BluetoothUUID(request.attributeType)
        var writer = ByteWriter(reserving: mtu)
        writer.u8(ATT.FindByTypeValueRsp.opcode)
        for handle in handles(range) {
            guard let attribute = database.attributes[handle - 1], attribute.type == type,
                let found = try? value(UInt16(handle), access), found == request.attributeValue
            else { continue }
            guard writer.bytes.count + 4 <= mtu else { break }
            writer.u16(UInt16(handle))
            writer.u16(attribute.groupEnd ?? UInt16(handle))
        }
        guard writer.bytes.count > 1 else { throw Refusal(handle: request.startingHandle, code: .attributeNotFound) }
        return writer.bytes
    }

    func readByType(_ request: ATT.ReadByTypeReq, _ access: AttributeAccess) throws(Refusal) -> [UInt8] {
        let range = try Self.range(request.startingHandle, request.endingHandle)
        return try list(ATT.ReadByTypeRsp.opcode, range, request.attributeType, access) { _ in nil }
    }

    func readByGroupType(_ request: ATT.ReadByGroupTypeReq, _ access: AttributeAccess) throws(Refusal) -> [UInt8] {
        let range = try Self.range(request.startingHandle, request.endingHandle)
        guard [.primaryService, .secondaryService].contains(request.attributeGroupType) else {
            throw Refusal(handle: request.startingHandle, code: .unsupportedGroupType)
        }
        return try list(ATT.ReadByGroupTypeRsp.opcode, range, request.attributeGroupType, access) { $0.groupEnd }
    }

    /// Entries of handle, optional group end, and value, all of the same length. A value without read permission ends the list, or is the
    /// response if it is the first.
    private func list(
        _ opcode: UInt8, _ range: ClosedRange<UInt16>, _ type: BluetoothUUID, _ access: AttributeAccess,
        groupEnd: (GATTDatabase.Attribute) -> UInt16?
    ) throws(Refusal) -> [UInt8] {
        var writer = ByteWriter(reserving: mtu)
        writer.u8(opcode)
        var rowLength = 0
        for handle in handles(range) {
            guard let attribute = database.attributes[handle - 1], attribute.type == type else { continue }
            let found: [UInt8]
            do throws(Refusal) { found = try value(UInt16(handle), access) } catch {
                if rowLength > 0, !error.isLater { break }
                throw error
            }
            let end = groupEnd(attribute)
            let head = end == nil ? 2 : 4
            let shown = [UInt8](found.prefix(min(mtu - 2, 255) - head))
            if rowLength == 0 {
                rowLength = head + shown.count
                writer.u8(UInt8(rowLength))
            }
            guard head + shown.count == rowLength, writer.bytes.count + rowLength <= mtu else { break }
            writer.u16(UInt16(handle))
            if let end { writer.u16(end) }
            writer.bytes(shown)
        }
        guard rowLength > 0 else { throw Refusal(handle: range.lowerBound, code: .attributeNotFound) }
        return writer.bytes
    }
}
