// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A source as Clang sees it, for tests. What parses it is behind this header, as Clang's own headers for that are long.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "clang/AST/ASTContext.h"

namespace streamsan::analyzer {

/// nullptr: there is no AST. There may be one, though not of all of it, where the source has errors.
std::shared_ptr<clang::ASTContext> parse(const std::string& source, const std::vector<std::string>& flags,
                                         const std::string& name);

}  // namespace streamsan::analyzer
