// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parameter layout of a kernel, derived from its mangled name or from PTX.
//
// A mangled name tells the types, not their sizes: pointers, references and the built-in types are known, anything else
// (a struct by value, a name that is not mangled) makes the layout unknown rather than wrong.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace streamsan::null {

struct Parameter {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};
using ParameterLayout = std::vector<Parameter>;

/// Appends a parameter behind the others, at its alignment.
void append_parameter(ParameterLayout& layout, std::size_t bytes, std::size_t alignment);

std::optional<ParameterLayout> layout_from_mangled_name(const std::string& name);

struct PtxContents {
  std::map<std::string, ParameterLayout, std::less<>> kernels;
  std::map<std::string, std::size_t, std::less<>> globals;
};
PtxContents read_ptx(std::string_view text);

}  // namespace streamsan::null
