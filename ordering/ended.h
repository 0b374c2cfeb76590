// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A life that has ended.
#pragma once

#include "ordering/hazard.h"

namespace streamsan::ordering {

/// The end of a life, and what it makes of later uses.
struct Ended {
  AllocationInfo info;
  Access free;
};

}  // namespace streamsan::ordering
