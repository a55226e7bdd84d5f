# Pairing with BlueZ, LE only: Just Works and passkey, in both roles; bonds survive a restart of bluetoothd, and a private address is resolved.
. "$(dirname "$0")/bluez.bash"
bad() { echo "= NOT OK: $1"; failed=1; for log in /tmp/ours.txt /tmp/agent.txt; do echo "--- $log"; tail -30 $log; done; }
check() { if grep -qE "$2" "$1"; then ok "$3"; else bad "$3"; fi; }
bonds=/tmp/bonds.json

agent() { /usr/bin/python3 "$here/pairing_agent.py" $theirs "$@" >/tmp/agent.txt 2>&1 & agent=$!; wait_for grep -q ready /tmp/agent.txt; }
pair_ours() { timeout 60 $bench pair "$dongle" --bonds $bonds --json "$@" >/tmp/ours.txt 2>&1; code=$?; kill $agent; }
forget() { rm -f $bonds; forget_bonds; stop_bluez; start_bluez; }

start_bluez
# ROLE CAPABILITY-OF-BLUEZ OUR-IO LEVEL: a pairing from nothing, the number compared where both show one.
pairs() {
    local role=$1 capability=$2 io=$3 level=$4
    forget
    if [ "$role" = central ]; then
        agent $capability advertise && pair_ours --peer $theirs/public --io $io --accept --passkey 123456
    else
        agent $capability pair Bench && pair_ours --advertise Bench --io $io --accept --passkey 123456
    fi
    [ $code = 0 ] && ok "we as $role with $io, BlueZ with $capability: pair ends with 0" || bad "we as $role with $io, BlueZ with $capability: pair ends with $code"
    check /tmp/ours.txt "\"event\":\"paired\".*\"level\":\"$level\"|\"level\":\"$level\".*\"event\":\"paired\"" "the level is $level"
    check /tmp/agent.txt "^paired " "BlueZ says that it has paired"
    known=$(sed -n 's/^paired //p' /tmp/agent.txt)
    local compared=$(sed -n 's/^compares //p' /tmp/agent.txt)
    if [ -n "$compared" ] && [ $level != encrypted ]; then check /tmp/ours.txt "$compared" "both show $compared"; fi
}
# ROLE: after both have started anew the link is encrypted with what was stored, and nobody is asked.
returns() {
    local role=$1
    stop_bluez; start_bluez
    if [ "$role" = central ]; then agent NoInputNoOutput advertise && pair_ours --peer $theirs/public --accept
    else agent NoInputNoOutput connect "$known" && pair_ours --advertise Bench --accept; fi
    [ $code = 0 ] && ok "reconnected as $role" || bad "reconnected as $role: $code"
    check /tmp/ours.txt '"event":"encrypted"' "the link is encrypted with the stored key"
    if grep -qE "^(enters|shows|compares)" /tmp/agent.txt; then bad "nobody is asked again"; else ok "nobody is asked again"; fi
}
pairs central NoInputNoOutput none encrypted
returns central
pairs central KeyboardOnly display secure_connections
returns central
pairs peripheral NoInputNoOutput none encrypted
pairs peripheral KeyboardOnly display secure_connections
returns peripheral
# A bond holds our IRK, so the next private address is resolved: to BlueZ we are the device that it knows.
forget
agent NoInputNoOutput pair Bench && pair_ours --advertise Bench --io none --accept --private
check /tmp/agent.txt "^paired " "paired under a private address"
known=$(sed -n 's/^paired //p' /tmp/agent.txt)
before=$(sed -n 's/.*"advertising","peer":"\([^"]*\)".*/\1/p' /tmp/ours.txt)
agent NoInputNoOutput connect "$known" && pair_ours --advertise Bench --accept --private
after=$(sed -n 's/.*"advertising","peer":"\([^"]*\)".*/\1/p' /tmp/ours.txt)
[ -n "$before" ] && [ "$before" != "$after" ] && ok "the private address has changed" || bad "the private address has changed: $before, $after"
check /tmp/ours.txt '"event":"encrypted"' "BlueZ resolves the new address and encrypts with the stored key"
[ $failed = 0 ] || tail -40 /tmp/bluetoothd.txt
exit $failed
