// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Do the model and the executor agree? Whatever was seen while the held operation had not ended must not be ordered
// behind it by the model. The other way round nothing is demanded: what may run need not.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "testsuite/gpu/random/observe.h"
#include "testsuite/gpu/random/predict.h"
#include "testsuite/gpu/random/program.h"

namespace streamsan::lab {

struct Disagreement {
  Order order{};     ///< what the model says: Ordered, or Assumed, which is a claim about today's driver
  std::string text;  ///< "step 3 (kernel L) began": the first line of a report
};

struct Comparison {
  bool valid = false;
  std::size_t overlaps = 0;  ///< operations that were seen beside the held one
  std::size_t asked = 0;     ///< operations of which the model says something
  std::vector<Disagreement> disagreements;
};

Comparison compare(const Program& program, const Observation& observation, const Prediction& prediction);

/// Runs and compares.
Comparison examine(const Program& program, Executor& executor, Planted planted = Planted::Nothing);

/// Deletes steps, graphs' nodes and words as long as it still goes wrong. The held operation stays.
Program shrink(Program program, const std::function<bool(const Program&)>& goes_wrong);

}  // namespace streamsan::lab
