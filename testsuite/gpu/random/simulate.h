// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A GPU that does as much as it may: whatever no rule keeps behind the held operation runs beside it. It tests the
// comparison where there is no hardware, and the model a little: the rules are written down here a second time, as
// plainly as one held operation allows. Each stream, event, graph and kernel is `late` or not: late is what waits for
// the held operation.
#pragma once

#include "testsuite/gpu/random/observe.h"

namespace streamsan::lab {

class Simulation final : public Executor {
 public:
  Observation run(const Program& program) override;
};

}  // namespace streamsan::lab
