# A program with `import CoreBluetooth` on the first dongle subscribes to a heart rate that BlueZ serves on the second one.
. "$(dirname "$0")/bluez.bash"
checkout=$(cat /share/checkout)
program=$(ls -t "$checkout"/.build/{release,debug}/watch-heart-rate 2>/dev/null | head -1)
[ -n "$program" ] || { bad "no program: swift build --product watch-heart-rate"; exit 1; }
forget_bonds
start_bluez
serve_values 180d 2a38 2a37
said=$(BLUEBENCH_DEVICE=$dongle timeout 150 "$program" 2>&1)
code=$?
echo "$said"
[ $code = 0 ] && ok "the program ends with 0" || bad "the program ends with $code"
# The first octet of the value that the server counts.
[ "$(grep -c "^111 per minute$" <<<"$said")" = 5 ] && ok "five heart rates of BlueZ came" || bad "five heart rates of BlueZ came"
wait_for grep -q "^subscribed$" /tmp/server.txt && ok "BlueZ was subscribed to" || bad "BlueZ was subscribed to"
# The program ends without giving the dongle back to the kernel's driver.
echo "$(basename "$(device_of $first)"):1.0" >/sys/bus/usb/drivers/btusb/bind
wait_for held_by_kernel $first && ok "the kernel has the dongle again" || bad "the kernel has the dongle again"
[ $failed = 0 ] || cat /tmp/server.txt /tmp/bluetoothd.txt
exit $failed
