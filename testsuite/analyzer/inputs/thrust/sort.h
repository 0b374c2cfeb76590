// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "device_vector.h"
#include "execution_policy.h"
#include "functional.h"

namespace thrust {
template <typename It>
void sort(It first, It last);
template <typename Derived, typename It>
void sort(const detail::execution_policy_base<Derived>& policy, It first, It last);
template <typename Policy, typename K, typename V>
void sort_by_key(const Policy& policy, K keys_first, K keys_last, V values_first);
}  // namespace thrust
