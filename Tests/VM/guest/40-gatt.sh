# BlueZ's GATT server on the second dongle; bluebench drives the first one over libusb and hands it back to the kernel.
here=$(dirname "$0")
bench=/share/bluebench
failed=0
ok() { echo "= ok: $1"; }
bad() { echo "= NOT OK: $1"; failed=1; }
check() { if grep -qE "$2" <<<"$1"; then ok "$3"; else bad "$3"; echo "$1"; fi; }
wait_for() { local end=$((SECONDS + 20)); while [ $SECONDS -lt $end ]; do "$@" >/dev/null 2>&1 && return 0; sleep 0.1; done; echo "no: $*"; return 1; }
# The USB device with a serial number, and the kernel's adapter on it.
device_of() { grep -lx "$1" /sys/bus/usb/devices/*/serial | xargs dirname; }
adapter_of() { ls -d "$(device_of "$1")"/*:1.0/bluetooth/hci* 2>/dev/null; }
held_by_kernel() { [ "$(basename "$(readlink "$(device_of "$1")"/*:1.0/driver)")" = btusb ] && [ -n "$(adapter_of "$1")" ]; }
first=02BB00000001
second=02BB00000002
peer=02:BB:00:00:00:02
value=B0B1BE00-0000-4000-8000-000000000001
stream=B0B1BE00-0000-4000-8000-000000000002

wait_for held_by_kernel $first && wait_for held_by_kernel $second || exit 1
devices=$($bench devices 2>&1)
echo "$devices"
check "$devices" "$first" "bluebench devices lists the first dongle"
check "$devices" "$second" "and the second"
check "$devices" "LE and BR/EDR" "and asked them for what they are"
wait_for held_by_kernel $first && wait_for held_by_kernel $second && ok "btusb has both again" || bad "btusb has both again"
id=$(cat "$(device_of $first)/idVendor"):$(cat "$(device_of $first)/idProduct")

mkdir -p /run/dbus
dbus-daemon --system --nopidfile --nofork >/tmp/dbus.txt 2>&1 &
wait_for test -S /run/dbus/system_bus_socket || exit 1
/usr/libexec/bluetooth/bluetoothd -n >/tmp/bluetoothd.txt 2>&1 &
owned() { dbus-send --system --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.GetNameOwner string:org.bluez; }
wait_for owned || { cat /tmp/dbus.txt /tmp/bluetoothd.txt; exit 1; }
managed() { dbus-send --system --print-reply --dest=org.bluez / org.freedesktop.DBus.ObjectManager.GetManagedObjects | grep $peer; }
wait_for managed || { cat /tmp/bluetoothd.txt; exit 1; }
/usr/bin/python3 "$here/gatt_server.py" $peer >/tmp/server.txt 2>&1 &
wait_for grep -q ready /tmp/server.txt || { cat /tmp/server.txt /tmp/bluetoothd.txt; exit 1; }

result=$($bench gatt "usb:$id/$first" --peer $peer/public --mtu 185 --write $value=626C756562656E6368 --subscribe $stream=5 --read $value --seconds 20 2>&1)
code=$?
echo "$result"; cat /tmp/server.txt
[ $code = 0 ] && ok "bluebench ends with 0" || bad "bluebench ends with $code"
check "$result" "^service B0B1BE00-0000-4000-8000-000000000000," "the service of BlueZ's server is discovered"
check "$result" "characteristic $value, handle [0-9]+: 6F6620426C75655A$" "its value is read"
check "$(cat /tmp/server.txt)" "^written 626c756562656e6368$" "written"
check "$result" "^read $value: 626C756562656E6368$" "and read back"
count=$(grep -c "^value of $stream: 0[0-9A-F]626C756562656E6368$\|^value of $stream: 0[0-9A-F]6F6620426C75655A$" <<<"$result")
[ "$count" = 5 ] && ok "five notifications came" || bad "five notifications came: $count"
wait_for held_by_kernel $first && ok "btusb has the dongle again: $(basename "$(adapter_of $first)")" || bad "btusb has the dongle again"
[ $failed = 0 ] || cat /tmp/bluetoothd.txt
kill $(jobs -p)
exit $failed
