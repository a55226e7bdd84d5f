# The kernel's own management of an adapter: information, discovery of the other dongle's advertising.
failed=0
check() { if grep -q "$2" <<<"$1"; then echo "= ok: $3"; else echo "= NOT OK: $3"; echo "$1"; failed=1; fi; }
mgmt() { timeout 20 btmgmt --index "$@" 2>&1 </dev/null; }
for index in 0 1; do
    check "$(mgmt $index info)" "addr [0-9A-F:]*" "info of hci$index"
    check "$(mgmt $index power off; mgmt $index le on; mgmt $index power on)" "powered" "hci$index powers on"
done
check "$(mgmt 1 add-adv -c -g -n -d 02010609094265616D6573 1)" "Instance added" "hci1 advertises"
check "$(mgmt 0 find -l)" "dev_found" "hci0 finds hci1"
for index in 0 1; do mgmt $index power off; done
exit $failed
