# Both dongles come up as adapters within ten seconds.
wait_for() { for _ in $(seq 100); do "$@" >/dev/null 2>&1 && return 0; sleep 0.1; done; echo "no: $*"; return 1; }
usbip --tcp-port "$USBIP_PORT" list -r 10.0.2.2
usbip --tcp-port "$USBIP_PORT" attach -r 10.0.2.2 -b 1-1 || exit 1
wait_for test -e /sys/class/bluetooth/hci0 || exit 1
usbip --tcp-port "$USBIP_PORT" attach -r 10.0.2.2 -b 1-2 || exit 1
wait_for test -e /sys/class/bluetooth/hci1 || exit 1
found=0
for device in /sys/bus/usb/devices/*; do
    [ "$(cat "$device/product" 2>/dev/null)" = "Virtual dongle" ] || continue
    echo "= $(basename "$device"): $(cat "$device/manufacturer") $(cat "$device/product"), serial $(cat "$device/serial"), $(cat "$device/speed") Mbit/s"
    found=$((found + 1))
done
[ $found = 2 ] && [ "$(cat /sys/bus/usb/devices/*/serial 2>/dev/null | sort | uniq -d | grep -c BB)" = 0 ]
