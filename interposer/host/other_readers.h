// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who else can touch the memory of this process without an instruction or a system call of its own: the kernel for
// io_uring, network adapters with RDMA, the kernel's helpers of MPI. A guard does not see them, and some of them fail
// at one. A process that has opened such a thing has no settled loans (loans.h), and nothing is said of idle memory.
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
