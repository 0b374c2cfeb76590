// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What was seen of a program while its held operation had not ended.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "testsuite/gpu/random/program.h"

namespace streamsan::lab {

struct Seen {
  std::uint8_t begun = 0;   ///< how often it had begun; of a copy or fill: 1 if its effect was there
  std::uint8_t waited = 0;  ///< a kernel: how often it was past its wait
};

struct StepSeen {
  bool returned = false;   ///< the call was over while the held operation had not ended
  bool succeeded = false;  ///< a query: it said that all is complete, whenever that was
};

struct Observation {
  bool valid = false;    ///< the held operation was in flight until everything had been looked at
  bool started = false;  ///< and it had begun
  std::array<Seen, kCells> cells{};
  std::vector<StepSeen> steps;
  std::string trouble;  ///< a call that failed, and why it is not valid
};

/// Something that can run programs.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual Observation run(const Program& program) = 0;
};

}  // namespace streamsan::lab
