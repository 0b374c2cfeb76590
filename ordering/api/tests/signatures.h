// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The signature of each row's function, from two sources that check each other: the types from the compiler, by
// decltype(&::symbol), and the parameter names from the preprocessed header. The types catch a position that points at
// something of another kind; only the names tell a destination from a source, or a width from a height.
#pragma once

#include <cstddef>
#include <string>
#include <typeindex>
#include <vector>

namespace streamsan::api {

struct Parameter {
  std::type_index type;
  std::size_t size;         ///< sizeof
  std::string declaration;  ///< as in the header: "size_t ByteCount"
  std::string name;         ///< "ByteCount"
};

/// Signatures of all rows, in table order. Fails the running test if the two sources disagree on a function.
const std::vector<std::vector<Parameter>>& signatures();

}  // namespace streamsan::api
