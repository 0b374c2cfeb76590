// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel's signature shows about its pointer arguments.
//
// A C++ kernel's mangled name holds the types of its parameters. `const T*` (also `const T* __restrict__`) says that
// the kernel reads through the pointer; any other pointer may be written through. Only the type right behind the
// parameter's own pointer counts: `float* const*` is a constant table of pointers, and the buffer that holds the table
// is only read.
//
// What is lost: structs that hold pointers, type parameters named by typedefs of pointers inside classes, and extern
// "C" kernels show nothing: their pointers are Unknown. What else a launch shows is in pointer_roles.h. If a kernel
// casts const away, its signature still counts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ordering/hazard.h"

namespace streamsan::judge {

/// The readable form of a symbol; the symbol itself when it is not a mangled name.
std::string demangle(std::string_view symbol);

/// The parameter types of a demangled function, split at the top level; empty when it has no parameter list.
std::vector<std::string_view> parameters(std::string_view demangled);

/// The name alone of a demangled function: without return type, template arguments, parameters and namespace.
std::string_view plain_name(std::string_view demangled);

/// Is the parameter a pointer through which nothing is written?
bool points_to_const(std::string_view parameter);

/// For each parameter of a mangled kernel Read or Unknown; empty when the name tells nothing.
std::vector<ordering::AccessMode> parameter_modes(std::string_view mangled);

}  // namespace streamsan::judge
