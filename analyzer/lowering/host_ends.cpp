// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The end of host memory; see host_ends.h.
#include "analyzer/lowering/host_ends.h"

#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_scan.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/StmtCXX.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::TypeKind;
using ordering::MemoryKind;

Ends::Ends(const Parts& parts)
    : unit_(parts.unit),
      definition_(parts.definition),
      scan_(parts.scan),
      out_(parts.out),
      places_(parts.places),
      values_(parts.values) {}

ir::SiteId Ends::scope_end(const clang::Stmt* trigger) {
  const clang::Stmt* where = trigger == nullptr ? definition_.getBody() : trigger;
  if (const auto* block = llvm::dyn_cast_or_null<clang::CXXTryStmt>(where)) where = block->getTryBlock();
  const auto* block = llvm::dyn_cast_or_null<clang::CompoundStmt>(where);
  clang::SourceLocation location = block != nullptr ? block->getRBracLoc() : where->getEndLoc();
  if (llvm::isa<clang::ReturnStmt>(where)) location = where->getBeginLoc();
  return out_.point(*where, location);
}

ir::SiteId Ends::body_end() {
  return definition_.isImplicit() || definition_.isDefaulted() ? ir::kNoSite : scope_end(nullptr);
}

ir::SiteId Ends::end_of(const clang::VarDecl* variable, ir::SiteId scope_end) {
  if (variable == nullptr || variable->getName().empty()) return scope_end;
  ir::Site site = out_.site_of(scope_end);
  site.kind = ir::Site::Kind::ScopeEnd;
  site.text = "'" + variable->getName().str() + "' goes out of scope";
  return out_.add(std::move(site));
}

void Ends::end_of_life(const Operand& memory, const char* how, ir::SiteId site) {
  if (memory.kind != Operand::Kind::Value && memory.kind != Operand::Kind::Address) return;
  out_.emit({.kind = OpKind::EndOfLife, .site = site, .source = memory, .detail = how, .memory = MemoryKind::Pageable});
}

Operand Ends::dying(const clang::Expr* value) {
  if (const ir::PlaceId lasting = places_.place(value); lasting != ir::kNoPlace) return values_.address_of(lasting);
  dying_.push_back(out_.temporary(out_.kind(value->getType())));
  return address(dying_.back());
}

void Ends::end_dying(ir::SiteId site) {
  for (const ir::PlaceId temporary : dying_) end_of_life(address(temporary), "dies at the end of the statement", site);
  dying_.clear();
}

void Ends::end_of_scope(const clang::VarDecl& variable, const clang::Stmt* trigger) {
  const clang::QualType type = variable.getType();
  if (type->isReferenceType() || !unit_.census.address_taken(variable) || scan_.until_exit.contains(&variable) ||
      llvm::isa<clang::ParmVarDecl>(variable) || !variable.hasLocalStorage())
    return;
  const TypeKind of = out_.kind(type);
  if (is_handle(of) || of == TypeKind::Pointer) return;
  // A container's own bytes are not what is copied.
  if (unit_.symbols.owner(type) && (unit_.symbols.has_block(type) || unit_.symbols.points(type))) return;
  if (unit_.symbols.is_tensor(type)) return;
  const ir::PlaceId known = places_.known(variable);
  if (known != ir::kNoPlace) end_of_life(address(known), "goes out of scope", scope_end(trigger));
}

}  // namespace streamsan::analyzer::host
