# dongles: --chip realtek-rom --write-firmware build/vm/share/firmware
# Linux's btrtl takes the chip for an RTL8761BU that runs its ROM alone, loads our made file and has a controller then.
. "$(dirname "$0")/firmware.bash"

attach 1-1
wait_for is_new || fail "no adapter"
check "RTL: examining hci_ver=0a hci_rev=000b lmp_ver=0a lmp_subver=8761" "btrtl reads the numbers of the ROM"
check "RTL: loading rtl_bt/rtl8761bu_fw.bin" "and chooses the file for the chip"
check "RTL: fw version 0xdfc6d922" "the firmware runs, with its version"
is_controller
detach
exit $failed
