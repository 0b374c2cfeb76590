// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The calls in a translation unit that record events. See record_calls.cpp.
#pragma once

#include <vector>

#include "clang/Basic/SourceLocation.h"

namespace streamsan::analyzer {

class Symbols;

struct RecordCalls {
  std::vector<clang::SourceLocation> places;  ///< of the calls; for a call in a macro, where the macro is expanded
  bool hidden = false;                        ///< a graph node or a launch may record an event
  bool given_out = false;                     ///< a class lets others have its events: they may record them
};

/// Code in system headers does not count.
RecordCalls record_calls(Symbols& symbols);

}  // namespace streamsan::analyzer
