# dongles: --chip csr-clone
# Linux's btusb tells a clone of a CSR dongle by its numbers and leaves out what locks it up. Kernels from before 2025 then give it up: it claims
# Read_Voice_Setting and does not have it.
. "$(dirname "$0")/firmware.bash"

attach 1-1
check "CSR: Setting up dongle with HCI ver=9 rev=3120" "btusb reads the numbers of a clone"
check "CSR: Unbranded CSR clone detected" "and takes it for one"
check "HCI Delete Stored Link Key command is advertised, but not supported." "stored link keys are left alone"
detach
exit $failed
