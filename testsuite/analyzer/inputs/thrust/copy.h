// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "device_vector.h"
#include "execution_policy.h"
#include "functional.h"

namespace thrust {
template <typename In, typename Out>
Out copy(In first, In last, Out result);
template <typename Policy, typename In, typename Out>
Out copy(const Policy& policy, In first, In last, Out result);
}  // namespace thrust
