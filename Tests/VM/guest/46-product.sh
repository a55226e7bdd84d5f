# BlueZ's GATT server as a product: surveyed, and judged by those cases that need no service of ours for which the emulated guest has time.
. "$(dirname "$0")/bluez.bash"
# What BlueZ does otherwise than the specification says; each with its section in docs/design/peers.md.
of_bluez="accessory-discovery/within-range[request=find-by-type-value]"

forget_bonds
start_bluez
serve_values
$bench survey "$dongle" --peer "BlueZ server" --bonds none >/tmp/bluez.yaml 2>/tmp/survey.txt && ok "it is surveyed" || bad "it is surveyed"
cat /tmp/bluez.yaml /tmp/survey.txt
grep -qi "uuid: \"$service\"" /tmp/bluez.yaml && ok "with its service" || bad "with its service"
result=$(timeout 280 $bench run accessory-discovery accessory-advertising --tester "$dongle" --peer "BlueZ server" --device /tmp/bluez.yaml --bonds none --cases /share/Conformance 2>&1)
code=$?
grep -vE "^N/A " <<<"$result"
[ $code = 0 ] || [ $code = 1 ] && ok "the run comes to its end" || bad "the run comes to its end: $code"
for case in $(grep -oE "^(FAIL|ERROR) +[^ :]+" <<<"$result" | awk '{print $2}'); do
    grep -qwF -- "$case" <<<"$of_bluez" && ok "$case is BlueZ's own" || bad "$case"
done
[ "$(grep -c "^PASS" <<<"$result")" -ge 10 ] && ok "and passes what is about it" || bad "and passes what is about it: $(grep -c "^PASS" <<<"$result")"
[ $failed = 0 ] || cat /tmp/bluetoothd.txt
exit $failed
