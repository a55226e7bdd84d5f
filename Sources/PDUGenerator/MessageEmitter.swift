/// Writes an enumeration of all PDUs of a layer, for exhaustive `switch` statements.
enum MessageEmitter {
    static func emit(_ files: [DeclarationFile]) -> String {
        guard let first = files.first else { return "" }
        let pdus = files.flatMap { file in file.pdus.map { (CodecEmitter.swiftName($0, file.layer), $0.code) } }
        let opcode = first.header.opcodeType
        var out = SourceText()
        out.line("// Generated from the declarations of \(first.name); edit those.")
        out.block("extension \(first.name)") { out in
            out.line("/// Any PDU of the layer.")
            out.block("public enum Message: Sendable, Equatable") { out in
                for (name, _) in pdus { out.line("case \(Naming.caseName(name))(\(name))") }
                out.line("/// An opcode that the layer does not know.")
                out.line("case unknown(opcode: \(opcode.name), parameters: [UInt8])")
                out.line("/// The PDU with this opcode whose parameters follow; octets after the last field are ignored.")
                out.block("public init(opcode: \(opcode.name), from reader: inout ByteReader) throws(PDUError)") { out in
                    out.block("switch opcode") { out in
                        for (name, code) in pdus {
                            out.line(
                                "case \(CodecEmitter.hex(code, opcode.digits)): self = .\(Naming.caseName(name))(try \(name)(from: &reader))"
                            )
                        }
                        out.line("default: self = .unknown(opcode: opcode, parameters: reader.rest())")
                    }
                }
                if first.header == .opcode { wholePDU(&out) }
                out.block("public var opcode: \(opcode.name)") { out in
                    out.block("switch self") { out in
                        for (name, code) in pdus { out.line("case .\(Naming.caseName(name)): \(CodecEmitter.hex(code, opcode.digits))") }
                        out.line("case .unknown(let opcode, _): opcode")
                    }
                }
                out.block("public func encode(into writer: inout ByteWriter)") { out in
                    out.block("switch self") { out in
                        for (name, _) in pdus { out.line("case .\(Naming.caseName(name))(let pdu): pdu.encode(into: &writer)") }
                        out.line("case .unknown(_, let parameters): writer.bytes(parameters)")
                    }
                }
            }
        }
        return out.text
    }

    /// Writes the codec of a PDU with its opcode.
    private static func wholePDU(_ out: inout SourceText) {
        out.line("/// The PDU that begins with its opcode; octets after the last field are refused.")
        out.block("public init(bytes: [UInt8]) throws(PDUError)") { out in
            out.line("var reader = ByteReader(bytes.span.bytes)")
            out.line("try self.init(opcode: try reader.u8(\"Opcode\"), from: &reader)")
            out.line(
                "guard reader.remaining == 0 else { throw PDUError(field: \"\", offset: reader.offset, problem: .trailing(reader.remaining)) }"
            )
        }
        out.line("/// Opcode and parameters.")
        out.block("public var bytes: [UInt8]") { out in
            out.line("var writer = ByteWriter(reserving: 32)")
            out.line("writer.u8(opcode)")
            out.line("encode(into: &writer)")
            out.line("return writer.bytes")
        }
    }
}
