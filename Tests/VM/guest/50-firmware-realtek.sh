# dongles: --boot rtl8761b --count 2 --write-firmware build/vm/share/firmware
# Linux's btrtl finds a dongle that waits for firmware, loads our made file into it, and has a controller then; a damaged file the dongle refuses.
. "$(dirname "$0")/firmware.bash"

attach 1-1
wait_for is_new || fail "no adapter"
check "RTL: loading rtl_bt/rtl8761bu_fw.bin" "btrtl reads the file for the chip"
check "RTL: fw version 0xdfc6d922" "the firmware runs, with its version"
is_controller

printf '\001' | dd of=$folder/rtl_bt/rtl8761bu_fw.bin bs=1 seek=50000 conv=notrunc 2>/dev/null
attach 1-2
check "RTL: download fw command failed" "a damaged file is refused by the dongle"
detach
exit $failed
