// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a function's name promises, where its body is not in sight or says nothing.
#pragma once

#include <string_view>

namespace streamsan::analyzer::ir {

/// It gives out something for the caller alone: acquireStream(), pool.next(), makeSideStream().
bool gives_new(std::string_view function);
/// It may wait for something: flush(), waitForAll(), finish().
bool may_wait(std::string_view function);

}  // namespace streamsan::analyzer::ir
