// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "device_vector.h"
#include "execution_policy.h"
#include "functional.h"

namespace thrust {
template <typename It, typename T>
void fill(It first, It last, const T& value);
template <typename Policy, typename It, typename T>
void fill(const Policy& policy, It first, It last, const T& value);
}  // namespace thrust
