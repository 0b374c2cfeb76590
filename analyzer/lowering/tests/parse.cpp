// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/lowering/tests/parse.h"

#include "clang/Frontend/ASTUnit.h"
#include "clang/Tooling/Tooling.h"

namespace streamsan::analyzer {

std::shared_ptr<clang::ASTContext> parse(const std::string& source, const std::vector<std::string>& flags,
                                         const std::string& name) {
  const std::shared_ptr<clang::ASTUnit> unit = clang::tooling::buildASTFromCodeWithArgs(source, flags, name);
  return unit == nullptr ? nullptr : std::shared_ptr<clang::ASTContext>(unit, &unit->getASTContext());
}

}  // namespace streamsan::analyzer
