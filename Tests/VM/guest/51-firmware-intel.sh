# dongles: --boot intel --write-firmware build/vm/share/firmware
# Linux's btintel finds a boot loader, sends our made image through the bulk pipe, starts it and writes its settings.
failed=0
wait_for() { for _ in $(seq 200); do "$@" >/dev/null 2>&1 && return 0; sleep 0.1; done; return 1; }
said() { dmesg | tail -n +$((past + 1)) | grep -qF "$1"; }
fail() { echo "= NOT OK: $1"; dmesg | tail -n +$((past + 1)); failed=1; }
check() { if wait_for said "$1"; then echo "= ok: $2"; else fail "$2"; fi; }
adapters() { echo " "$(ls /sys/class/bluetooth)" "; }
is_new() { for adapter in $(adapters); do [[ $before == *" $adapter "* ]] || return 0; done; return 1; }
mgmt() { timeout 20 script -qec "btmgmt --index ${adapter#hci} $*" /dev/null 2>&1 </dev/null | sed 's/\x1b\[[0-9;]*[a-zA-Z]//g'; }

echo -n /root/share/firmware >/sys/module/firmware_class/parameters/path
past=$(dmesg | wc -l)
before=$(adapters)
usbip --tcp-port "$USBIP_PORT" attach -r 10.0.2.2 -b 1-1
wait_for is_new || fail "no adapter"
check "Found device firmware: intel/ibt-20-1-3.sfi" "btintel reads the file for the controller"
check "Firmware loaded in" "the boot loader accepts the image"
check "Device booted in" "the firmware starts"
check "Applying Intel DDC parameters completed" "it takes its settings"
info=$(mgmt info)
if grep -q "addr 02:BB:00:00:00:01" <<<"$info"; then echo "= ok: $adapter is a controller"; else fail "info: $info"; fi
power=$(mgmt power on)
if grep -q "powered" <<<"$power"; then echo "= ok: $adapter powers on"; else fail "power on: $power"; fi
mgmt power off >/dev/null
exit $failed
