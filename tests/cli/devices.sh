# Goal: trk devices tells what a machine has, and what it lacks, to people and programs alike.
# Method: without a driver; with the machine's own devices, held against what the demo says.
. "$(dirname "$0")/lib.sh"

none='VK_ICD_FILENAMES=/nonexistent/driver.json'
export VK_DRIVER_FILES=/nonexistent/driver.json
run_with "$none" 4 devices
said 'no Vulkan: there is no driver'
[ -s out ] && fail "without a driver there is something on standard output"
run_with "$none" 4 devices --json
same 'status' "$(get error.status)" unsupported
same 'schema' "$(get schema)" trk-devices/1
unset VK_DRIVER_FILES
run 2 devices x
said 'one argument too many'

need_vulkan
run 0 devices
quiet
grep -q '^device 0    [^ ]' out || fail "no device 0"
grep -q '^  queues    family 0, ' out || fail "no queue family"
grep -q '^  memory    type 0, heap [0-9]* of [0-9.]* GiB: ' out || fail "no memory type"
grep -Eq '^  extension (has|lacks) VK_EXT_external_memory_host \(policy import\)$' out ||
    fail "no word on an extension"
run 0 devices --json
quiet
at_least 'devices' "$(get device_count)" 1
same 'number' "$(get devices.0.number)" 0
at_least 'queues' "$(get devices.0.queue_families.0.queues)" 1
at_least 'heap' "$(get devices.0.heaps.0.size_bytes | tr -d '"')" 1048576
name=$(get devices.0.name)
cp out devices.json
run 0 demo --frames 1 --json
same 'the name' "$name" "$(get device)"
driver=$("$tools/json_get" devices.json devices.0.driver)
run 0 record -o x.trk -- "$trk" demo --frames 1
run 0 info --json x.trk
same "the header's device, cut" "$(get header.about.vulkan_device)" "$(printf %.95s "$name")"
same "the header's driver, cut" "$(get header.about.vulkan_driver)" "$(printf %.95s "$driver")"
same "the backend's test of itself" "$(get header.about.backend_self_test)" "passed: a fault arrived"
for memory in mirror=device_local upload=host_visible upload=host_coherent readback=host_visible; do
    get "header.about.vulkan_${memory%=*}_memory" | tr ' ' '\n' | grep -qx "${memory#*=}" ||
        fail "the header does not say $memory"
done
same "what the backend's faults come as" "$(get header.about.backend_signals)" SIGSEGV
run 0 devices --json
cmp -s out devices.json || fail "two lists of the same machine differ"
finish
