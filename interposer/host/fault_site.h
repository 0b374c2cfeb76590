// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a fault has happened, from the context that the kernel hands to a signal's handler.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "interposer/host/arm_fault.h"

namespace streamsan::recorder {

struct FaultSite {
  std::uint64_t pc;
  const void* stack;  ///< the stack pointer
  bool wrote;
};

inline FaultSite fault_site(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined __x86_64__
  constexpr greg_t kWroteBit = 2;  // of the page-fault error code
  return {static_cast<std::uint64_t>(machine.gregs[REG_RIP]), reinterpret_cast<const void*>(machine.gregs[REG_RSP]),
          (machine.gregs[REG_ERR] & kWroteBit) != 0};
#else
  const auto stored = arm::stored_by_syndrome(machine.__reserved, sizeof machine.__reserved);
  const auto wrote = [&] { return arm::stores(*reinterpret_cast<const std::uint32_t*>(machine.pc)); };
  return {machine.pc, reinterpret_cast<const void*>(machine.sp), stored ? *stored : wrote()};
#endif
}

}  // namespace streamsan::recorder
