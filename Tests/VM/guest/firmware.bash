# What the scripts share in which the kernel loads firmware: an adapter that appears, and what the kernel says from then on.
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
# What a script attached leaves with it: later scripts look for dongles by serial number and address, and these have the same.
detach() {
    usbip port 2>/dev/null | awk -v from=":$USBIP_PORT/" '/^Port/ { port = $2 + 0 } index($0, from) { print port }' | while read -r port; do usbip detach -p "$port"; done
    if wait_for gone; then echo "= ok: the dongles are gone"; else echo "= NOT OK: dongles are left: $(usbip port)"; exit 1; fi
}
gone() { ! usbip port 2>/dev/null | grep -qF ":$USBIP_PORT/"; }
# The kernel names an adapter before it has set it up; until then its index is invalid.
has_address() { info=$(mgmt info); grep -q "addr 02:BB:00:00:00:01" <<<"$info"; }
# The new adapter answers and takes power.
is_controller() {
    if wait_for has_address; then echo "= ok: $adapter is a controller"; else fail "info: $info"; fi
    power=$(mgmt power on)
    if grep -q "powered" <<<"$power"; then echo "= ok: $adapter powers on"; else fail "power on: $power"; fi
    mgmt power off >/dev/null
}

# The kernel looks for files from the first process's root, where the share is /root/share.
echo -n "/root$folder" >/sys/module/firmware_class/parameters/path
