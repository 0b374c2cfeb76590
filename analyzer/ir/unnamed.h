// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the program gives no name and people see one of, and names in the IR that say what a thing is. Who makes such a
// name and who recognises it use the same function of here; state that nobody sees has names of its own (hidden.h).
#pragma once

#include <string>
#include <string_view>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

/// The name of functions of lambdas, and the class of what they have captured.
inline constexpr const char* kLambda = "lambda";
/// A field that holds what a lambda has captured.
[[nodiscard]] bool is_captured(const Place& place);

/// "parameter 3" of the one at position 2: nobody can use it.
[[nodiscard]] std::string unnamed_parameter(std::uint32_t position);
[[nodiscard]] bool is_unnamed_parameter(const Place& place);

/// The index of the element that a loop over a range, or an algorithm, has come to: `streams[each]`.
inline constexpr const char* kEach = "each";
/// The path leads through such an element.
[[nodiscard]] bool is_of_each(const Function& function, PlaceId path);

/// The class of a tensor of PyTorch.
[[nodiscard]] bool is_tensor_class(std::string_view qualified_name);

/// The USR is that of a destructor.
[[nodiscard]] bool is_destructor(std::string_view usr);

}  // namespace streamsan::analyzer::ir
