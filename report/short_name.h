// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Function names for people. A demangled name from a template library can be a thousand characters long and hide the
// one word that matters; names up to 100 characters are left alone, longer ones lose the contents of their template
// arguments, then of their parameter list. The JSON report has the full names. And names of files.
#pragma once

#include <string>
#include <string_view>

namespace streamsan::report {

std::string short_name(const std::string& demangled);

/// "std::__invoke<f>(f&&)" of "void std::__invoke<f>(f&&)": instances of templates are named with their results.
std::string_view without_result(std::string_view function);

/// What follows the last slash: the name of a file without its folders.
std::string_view base_name(std::string_view path);

}  // namespace streamsan::report
