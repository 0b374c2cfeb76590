// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../cooperative_groups.h"

namespace cooperative_groups {
template <typename Group, typename To, typename From>
__device__ void memcpy_async(const Group& group, To* to, const From* from, size_t bytes);
template <typename Group>
__device__ void wait(const Group& group);
}  // namespace cooperative_groups
