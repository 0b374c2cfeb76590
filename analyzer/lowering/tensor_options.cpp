// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options are built by calls without a body (`TensorOptions().dtype(kFloat).device(kCUDA)`), so they are read as they
// are written: in the call, at the variable, or in the constructors of the class whose member they are.
//
// PyTorch makes a tensor on the host unless a device is named. So what could name one counts: a device, another tensor,
// options that are not seen in the making. Only where there is nothing of the kind is the tensor known to be on the
// host.
#include "analyzer/lowering/tensor_options.h"

#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_numbers.h"
#include "analyzer/lowering/host_unit.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::host {

using ordering::MemoryKind;

namespace {

/// What the options ask for.
struct Wishes {
  bool pinned = false;
  bool on_host = false;
  bool placed = false;  ///< they may name a device, or are not understood
};

bool keeps_options(clang::QualType type) {
  const clang::CXXRecordDecl* record = type.getNonReferenceType()->getAsCXXRecordDecl();
  return record != nullptr && record->getName() == "TensorOptions";
}

/// What options are made from that are kept in a variable or a field: there, or by the constructors of the class.
llvm::SmallVector<const clang::Expr*, 2> kept_options(const clang::Expr& name) {
  if (const auto* used = llvm::dyn_cast<clang::DeclRefExpr>(&name)) {
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(used->getDecl());
    if (variable != nullptr && variable->getAnyInitializer() != nullptr) return {variable->getAnyInitializer()};
  }
  const auto* member = llvm::dyn_cast<clang::MemberExpr>(&name);
  const auto* field = member == nullptr ? nullptr : llvm::dyn_cast<clang::FieldDecl>(member->getMemberDecl());
  if (field == nullptr) return {};
  llvm::SmallVector<const clang::Expr*, 2> result;
  const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(field->getParent());
  for (const clang::CXXConstructorDecl* constructor : record->ctors()) {
    const auto* defined = llvm::cast_or_null<clang::CXXConstructorDecl>(constructor->getDefinition());
    if (constructor->isCopyOrMoveConstructor() || defined == nullptr) continue;
    for (const clang::CXXCtorInitializer* initializer : defined->inits())
      if (initializer->getMember() == field) result.push_back(initializer->getInit());
  }
  if (result.empty() && field->hasInClassInitializer()) result.push_back(field->getInClassInitializer());
  return result;
}

/// A device, options or a tensor that says where it is; or a call that makes options in its own way.
bool names_device(const clang::Expr& part, Symbols& symbols) {
  const clang::QualType type = part.getType().getNonReferenceType();
  if (const auto* kind = type->getAs<clang::EnumType>()) return kind->getDecl()->getName() == "DeviceType";
  if (symbols.is_tensor(type)) return true;
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record != nullptr && record->getName() == "Device") return true;
  const auto* call = llvm::dyn_cast<clang::CallExpr>(&part);
  if (call == nullptr || !keeps_options(type)) return false;
  const auto* method = llvm::dyn_cast_or_null<clang::CXXMethodDecl>(call->getDirectCallee());
  if (method == nullptr || method->getParent()->getName() != "TensorOptions") return true;
  return method->getDeclName().isIdentifier() && method->getName() == "device_index";
}

void read_options(const clang::Stmt* given, Wishes& wishes, Unit& unit, int depth) {
  constexpr int kDeepest = 4;
  if (given == nullptr || llvm::isa<clang::CXXDefaultArgExpr>(given)) return;
  if (depth > kDeepest) {
    wishes.placed = true;
    return;
  }
  if (const auto* call = llvm::dyn_cast<clang::CallExpr>(given)) {
    const clang::FunctionDecl* callee = call->getDirectCallee();
    if (callee != nullptr && callee->getDeclName().isIdentifier() && callee->getName() == "pinned_memory" &&
        call->getNumArgs() > 0) {
      const clang::Expr* wanted = call->getArg(0);
      // optional<bool>(true)
      const auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(strip(wanted));
      if (made != nullptr && made->getNumArgs() > 0) wanted = made->getArg(0);
      wishes.pinned = wishes.pinned || constant(wanted, unit.context) == 1;
    }
  }
  if (const auto* used = llvm::dyn_cast<clang::DeclRefExpr>(given))
    wishes.on_host =
        wishes.on_host || (used->getDecl()->getDeclName().isIdentifier() && used->getDecl()->getName() == "kCPU");
  const auto* part = llvm::dyn_cast<clang::Expr>(given);
  wishes.placed = wishes.placed || (part != nullptr && names_device(*part, unit.symbols));
  if (part != nullptr && keeps_options(part->getType()) &&
      (llvm::isa<clang::DeclRefExpr>(part) || llvm::isa<clang::MemberExpr>(part))) {
    const auto kept = kept_options(*part);
    wishes.placed = wishes.placed || kept.empty();
    std::size_t pinned = 0;
    for (const clang::Expr* made_from : kept) {
      Wishes here;
      read_options(made_from, here, unit, depth + 1);
      pinned += here.pinned ? 1 : 0;
      wishes.placed = wishes.placed || here.placed;
      wishes.on_host = wishes.on_host || here.on_host;
    }
    // What not all constructors ask for is not known.
    wishes.pinned = wishes.pinned || (pinned > 0 && pinned == kept.size());
  }
  for (const clang::Stmt* child : given->children()) read_options(child, wishes, unit, depth);
}

}  // namespace

MemoryKind memory_asked_for(llvm::ArrayRef<const clang::Expr*> arguments, std::optional<MemoryKind> by_default,
                            Unit& unit) {
  Wishes wishes;
  for (const clang::Expr* given : arguments) read_options(given, wishes, unit, 0);
  if (wishes.pinned) return MemoryKind::Pinned;
  if (!wishes.placed && by_default) return *by_default;
  return wishes.on_host ? MemoryKind::Pageable : MemoryKind::Device;
}

}  // namespace streamsan::analyzer::host
