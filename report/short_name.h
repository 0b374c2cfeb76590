// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Function names for people. A demangled name from a template library can be a thousand characters long and hide the
// one word that matters; names up to 100 characters are left alone, longer ones lose the contents of their template
// arguments, then of their parameter list. The JSON report has the full names.
#pragma once

#include <string>

namespace streamsan::report {

std::string short_name(const std::string& demangled);

}  // namespace streamsan::report
