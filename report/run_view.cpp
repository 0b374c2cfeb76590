// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/run_view.h"

namespace streamsan::report {

const char* kind_of(const ViewLane& lane) { return lane.stream ? name(*lane.stream) : "thread"; }

}  // namespace streamsan::report
