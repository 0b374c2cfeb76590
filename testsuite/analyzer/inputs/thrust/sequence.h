// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "device_vector.h"
#include "execution_policy.h"
#include "functional.h"

namespace thrust {
template <typename It>
void sequence(It first, It last);
template <typename Policy, typename It>
void sequence(const Policy& policy, It first, It last);
}  // namespace thrust
