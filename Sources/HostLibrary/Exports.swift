// The types of BBPackets that the library's signatures have. An app that imports Bluebench alone has these names, and no other of the
// rooms below: their modules are imported for internal use, so the compiler refuses them in a public declaration.
@_exported public import struct BBPackets.ATTErrorCode
@_exported public import struct BBPackets.BluetoothUUID
@_exported public import struct BBPackets.DeviceAddress
@_exported public import struct BBPackets.ErrorCode
