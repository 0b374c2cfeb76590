// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fields for a stream that nobody ever gives one. See unset_streams.cpp.
#pragma once

#include <set>
#include <string>

namespace streamsan::analyzer {

class Symbols;

/// Their keys, as field_key() says them.
std::set<std::string> unset_streams(Symbols& symbols);

}  // namespace streamsan::analyzer
