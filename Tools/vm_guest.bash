# Attaches the dongles, starts BlueZ and the accessory, and runs the user's command: in the guest, for Tools/vm.
. /share/settings
trap 'kill $(jobs -p) 2>/dev/null' EXIT
wait_for() { for _ in $(seq 300); do "$@" >/dev/null 2>&1 && return 0; sleep 0.1; done; echo "not in time: $*"; return 1; }
attach() { usbip --tcp-port "$USBIP_PORT" attach -r 10.0.2.2 -b "1-$1" && wait_for test -e "/sys/class/bluetooth/hci$(($1 - 1))"; }
for number in $(seq "$dongles"); do attach "$number" || exit 1; done
if [ -n "$accessory" ]; then
    number=$((dongles + 1))
    attach $number || exit 1
    serial=$(printf '02BB%08X' $number)
    device=$(dirname "$(grep -lx "$serial" /sys/bus/usb/devices/*/serial)")
    "$program" advertise "usb:$(cat "$device/idVendor"):$(cat "$device/idProduct")/$serial" --as "$accessory" >/share/accessory.txt 2>&1 &
    wait_for grep -q "^advertising" /share/accessory.txt || { cat /share/accessory.txt; exit 1; }
fi
mkdir -p /run/dbus
dbus-daemon --system --nopidfile --nofork >/tmp/dbus.txt 2>&1 &
# A call costs more than the wait between two of them: the guest is emulated.
wait_for_adapters() { for _ in $(seq 60); do has_adapters && return 0; sleep 0.5; done; echo "not in time: the adapters of BlueZ"; return 1; }
objects() { dbus-send --system --print-reply --dest=org.bluez / org.freedesktop.DBus.ObjectManager.GetManagedObjects; }
has_adapters() { [ "$(objects | grep -c '"org.bluez.Adapter1"')" -ge "$dongles" ]; }
wait_for test -S /run/dbus/system_bus_socket || { cat /tmp/dbus.txt; exit 1; }
/usr/libexec/bluetooth/bluetoothd -n >/tmp/bluetoothd.txt 2>&1 &
wait_for_adapters || { cat /tmp/bluetoothd.txt; exit 1; }
cd "$folder" || exit 1
# BlueZ's tools want a terminal; they colour their output for it.
export TERM=dumb
timeout "$limit" script -qec "bash /share/command" /dev/null </dev/null 2>&1 | sed 's/\x1b\[[0-9;]*[a-zA-Z]//g; s/\r$//' >/share/output.txt
echo "${PIPESTATUS[0]}" >/share/code
