// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "system/cuda/execution_policy.h"

namespace thrust {
struct host_policy {};
struct device_policy {};
static const host_policy host{};
static const device_policy device{};
}  // namespace thrust
