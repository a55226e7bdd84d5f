# The kernel's own management of an adapter: information, discovery of the other dongle's advertising.
failed=0
check() { if grep -q "$2" <<<"$1"; then echo "= ok: $3"; else echo "= NOT OK: $3"; echo "$1"; failed=1; fi; }
# btmgmt wants a terminal.
mgmt() { local index=$1; shift; timeout 20 script -qec "btmgmt --index $index $*" /dev/null 2>&1 </dev/null | sed 's/\x1b\[[0-9;]*[a-zA-Z]//g'; }
for index in 0 1; do
    check "$(mgmt $index info)" "addr [0-9A-F:]*" "info of hci$index"
    check "$(mgmt $index power off; mgmt $index le on; mgmt $index bredr on; mgmt $index power on)" "powered" "hci$index powers on"
done
check "$(mgmt 1 add-adv -c -g -d 0609426561640A 1)" "Instance added" "hci1 advertises"
check "$(mgmt 0 find -l)" "dev_found" "hci0 finds hci1"
check "$(mgmt 1 connectable on; mgmt 1 discov on)" "discoverable" "hci1 is discoverable over BR/EDR"
check "$(mgmt 0 find -b)" "dev_found: .* type BR/EDR" "an inquiry of hci0 finds hci1"
for index in 0 1; do mgmt $index power off; done
exit $failed
