// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where on the stack the return addresses stand that an unwinder finds. Whoever remembers a place can see later by a
// single load whether it still holds the same.
//
// For each frame the unwinder gives the address at which it continues, and where the frame of its callee ended (which
// it calls the CFA of the frame). On x86-64 the address stands just below that end. On AArch64 it stands wherever the
// callee's code has put it: in its frame record, to which register 29 points, if it keeps one (compilers do, unless an
// option forbids it). In any case the code checks whether the address is there: it is not where a frame was entered by
// a signal.
#pragma once

#include <unwind.h>

#include <cstdint>

#include "interposer/machine.h"

namespace streamsan::recorder {

class ReturnPlaces {
 public:
  /// Asked of each frame of a walk, in their order: the place of the address it goes on at. 0: that is not known.
  std::uint64_t of(_Unwind_Context* frame) {
    const std::uint64_t callee_end = _Unwind_GetCFA(frame);
#if defined __x86_64__
    const std::uint64_t place = callee_end - sizeof(void*);
#else
    constexpr int kFrameRegister = 29;
    const std::uint64_t callee_begin = end_;
    const std::uint64_t record = register_;
    end_ = callee_end;
    register_ = _Unwind_GetGR(frame, kFrameRegister);
    // A callee without a frame record may have anything in the register.
    constexpr std::uint64_t kRecordBytes = 2 * sizeof(void*);
    if (callee_begin == 0 || record < callee_begin || record > callee_end - kRecordBytes) return 0;
    const std::uint64_t place = record + sizeof(void*);
#endif
    if (place % sizeof(void*) != 0) return 0;
    return return_address_in(*reinterpret_cast<const std::uint64_t*>(place)) == _Unwind_GetIP(frame) ? place : 0;
  }

 private:
#if defined __aarch64__
  std::uint64_t end_ = 0;  // of the frame before
  std::uint64_t register_ = 0;
#endif
};

}  // namespace streamsan::recorder
