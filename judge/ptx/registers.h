// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an instruction makes of the registers: values as far as they follow from the launch, and nothing known of the
// rest. Memory is accesses.h, where control goes evaluate.cpp.
//
// A value is one affine form for all threads of a box (affine.h). Where the threads would get different forms, the
// Arithmetic says where the box must be cut; the registers are as they were then.
#pragma once

#include <cstddef>
#include <vector>

#include "judge/ptx/affine.h"
#include "judge/ptx/evaluate.h"
#include "judge/ptx/kernel.h"
#include "judge/ptx/number.h"

namespace streamsan::ptx {

/// Threads, and what their registers hold.
struct Threads {
  Box box;
  std::vector<Value> registers;
};

class Registers {
 public:
  Registers(const Kernel& kernel, const Launch& launch) : kernel_(kernel), launch_(launch) {}

  [[nodiscard]] Value read(const Threads& threads, const Operand& operand) const;
  /// `doubtful`: the instruction may be executed or not, so its results are unknown.
  void compute(Threads& threads, Arithmetic& arithmetic, const Instruction& instruction, bool doubtful) const;

 private:
  [[nodiscard]] Value special(Special which) const;
  [[nodiscard]] Value parameter(const Instruction& instruction, std::size_t element) const;
  [[nodiscard]] Value result_of(const Threads& threads, Arithmetic& arithmetic, const Instruction& instruction) const;
  void set(Threads& threads, Arithmetic& arithmetic, const Instruction& instruction) const;
  [[nodiscard]] Value pack(const Threads& threads, Arithmetic& arithmetic, const Instruction& instruction) const;
  void unpack(Threads& threads, Arithmetic& arithmetic, const Instruction& instruction) const;

  const Kernel& kernel_;
  const Launch& launch_;
};

}  // namespace streamsan::ptx
