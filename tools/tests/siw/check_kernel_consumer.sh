#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: check_kernel_consumer.sh FOLDER-OF-PROGRAMS
# Consumers in the kernel on the driver of proto/kernel/, in the kernel of `tools/siw --driver iwarp`: NVMe over Fabrics, target and
# host, over fast registration, the DMA region, local and remote invalidation and drain. What is written is read again, three
# connections of it. Skipped (77) where no kernel has been built yet or it does not start. Has a TMPDIR, and so a kernel, of its own.
set -euo pipefail

bin=$(cd "$1" && pwd)
export IW_SIW_DRIVER=iwarp PATH="$bin:$PATH"
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'iwarp-siw down; rm -rf "$TMPDIR"' EXIT
{ iwarp-siw cached && iwarp-siw up; } || {
    echo "skipped: there is no kernel, or it does not start"
    exit 77
}

cat >"$TMPDIR/inside.sh" <<'END'
set -euo pipefail
disk=/dev/nvme0n1 nvmet=/sys/kernel/config/nvmet host=11111111-1111-1111-1111-111111111111

# wait_for COMMAND...: until it succeeds, for 30 s.
wait_for() {
    local try
    for try in {1..300}; do
        ! "$@" || return 0
        sleep 0.1
    done
    echo "no success in 30 s: $*" >&2
    return 1
}

gone() {
    ! ls /sys/class/nvme/nvme0 >/dev/null 2>&1 && [ -z "$(rdma resource show qp link iw0/1)" ]
}

mkdir -p $nvmet/subsystems/iw $nvmet/ports/1
cd $nvmet/subsystems/iw
echo 1 >attr_allow_any_host
mkdir namespaces/1
echo -n /dev/ram0 >namespaces/1/device_path
echo 1 >namespaces/1/enable
cd $nvmet/ports/1
echo rdma >addr_trtype
echo ipv4 >addr_adrfam
echo 10.7.0.1 >addr_traddr
echo 4420 >addr_trsvcid
ln -s $nvmet/subsystems/iw subsystems/iw
cd /dev/shm
for round in 1 2 3; do
    echo "transport=rdma,traddr=10.7.0.1,trsvcid=4420,nqn=iw,nr_io_queues=1,hostnqn=nqn.2014-08.org.nvmexpress:uuid:$host,hostid=$host" >/dev/nvme-fabrics
    wait_for test -b $disk
    head -c 8M /dev/urandom >written
    dd if=written of=$disk bs=64k oflag=direct status=none
    dd if=$disk of=read bs=64k count=128 iflag=direct status=none
    cmp written read
    dd if=written of=$disk bs=1M seek=16 conv=fsync status=none
    dd if=$disk of=read bs=4k skip=4096 count=2048 iflag=direct status=none
    cmp written read
    # While it reads: what is on the way is drained.
    dd if=$disk of=/dev/null bs=64k iflag=direct status=none 2>/dev/null &
    sleep 0.2
    echo 1 >/sys/class/nvme/nvme0/delete_controller
    wait || true
    wait_for gone
    echo "round $round: 32 MiB there and back, disconnected"
done
[ "$(cat /sys/class/infiniband/iw0/ports/1/hw_counters/terminates_out)" = 0 ]
rm $nvmet/ports/1/subsystems/iw
END
chmod 755 "$TMPDIR"
iwarp-siw exec bash "$TMPDIR/inside.sh"
! iwarp-siw console | grep -E 'BUG|WARNING|INFO: task|failed with status' || exit 1
