# dongles: --boot rtl8761b --count 2 --write-firmware build/vm/share/firmware
# Linux's btrtl finds a dongle that waits for firmware, loads our made file into it, and has a controller then; a damaged file the dongle refuses.
. "$(dirname "$0")/firmware.bash"

attach 1-1
wait_for is_new || fail "no adapter"
check "RTL: loading rtl_bt/rtl8761bu_fw.bin" "btrtl reads the file for the chip"
check "RTL: fw version 0xdfc6d922" "the firmware runs, with its version"
is_controller

# The damage goes into a copy: scripts that follow load the whole file.
cp -r $folder /share/damaged
printf '\001' | dd of=/share/damaged/rtl_bt/rtl8761bu_fw.bin bs=1 seek=50000 conv=notrunc 2>/dev/null
echo -n /root/share/damaged >/sys/module/firmware_class/parameters/path
attach 1-2
check "RTL: download fw command failed" "a damaged file is refused by the dongle"
detach
exit $failed
