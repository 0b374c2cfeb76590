// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "device_vector.h"
#include "execution_policy.h"
#include "functional.h"

namespace thrust {
template <typename In, typename Out>
Out exclusive_scan(In first, In last, Out result);
template <typename Policy, typename In, typename Out>
Out exclusive_scan(const Policy& policy, In first, In last, Out result);
template <typename In, typename Out>
Out inclusive_scan(In first, In last, Out result);
template <typename Policy, typename In, typename Out>
Out inclusive_scan(const Policy& policy, In first, In last, Out result);
}  // namespace thrust
