// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Objects that give order have an address of the program as their name wherever there is one: a lock, the object of an
// annotation. What has none gets a number here that is nobody's address.
#pragma once

#include <cstdint>

namespace streamsan::recorder {

constexpr std::uint64_t unlike_address(std::uint64_t number) { return number | std::uint64_t{1} << 63; }

}  // namespace streamsan::recorder
