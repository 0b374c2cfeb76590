// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Others that can touch the memory of this process without an instruction or system call of its own: the kernel for
// io_uring, network adapters with RDMA, kernel modules for MPI. A guard does not see them, and some of them fail at a
// guarded page. A process that has opened such a device has no settled loans (loans.h) and writes no HostIdle records.
//
// Found by the names of its open files, looked at now and then while loans are settled. What is opened and closed again
// in between is missed. So is another process that reads this one's memory by process_vm_readv().
#pragma once

namespace streamsan::recorder {

/// Has the process opened such a thing? Once yes, it stays so. `now`: looks, however recent the last look was.
bool others_may_touch(bool now = false);

/// Is it so as far as is known already? For use under a lock.
bool others_are_known();

}  // namespace streamsan::recorder
