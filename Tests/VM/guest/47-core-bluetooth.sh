# Programs with `import CoreBluetooth` on the first dongle: one subscribes to a heart rate that BlueZ serves on the second one, the other
# serves one.
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
wait_for held_by_kernel $first && ok "the kernel has the dongle again" || bad "the kernel has the dongle again"

# The other way round: a program that is the sensor, and an app over BlueZ.
sensor=$(ls -t "$checkout"/.build/{release,debug}/serve-heart-rate 2>/dev/null | head -1)
[ -n "$sensor" ] || { bad "no program: swift build --product serve-heart-rate"; exit 1; }
# BlueZ keeps the services of the program before, whose device has the same address.
adapter=/org/bluez/$(basename "$(adapter_of $second)")
dbus-send --system --print-reply --dest=org.bluez $adapter org.bluez.Adapter1.RemoveDevice objpath:$adapter/dev_${ours//:/_} >/dev/null \
    || bad "BlueZ forgets the program before"
BLUEBENCH_DEVICE=$dongle timeout 150 "$sensor" >/tmp/sensor.txt 2>&1 &
serving=$!
wait_for grep -q "^advertising$" /tmp/sensor.txt && ok "the sensor advertises" || bad "the sensor advertises"
said=$(cd "$checkout" && timeout 100 .venv/bin/python -B Examples/bleak/app.py 2>&1)
echo "$said"
grep -q "^found Sensor$" <<<"$said" && grep -q "^worn at the chest$" <<<"$said" && ok "the app reads it" || bad "the app reads it"
[ "$(grep -cE "^6[1-9] beats per minute$" <<<"$said")" = 3 ] && ok "and three heart rates" || bad "and three heart rates"
wait $serving && ok "the sensor ends with 0" || bad "the sensor ends with $?"
cat /tmp/sensor.txt
wait_for held_by_kernel $first && ok "the kernel has that dongle again, too" || bad "the kernel has that dongle again, too"
[ $failed = 0 ] || cat /tmp/server.txt /tmp/bluetoothd.txt
exit $failed
