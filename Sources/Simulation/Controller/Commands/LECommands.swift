import Packets

/// The commands of LE. Core Vol 4, Part E, 7.8.
extension CommandTable {
    mutating func addLE() {
        perform(HCICommands.LESetEventMask.self, LEController.execute)
        complete(HCICommands.LEReadBufferSize.self, LEController.execute)
        complete(HCICommands.LEReadBufferSizeV2.self, LEController.execute)
        complete(HCICommands.LEReadLocalSupportedFeatures.self, LEController.execute)
        complete(HCICommands.LEReadSupportedStates.self, LEController.execute)
        perform(HCICommands.LESetRandomAddress.self, LEController.execute)
        complete(HCICommands.LEReadTransmitPower.self, LEController.execute)
        complete(HCICommands.LEReadRFPathCompensation.self, LEController.execute)
        perform(HCICommands.LEWriteRFPathCompensation.self, LEController.execute)

        complete(HCICommands.LEReadFilterAcceptListSize.self, LEController.execute)
        perform(HCICommands.LEClearFilterAcceptList.self, LEController.execute)
        perform(HCICommands.LEAddDeviceToFilterAcceptList.self, LEController.execute)
        perform(HCICommands.LERemoveDeviceFromFilterAcceptList.self, LEController.execute)

        perform(HCICommands.LEAddDeviceToResolvingList.self, LEController.execute)
        perform(HCICommands.LERemoveDeviceFromResolvingList.self, LEController.execute)
        perform(HCICommands.LEClearResolvingList.self, LEController.execute)
        complete(HCICommands.LEReadResolvingListSize.self, LEController.execute)
        complete(HCICommands.LEReadPeerResolvableAddress.self, LEController.execute)
        complete(HCICommands.LEReadLocalResolvableAddress.self, LEController.execute)
        perform(HCICommands.LESetAddressResolutionEnable.self, LEController.execute)
        perform(HCICommands.LESetResolvablePrivateAddressTimeout.self, LEController.execute)
        perform(HCICommands.LESetResolvablePrivateAddressTimeoutV2.self, LEController.execute)
        perform(HCICommands.LESetPrivacyMode.self, LEController.execute)

        perform(HCICommands.LESetAdvertisingParameters.self, within(.legacy, LEController.execute))
        complete(HCICommands.LEReadAdvertisingPhysicalChannelTxPower.self, within(.legacy, readsOnly: true, LEController.execute))
        perform(HCICommands.LESetAdvertisingData.self, within(.legacy, LEController.execute))
        perform(HCICommands.LESetScanResponseData.self, within(.legacy, LEController.execute))
        perform(HCICommands.LESetAdvertisingEnable.self, within(.legacy, LEController.execute))

        perform(HCICommands.LESetAdvertisingSetRandomAddress.self, within(.extended, LEController.execute))
        complete(HCICommands.LEReadMaximumAdvertisingDataLength.self, within(.extended, readsOnly: true, LEController.execute))
        complete(HCICommands.LEReadNumberOfSupportedAdvertisingSets.self, within(.extended, readsOnly: true, LEController.execute))
        perform(HCICommands.LERemoveAdvertisingSet.self, within(.extended, LEController.execute))
        perform(HCICommands.LEClearAdvertisingSets.self, within(.extended, LEController.execute))
        complete(HCICommands.LESetExtendedAdvertisingParameters.self, within(.extended, LEController.execute))
        perform(HCICommands.LESetExtendedAdvertisingData.self, within(.extended, LEController.execute))
        perform(HCICommands.LESetExtendedScanResponseData.self, within(.extended, LEController.execute))
        perform(HCICommands.LESetExtendedAdvertisingEnable.self, within(.extended, LEController.execute))

        perform(HCICommands.LESetScanParameters.self, within(.legacy, LEController.execute))
        perform(HCICommands.LESetScanEnable.self, within(.legacy, LEController.execute))
        perform(HCICommands.LESetExtendedScanParameters.self, within(.extended, LEController.execute))
        perform(HCICommands.LESetExtendedScanEnable.self, within(.extended, LEController.execute))

        start(HCICommands.LECreateConnection.self, within(.legacy, LEController.execute))
        perform(HCICommands.LECreateConnectionCancel.self, LEController.execute)
        start(HCICommands.LEExtendedCreateConnection.self, within(.extended, LEController.execute))

        start(HCICommands.LEConnectionUpdate.self, handle: { $0.connectionHandle }, LEController.execute)
        perform(HCICommands.LESetHostChannelClassification.self, LEController.execute)
        complete(HCICommands.LEReadChannelMap.self, handle: { $0.connectionHandle }, LEController.execute)
        start(HCICommands.LEReadRemoteFeatures.self, handle: { $0.connectionHandle }, LEController.execute)
        complete(HCICommands.LERemoteConnectionParameterRequestReply.self, handle: { $0.connectionHandle }, LEController.execute)
        complete(HCICommands.LERemoteConnectionParameterRequestNegativeReply.self, handle: { $0.connectionHandle }, LEController.execute)

        complete(HCICommands.LEReadPHY.self, handle: { $0.connectionHandle }, LEController.execute)
        perform(HCICommands.LESetDefaultPHY.self, LEController.execute)
        start(HCICommands.LESetPHY.self, handle: { $0.connectionHandle }, LEController.execute)
        complete(HCICommands.LESetDataLength.self, handle: { $0.connectionHandle }, LEController.execute)
        complete(HCICommands.LEReadSuggestedDefaultDataLength.self, LEController.execute)
        perform(HCICommands.LEWriteSuggestedDefaultDataLength.self, LEController.execute)
        complete(HCICommands.LEReadMaximumDataLength.self, LEController.execute)

        complete(HCICommands.LEEncrypt.self, needs: .leEncryption, LEController.execute)
        complete(HCICommands.LERand.self, needs: .leEncryption, LEController.execute)
        complete(HCICommands.ReadAuthenticatedPayloadTimeout.self, handle: { $0.connectionHandle }, needs: .lePing, LEController.execute)
        complete(HCICommands.WriteAuthenticatedPayloadTimeout.self, handle: { $0.connectionHandle }, needs: .lePing, LEController.execute)
        start(HCICommands.LEEnableEncryption.self, handle: { $0.connectionHandle }, LEController.execute)
        complete(HCICommands.LELongTermKeyRequestReply.self, handle: { $0.connectionHandle }, LEController.execute)
        complete(HCICommands.LELongTermKeyRequestNegativeReply.self, handle: { $0.connectionHandle }, LEController.execute)
        start(HCICommands.LEReadLocalP256PublicKey.self, LEController.execute)
        start(HCICommands.LEGenerateDHKey.self, LEController.execute)
        start(HCICommands.LEGenerateDHKeyV2.self, LEController.execute)

        perform(HCICommands.LEReceiverTest.self, LEController.execute)
        perform(HCICommands.LEReceiverTestV2.self, LEController.execute)
        perform(HCICommands.LETransmitterTest.self, LEController.execute)
        perform(HCICommands.LETransmitterTestV2.self, LEController.execute)
        complete(HCICommands.LETestEnd.self, LEController.execute)
    }

    /// A command of one of the two families of advertising and scanning commands, which do not mix before a reset. Core Vol 4, Part E, 3.1.1.
    ///
    /// One that is carried out decides for its family, unless it only reads.
    private func within<Command: HCICommand, Value>(
        _ family: LESettings.CommandFamily, readsOnly: Bool = false,
        _ execute: @escaping @Sendable (LEController) -> (Command) throws(CommandFailure) -> Value
    ) -> @Sendable (LEController) -> (Command) throws(CommandFailure) -> Value {
        { le in
            { command throws(CommandFailure) in
                try le.check(family)
                let value = try execute(le)(command)
                if !readsOnly { le.settings.family = family }
                return value
            }
        }
    }
}
