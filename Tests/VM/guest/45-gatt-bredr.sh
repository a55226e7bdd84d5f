# GATT over BR/EDR, on PSM 31: BlueZ pages bluebench, finds its service record, pairs and reads; then bluebench pages BlueZ and uses its server.
. "$(dirname "$0")/bluez.bash"
bonds=/tmp/bonds-bredr.json
rm -f $bonds
forget_bonds
# FILE PATTERN WHAT
check() { if grep -qE "$2" "$1"; then ok "$3"; else bad "$3"; echo "--- $1"; tail -40 "$1"; fi; }
adapter=$(basename "$(adapter_of $second)")
linked() { hcitool -i $adapter con | grep $ours; }

start_bluez
/usr/bin/python3 "$here/pairing_agent.py" $theirs NoInputNoOutput be-found >/tmp/agent.txt 2>&1 &
wait_for grep -q ready /tmp/agent.txt || { cat /tmp/agent.txt; exit 1; }
timeout 100 $bench bridge $dongle --advertise Bench --bonds $bonds >/tmp/ours.txt 2>&1 &
accessory=$!
wait_for grep -q "advertising as" /tmp/ours.txt || cat /tmp/ours.txt
# The link is kept by l2ping while the tools come and go.
timeout 90 l2ping -i $adapter $ours >/tmp/l2ping.txt 2>&1 &
pinging=$!
wait_for linked || cat /tmp/l2ping.txt
timeout 30 sdptool -i $adapter browse $ours >/tmp/sdp.txt 2>&1
tr -d '\n' </tmp/sdp.txt >/tmp/sdp-line.txt
check /tmp/sdp-line.txt '0x0*1800.*PSM: 31.*"ATT" \(0x0007\)' "sdptool finds our service record: ATT on PSM 31"
timeout 30 gatttool -i $adapter -b $ours -p 31 -l medium --primary >/tmp/primary.txt 2>&1
check /tmp/primary.txt "uuid: 00001800-0000-1000-8000-00805f9b34fb" "gatttool pairs, and finds our GAP service on PSM 31"
timeout 30 gatttool -i $adapter -b $ours -p 31 -l medium --char-read --uuid=2a00 >/tmp/name.txt 2>&1
check /tmp/name.txt "value: 42 65 6e 63 68" "and reads our device name"
check /tmp/ours.txt "authenticated and encrypted with the link key" "the link is encrypted"
kill $pinging
wait $accessory
code=$?
[ $code = 0 ] && ok "bridge ends with 0 when BlueZ has left" || { bad "bridge ends with $code"; cat /tmp/ours.txt; }

# The other way, with the key of before: BlueZ's server.
serve_values
timeout 100 $bench gatt "$dongle" --transport bredr --bonds $bonds --peer $theirs/public --write $value=626C756562656E6368 --subscribe $stream=5 --read $value --seconds 20 >/tmp/client.txt 2>&1
code=$?
cat /tmp/client.txt /tmp/server.txt
[ $code = 0 ] && ok "bluebench ends with 0" || bad "bluebench ends with $code"
check /tmp/client.txt "^service $service," "the service of BlueZ's server is discovered on PSM 31"
check /tmp/server.txt "^written 626c756562656e6368$" "its value is written"
check /tmp/client.txt "^read $value: 626C756562656E6368  'bluebench'$" "and read back"
check /tmp/client.txt "^value of $stream: " "notifications come"
[ $failed = 0 ] || tail -60 /tmp/bluetoothd.txt
exit $failed
