// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "device_vector.h"
#include "execution_policy.h"
#include "functional.h"

namespace thrust {
template <typename It>
auto reduce(It first, It last) -> typename It::value_type;
template <typename It, typename T>
T reduce(It first, It last, T init);
template <typename Policy, typename It, typename T, typename F>
T reduce(const Policy& policy, It first, It last, T init, F f) {
  return init;
}
template <typename Policy, typename It>
auto reduce(const Policy& policy, It first, It last) -> typename It::value_type;
}  // namespace thrust
