// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What instructions touch of global memory, and through which of the kernel's pointers.
//
// An access that is made by every thread of a box, at an address that is known, is exact. One that may not happen is an
// upper bound. Of one whose address is not known nothing can be said of any pointer it may come from (facts.h): that
// pointer is not settled.
#pragma once

#include <cstdint>
#include <map>

#include "judge/ptx/byte_set.h"
#include "judge/ptx/evaluate.h"
#include "judge/ptx/facts.h"
#include "judge/ptx/registers.h"
#include "judge/ptx/slice.h"

namespace streamsan::ptx {

class Accesses {
 public:
  enum class Answer : std::uint8_t {
    Noted,
    Cut,    ///< the box must be cut first
    Failed  ///< nothing can be proved of the kernel
  };

  Accesses(const Slice& slice, const Registers& registers)
      : kernel_(slice.kernel),
        facts_(slice.facts),
        bases_(slice.bases),
        registers_(registers),
        settled_(slice.facts.words.size(), true) {}

  /// `perhaps`: whether the threads execute the instruction is not known.
  Answer note(const Threads& threads, Arithmetic& arithmetic, const Instruction& instruction, bool perhaps);
  /// Into the result, which is evaluated from then on. False: that takes more pieces than `most` of some mode.
  bool finish(Result& result, std::size_t most);

 private:
  /// Bytes are kept apart by what their addresses may come from: pieces of two buffers never become one.
  struct What {
    Origin origin;
    Mode mode;
    bool exact;
    bool early;
    int base;
    auto operator<=>(const What&) const = default;
  };
  struct Access {
    const Operand& memory;
    std::uint64_t bytes;  ///< 0: not known
    Mode mode;
  };

  Answer note_bulk_copy(const Threads& threads, Arithmetic& arithmetic, const Instruction& instruction, bool perhaps);
  Answer add(const Threads& threads, Arithmetic& arithmetic, const Instruction& instruction, const Access& access,
             bool perhaps);
  void doubt(const Operand& operand, bool everything);

  const Kernel& kernel_;
  const Facts& facts_;
  const Bases& bases_;
  const Registers& registers_;
  std::map<What, ByteSet> sets_;
  std::vector<bool> settled_;
  bool complete_ = true;
};

}  // namespace streamsan::ptx
