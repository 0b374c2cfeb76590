// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From sites of the analysis back to places in the source: where a diagnostic stands, and what a repair changes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/analysis/hazard.h"
#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/SourceLocation.h"

namespace clang {
class ASTContext;
}

namespace streamsan::analyzer {

/// Invalid if the site is in no file of this translation unit.
clang::SourceLocation locate(const ir::Site& site, const clang::ASTContext& context);

/// The hints of a finding's fixes. All or none: none if anything about one of them is not certain. See repairs.cpp.
std::vector<clang::FixItHint> repairs(const std::vector<Fix>& fixes, clang::ASTContext& context);

}  // namespace streamsan::analyzer
