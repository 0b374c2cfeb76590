// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the source of a translation unit records events. See record_calls.cpp.
#pragma once

#include <vector>

#include "clang/Basic/SourceLocation.h"

namespace streamsan::analyzer {

class Symbols;

struct RecordCalls {
  std::vector<clang::SourceLocation> places;  ///< of the calls, where macros are expanded
  bool hidden = false;                        ///< an event may be recorded by a node of a graph or by a launch, too
  bool given_out = false;                     ///< a class lets others have its events: they may record them
};

/// What is in system headers does not count.
RecordCalls record_calls(Symbols& symbols);

}  // namespace streamsan::analyzer
