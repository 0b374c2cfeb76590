// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a function's name says, and what it promises where its body is not in sight or says nothing.
#pragma once

#include <string_view>

namespace streamsan::analyzer::ir {

/// "run" of "Session::run".
std::string_view last_component(std::string_view name);
/// It gives out something for the caller alone: acquireStream(), getStreamFromPool(). Whole words count.
bool gives_new(std::string_view function);
/// It may wait for something: flush(), waitForAll(), finish().
bool may_wait(std::string_view function);
/// It tells of something that happened, by a whole word of its name: logError(), check_failed().
bool reports(std::string_view function);

}  // namespace streamsan::analyzer::ir
