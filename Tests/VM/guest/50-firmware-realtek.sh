# dongles: --boot rtl8761b --count 2 --write-firmware build/vm/share/firmware
# Linux's btrtl finds a dongle that waits for firmware, loads our made file into it, and has a controller then; a damaged file the dongle refuses.
folder=/share/firmware
failed=0
wait_for() { for _ in $(seq 200); do "$@" >/dev/null 2>&1 && return 0; sleep 0.1; done; return 1; }
said() { dmesg | tail -n +$((past + 1)) | grep -qF "$1"; }
fail() { echo "= NOT OK: $1"; dmesg | tail -n +$((past + 1)); failed=1; }
check() { if wait_for said "$1"; then echo "= ok: $2"; else fail "$2"; fi; }
adapters() { echo " "$(ls /sys/class/bluetooth)" "; }
is_new() { for adapter in $(adapters); do [[ $before == *" $adapter "* ]] || return 0; done; return 1; }
mgmt() { timeout 20 script -qec "btmgmt --index ${adapter#hci} $*" /dev/null 2>&1 </dev/null | sed 's/\x1b\[[0-9;]*[a-zA-Z]//g'; }
attach() { past=$(dmesg | wc -l); before=$(adapters); usbip --tcp-port "$USBIP_PORT" attach -r 10.0.2.2 -b "$1"; }

# The kernel looks for files from the first process's root, where the share is /root/share.
echo -n "/root$folder" >/sys/module/firmware_class/parameters/path
attach 1-1
wait_for is_new || fail "no adapter"
check "RTL: loading rtl_bt/rtl8761bu_fw.bin" "btrtl reads the file for the chip"
check "RTL: fw version 0xdfc6d922" "the firmware runs, with its version"
info=$(mgmt info)
if grep -q "addr 02:BB:00:00:00:01" <<<"$info"; then echo "= ok: $adapter is a controller"; else fail "info: $info"; fi
power=$(mgmt power on)
if grep -q "powered" <<<"$power"; then echo "= ok: $adapter powers on"; else fail "power on: $power"; fi
mgmt power off >/dev/null

printf '\001' | dd of=$folder/rtl_bt/rtl8761bu_fw.bin bs=1 seek=50000 conv=notrunc 2>/dev/null
attach 1-2
check "RTL: download fw command failed" "a damaged file is refused by the dongle"
exit $failed
