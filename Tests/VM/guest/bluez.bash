# What the scripts with BlueZ's daemon share: bluebench has the first dongle, over libusb, and bluetoothd the second one, over the kernel.
here=$(dirname "$0")
bench=/share/bluebench
failed=0
trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
ok() { echo "= ok: $1"; }
bad() { echo "= NOT OK: $1"; failed=1; }
wait_for() { local end=$((SECONDS + 40)); while [ $SECONDS -lt $end ]; do "$@" >/dev/null 2>&1 && return 0; sleep 0.1; done; echo "no: $*"; return 1; }
# The USB device with a serial number, and the kernel's adapter on it.
device_of() { grep -lx "$1" /sys/bus/usb/devices/*/serial | xargs dirname; }
adapter_of() { ls -d "$(device_of "$1")"/*:1.0/bluetooth/hci* 2>/dev/null; }
held_by_kernel() { [ "$(basename "$(readlink "$(device_of "$1")"/*:1.0/driver)")" = btusb ] && [ -n "$(adapter_of "$1")" ]; }
first=02BB00000001
second=02BB00000002
ours=02:BB:00:00:00:01
theirs=02:BB:00:00:00:02
wait_for held_by_kernel $first && wait_for held_by_kernel $second || exit 1
dongle="usb:$(cat "$(device_of $first)/idVendor"):$(cat "$(device_of $first)/idProduct")/$first"

on_bus() { dbus-send --system --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.ListNames; }
objects() { dbus-send --system --print-reply --dest=org.bluez / org.freedesktop.DBus.ObjectManager.GetManagedObjects; }
has_adapter() { objects | grep $theirs; }
start_bluez() {
    if ! on_bus >/dev/null 2>&1; then
        mkdir -p /run/dbus
        dbus-daemon --system --nopidfile --nofork >/tmp/dbus.txt 2>&1 &
        wait_for on_bus || { cat /tmp/dbus.txt; exit 1; }
    fi
    /usr/libexec/bluetooth/bluetoothd -n >>/tmp/bluetoothd.txt 2>&1 &
    daemon=$!
    wait_for has_adapter || { cat /tmp/bluetoothd.txt; exit 1; }
}
stop_bluez() { kill $daemon; wait $daemon 2>/dev/null; }
forget_bonds() { for device in /var/lib/bluetooth/*/*:*; do rm -rf "$device"; done; }
# The registered service: see gatt_server.py.
service=B0B1BE00-0000-4000-8000-000000000000
value=B0B1BE00-0000-4000-8000-000000000001
stream=B0B1BE00-0000-4000-8000-000000000002
serve_values() { /usr/bin/python3 "$here/gatt_server.py" $theirs "$@" >/tmp/server.txt 2>&1 & wait_for grep -q ready /tmp/server.txt || { cat /tmp/server.txt /tmp/bluetoothd.txt; exit 1; }; }
