// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Positions in a call, and the ops that it becomes.
#include "analyzer/lowering/host_call.h"

#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"

namespace streamsan::analyzer::host {

const clang::Expr* Call::argument(int position) const {
  if (position == kFirstBool) {
    for (const clang::Expr* given : arguments)
      if (given->getType()->isBooleanType()) return given;
    return nullptr;
  }
  return position >= 0 && static_cast<std::size_t>(position) < arguments.size()
             ? arguments[static_cast<std::size_t>(position)]
             : nullptr;
}

bool Call::by_reference(std::size_t position) const {
  return callee != nullptr && position < callee->getNumParams() &&
         callee->getParamDecl(static_cast<unsigned>(position))->getType()->isReferenceType();
}

ir::Op start(ir::OpKind kind, const Call& call) {
  ir::Op op{.kind = kind, .site = call.site};
  if (call.known != nullptr) op.name = call.model != nullptr ? call.model->name : call.known->callee.qualified;
  op.unchecked = call.dropped;
  op.host_only = kind == ir::OpKind::HostAccess && call.model != nullptr && call.model->host_only;
  return op;
}

}  // namespace streamsan::analyzer::host
