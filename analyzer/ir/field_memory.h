// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kind of memory the fields of classes hold. See field_memory.cpp.
#pragma once

#include <map>
#include <string>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

/// Place::number of a global variable that no other file can name: static, local or not, or in an anonymous namespace.
inline constexpr std::uint32_t kOfThisFile = 1;

/// "::name": what stands for a global variable where others are "Class::field". Empty: other files can name it, too.
std::string global_key(const Place& variable);

/// By "Class::field", or "Class::field.$data" of a container or tensor, or global_key(): places that only ever hold one
/// kind.
std::map<std::string, KeptMemory> field_memory(const Program& program);

}  // namespace streamsan::analyzer::ir
