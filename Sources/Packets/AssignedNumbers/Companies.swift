extension AssignedNumbers {
    /// Company identifiers with common company names.
    static let companyNames = """
        0000 Ericsson
        0001 Nokia
        0002 Intel
        0003 IBM
        0004 Toshiba
        0006 Microsoft
        0008 Motorola
        0009 Infineon
        000A Qualcomm (CSR)
        000D Texas Instruments
        000F Broadcom
        0013 Atmel
        0019 Rohde & Schwarz
        001D Qualcomm
        0022 NEC
        0025 NXP
        0029 Hitachi
        0030 STMicroelectronics
        0031 Synopsys
        0036 Renesas
        003A Panasonic
        003C BlackBerry
        003F Bluetooth SIG
        0040 Seiko Epson
        0043 Parrot
        0045 Atheros
        0046 MediaTek
        0047 Bluegiga
        0048 Marvell
        004B Continental
        004C Apple
        0055 Plantronics
        0056 Sony Ericsson
        0057 Harman
        0059 Nordic Semiconductor
        005A EM Microelectronic
        005B Ralink
        005C Belkin
        005D Realtek
        0060 RivieraWaves
        0061 RDA Microelectronics
        0065 HP
        0067 GN Audio
        0068 General Motors
        006B Polar
        0071 u-blox
        0075 Samsung
        0076 Creative
        0077 Laird
        0078 Nike
        0087 Garmin
        0089 GN Hearing
        008A Jawbone
        008C Gimbal
        0093 Universal Electronics
        0094 Airoha
        009E Bose
        009F Suunto
        00A4 LINAK
        00C4 LG Electronics
        00CC Beats
        00CD Microchip
        00D2 Dialog Semiconductor
        00E0 Google
        0118 Radius Networks
        012D Sony
        0131 Cypress
        0157 Huami
        0171 Amazon
        01AB Meta
        0211 Telink
        027D Huawei
        02E5 Espressif
        02FF Silicon Labs
        038F Xiaomi
        0499 Ruuvi
        05A7 Sonos
        05F1 Linux Foundation
        067C Tile
        07D0 Tuya
        0822 Adafruit
        0969 SwitchBot
        FFFF none
        """

    /// Appearance categories, each with its generic value, and the subcategories of human interface devices.
    static let appearanceNames = """
        0000 Unknown
        0040 Phone
        0080 Computer
        00C0 Watch
        00C1 Sports Watch
        0100 Clock
        0140 Display
        0180 Remote Control
        01C0 Eye-glasses
        0200 Tag
        0240 Keyring
        0280 Media Player
        02C0 Barcode Scanner
        0300 Thermometer
        0340 Heart Rate Sensor
        0380 Blood Pressure
        03C0 Human Interface Device
        03C1 Keyboard
        03C2 Mouse
        03C3 Joystick
        03C4 Gamepad
        03C5 Digitizer Tablet
        03C6 Card Reader
        03C7 Digital Pen
        03C8 Barcode Scanner
        0400 Glucose Meter
        0440 Running Walking Sensor
        0480 Cycling
        04C0 Control Device
        0500 Network Device
        0540 Sensor
        0580 Light Fixtures
        05C0 Fan
        0600 HVAC
        0640 Air Conditioning
        0680 Humidifier
        06C0 Heating
        0700 Access Control
        0740 Motorized Device
        0780 Power Device
        07C0 Light Source
        0800 Window Covering
        0840 Audio Sink
        0880 Audio Source
        08C0 Motorized Vehicle
        0900 Domestic Appliance
        0940 Wearable Audio Device
        0980 Aircraft
        09C0 AV Equipment
        0A00 Display Equipment
        0A40 Hearing Aid
        0A80 Gaming
        0AC0 Signage
        0C40 Pulse Oximeter
        0C80 Weight Scale
        0CC0 Personal Mobility Device
        0D00 Continuous Glucose Monitor
        0D40 Insulin Pump
        0D80 Medication Delivery
        0DC0 Spirometer
        1440 Outdoor Sports Activity
        """
}
