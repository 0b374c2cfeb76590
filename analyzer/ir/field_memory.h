// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kind of memory the fields of classes hold. See field_memory.cpp.
#pragma once

#include <map>
#include <string>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

/// By "Class::field", or "Class::field.$data" of a container or tensor: fields that only ever hold one kind.
std::map<std::string, ordering::MemoryKind> field_memory(const Program& program);

}  // namespace streamsan::analyzer::ir
