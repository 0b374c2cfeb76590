// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/lowering/device_only.h"

#include "clang/AST/Attr.h"
#include "clang/AST/Decl.h"

namespace streamsan::analyzer {

bool runs_on_device_only(const clang::FunctionDecl& function) {
  if (function.hasAttr<clang::CUDAGlobalAttr>()) return true;
  return function.hasAttr<clang::CUDADeviceAttr>() && !function.hasAttr<clang::CUDAHostAttr>();
}

}  // namespace streamsan::analyzer
