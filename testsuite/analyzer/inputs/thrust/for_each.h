// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "device_vector.h"
#include "execution_policy.h"
#include "functional.h"

namespace thrust {
template <typename It, typename F>
It for_each(It first, It last, F f) {
  return last;
}
template <typename Policy, typename It, typename F>
It for_each(const Policy& policy, It first, It last, F f) {
  return last;
}
}  // namespace thrust
