// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Many random programs, one after the other, and what is printed of them. The same for hardware and simulation.
#pragma once

#include <cstdint>
#include <string>

#include "testsuite/gpu/random/compare.h"

namespace streamsan::lab {

struct Campaign {
  std::uint64_t first_seed = 1;
  std::uint64_t count = 1000;
  std::uint64_t seconds = 3600;  ///< it ends sooner then
  unsigned devices = 1;
  bool shrinks = false;
  Planted planted = Planted::Nothing;
  std::string kept;  ///< a folder for programs that disagree; none if empty
};

struct Tally {
  std::uint64_t programs = 0;
  std::uint64_t valid = 0;        ///< of which the held operation was in flight all the time
  std::uint64_t failed = 0;       ///< with a call that failed
  std::uint64_t asked = 0;        ///< operations of which the model says something
  std::uint64_t overlaps = 0;     ///< and that were seen beside the held one
  std::uint64_t disagreeing = 0;  ///< programs
  double seconds = 0;
};

Tally run(const Campaign& campaign, Executor& executor);

/// Prints the program and what is wrong with it. `times`: so often of so many it went wrong again.
void report(const Program& program, const Comparison& comparison, const std::string& how_often);

}  // namespace streamsan::lab
