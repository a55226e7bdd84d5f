import Packets

/// LE controller commands. Core Vol 4, Part E, 7.8.
extension CommandTable {
    mutating func addLE() {
        perform(HCICommands.LESetEventMask.self, by: LEController.self) { try $0.execute($1) }
        complete(HCICommands.LEReadBufferSize.self, by: LEController.self) { try $0.execute($1) }
        complete(HCICommands.LEReadBufferSizeV2.self, by: LEController.self) { try $0.execute($1) }
        complete(HCICommands.LEReadLocalSupportedFeatures.self, by: LEController.self) { try $0.execute($1) }
        complete(HCICommands.LEReadSupportedStates.self, by: LEController.self) { try $0.execute($1) }
        perform(HCICommands.LESetRandomAddress.self, by: LEController.self) { try $0.execute($1) }
        complete(HCICommands.LEReadTransmitPower.self, by: LEController.self) { try $0.execute($1) }
        complete(HCICommands.LEReadRFPathCompensation.self, by: LEController.self) { try $0.execute($1) }
        perform(HCICommands.LEWriteRFPathCompensation.self, by: LEController.self) { try $0.execute($1) }

        complete(HCICommands.LEReadFilterAcceptListSize.self, by: LEController.self) { try $0.execute($1) }
        perform(HCICommands.LEClearFilterAcceptList.self, by: LEController.self) { try $0.execute($1) }
        perform(HCICommands.LEAddDeviceToFilterAcceptList.self, by: LEController.self) { try $0.execute($1) }
        perform(HCICommands.LERemoveDeviceFromFilterAcceptList.self, by: LEController.self) { try $0.execute($1) }

        perform(HCICommands.LEAddDeviceToResolvingList.self, by: LEController.self) { try $0.execute($1) }
        perform(HCICommands.LERemoveDeviceFromResolvingList.self, by: LEController.self) { try $0.execute($1) }
        perform(HCICommands.LEClearResolvingList.self, by: LEController.self) { try $0.execute($1) }
        complete(HCICommands.LEReadResolvingListSize.self, by: LEController.self) { try $0.execute($1) }
        complete(HCICommands.LEReadPeerResolvableAddress.self, by: LEController.self) { try $0.execute($1) }
        complete(HCICommands.LEReadLocalResolvableAddress.self, by: LEController.self) { try $0.execute($1) }
        perform(HCICommands.LESetAddressResolutionEnable.self, by: LEController.self) { try $0.execute($1) }
        perform(HCICommands.LESetResolvablePrivateAddressTimeout.self, by: LEController.self) { try $0.execute($1) }
        perform(HCICommands.LESetResolvablePrivateAddressTimeoutV2.self, by: LEController.self) { try $0.execute($1) }
        perform(HCICommands.LESetPrivacyMode.self, by: LEController.self) { try $0.execute($1) }

        perform(HCICommands.LESetAdvertisingParameters.self, within(.legacy) { try $0.execute($1) })
        complete(HCICommands.LEReadAdvertisingPhysicalChannelTxPower.self, within(.legacy, readsOnly: true) { try $0.execute($1) })
        perform(HCICommands.LESetAdvertisingData.self, within(.legacy) { try $0.execute($1) })
        perform(HCICommands.LESetScanResponseData.self, within(.legacy) { try $0.execute($1) })
        perform(HCICommands.LESetAdvertisingEnable.self, within(.legacy) { try $0.execute($1) })

        perform(HCICommands.LESetAdvertisingSetRandomAddress.self, within(.extended) { try $0.execute($1) })
        complete(HCICommands.LEReadMaximumAdvertisingDataLength.self, within(.extended, readsOnly: true) { try $0.execute($1) })
        complete(HCICommands.LEReadNumberOfSupportedAdvertisingSets.self, within(.extended, readsOnly: true) { try $0.execute($1) })
        perform(HCICommands.LERemoveAdvertisingSet.self, within(.extended) { try $0.execute($1) })
        perform(HCICommands.LEClearAdvertisingSets.self, within(.extended) { try $0.execute($1) })
        complete(HCICommands.LESetExtendedAdvertisingParameters.self, within(.extended) { try $0.execute($1) })
        perform(HCICommands.LESetExtendedAdvertisingData.self, within(.extended) { try $0.execute($1) })
        perform(HCICommands.LESetExtendedScanResponseData.self, within(.extended) { try $0.execute($1) })
        perform(HCICommands.LESetExtendedAdvertisingEnable.self, within(.extended) { try $0.execute($1) })

        perform(HCICommands.LESetScanParameters.self, within(.legacy) { try $0.execute($1) })
        perform(HCICommands.LESetScanEnable.self, within(.legacy) { try $0.execute($1) })
        perform(HCICommands.LESetExtendedScanParameters.self, within(.extended) { try $0.execute($1) })
        perform(HCICommands.LESetExtendedScanEnable.self, within(.extended) { try $0.execute($1) })

        start(HCICommands.LECreateConnection.self, within(.legacy) { try $0.execute($1) })
        perform(HCICommands.LECreateConnectionCancel.self, by: LEController.self) { try $0.execute($1) }
        start(HCICommands.LEExtendedCreateConnection.self, within(.extended) { try $0.execute($1) })

        start(HCICommands.LEConnectionUpdate.self, handle: \.connectionHandle, by: LEController.self) { try $0.execute($1) }
        perform(HCICommands.LESetHostChannelClassification.self, by: LEController.self) { try $0.execute($1) }
        complete(HCICommands.LEReadChannelMap.self, handle: \.connectionHandle, by: LEController.self) { try $0.execute($1) }
        start(HCICommands.LEReadRemoteFeatures.self, handle: \.connectionHandle, by: LEController.self) { try $0.execute($1) }
        complete(HCICommands.LERemoteConnectionParameterRequestReply.self, handle: \.connectionHandle, by: LEController.self) {
            try $0.execute($1)
        }
        complete(HCICommands.LERemoteConnectionParameterRequestNegativeReply.self, handle: \.connectionHandle, by: LEController.self) {
            try $0.execute($1)
        }

        complete(HCICommands.LEReadPHY.self, handle: \.connectionHandle, by: LEController.self) { try $0.execute($1) }
        perform(HCICommands.LESetDefaultPHY.self, by: LEController.self) { try $0.execute($1) }
        start(HCICommands.LESetPHY.self, handle: \.connectionHandle, by: LEController.self) { try $0.execute($1) }
        complete(HCICommands.LESetDataLength.self, handle: \.connectionHandle, by: LEController.self) { try $0.execute($1) }
        complete(HCICommands.LEReadSuggestedDefaultDataLength.self, by: LEController.self) { try $0.execute($1) }
        perform(HCICommands.LEWriteSuggestedDefaultDataLength.self, by: LEController.self) { try $0.execute($1) }
        complete(HCICommands.LEReadMaximumDataLength.self, by: LEController.self) { try $0.execute($1) }

        complete(HCICommands.LEEncrypt.self, needs: .leEncryption, by: LEController.self) { try $0.execute($1) }
        complete(HCICommands.LERand.self, needs: .leEncryption, by: LEController.self) { try $0.execute($1) }
        complete(HCICommands.ReadAuthenticatedPayloadTimeout.self, handle: \.connectionHandle, needs: .lePing, by: LEController.self) {
            try $0.execute($1)
        }
        complete(HCICommands.WriteAuthenticatedPayloadTimeout.self, handle: \.connectionHandle, needs: .lePing, by: LEController.self) {
            try $0.execute($1)
        }
        start(HCICommands.LEEnableEncryption.self, handle: \.connectionHandle, by: LEController.self) { try $0.execute($1) }
        complete(HCICommands.LELongTermKeyRequestReply.self, handle: \.connectionHandle, by: LEController.self) { try $0.execute($1) }
        complete(HCICommands.LELongTermKeyRequestNegativeReply.self, handle: \.connectionHandle, by: LEController.self) {
            try $0.execute($1)
        }
        start(HCICommands.LEReadLocalP256PublicKey.self, by: LEController.self) { try $0.execute($1) }
        start(HCICommands.LEGenerateDHKey.self, by: LEController.self) { try $0.execute($1) }
        start(HCICommands.LEGenerateDHKeyV2.self, by: LEController.self) { try $0.execute($1) }

        perform(HCICommands.LEReceiverTest.self, by: LEController.self) { try $0.execute($1) }
        perform(HCICommands.LEReceiverTestV2.self, by: LEController.self) { try $0.execute($1) }
        perform(HCICommands.LETransmitterTest.self, by: LEController.self) { try $0.execute($1) }
        perform(HCICommands.LETransmitterTestV2.self, by: LEController.self) { try $0.execute($1) }
        complete(HCICommands.LETestEnd.self, by: LEController.self) { try $0.execute($1) }
    }

    /// Wraps a command of the legacy or extended family of advertising and scanning commands, which must not be mixed before a reset. Core
    /// Vol 4, Part E, 3.1.1.
    ///
    /// The first executed command that is not read-only selects the family.
    private func within<Command: HCICommand, Value>(
        _ family: LESettings.CommandFamily, readsOnly: Bool = false,
        _ execute: @escaping @Sendable (LEController, Command) throws -> Value
    ) -> @Sendable (LEController, Command) throws -> Value {
        { le, command in
            try le.check(family)
            let value = try execute(le, command)
            if !readsOnly { le.settings.family = family }
            return value
        }
    }
}
