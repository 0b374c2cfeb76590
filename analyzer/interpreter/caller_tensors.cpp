// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operator refuses tensors that do not have the sizes it is written for: points have three coordinates, boxes four.
// A made-up tensor has size 64 in every dimension, so a run would end at such a check. So if the file compares a size
// with a number, by == in a macro or by !=, the tensor of that name gets that size; and so does a tensor that is passed
// on as a parameter of that name. A comparison of two tensors' sizes needs nothing: made-up tensors have equal sizes.
#include "analyzer/interpreter/caller_tensors.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "analyzer/interpreter/caller_numbers.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/Expr.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer {
namespace {

constexpr std::uint64_t kMask = 0xffff;  // 16 bits for the number and for each size

/// The index in Wanted of a dimension.
std::size_t place_of(std::int64_t dimension) { return dimension == 0 ? 0 : dimension == 1 ? 1 : 2; }

}  // namespace

void TensorSizes::note(const clang::BinaryOperator& compared, const clang::ASTContext& context) {
  if (!compared.isEqualityOp() || compared.isValueDependent()) return;
  // TORCH_CHECK(x.size(1) == 3), if (x.size(1) != 3) throw; but not if (x.size(0) == 1) return x.
  if (compared.getOpcode() == clang::BO_EQ && !compared.getOperatorLoc().isMacroID()) return;
  for (const auto& [one, other] :
       {std::pair(compared.getLHS(), compared.getRHS()), std::pair(compared.getRHS(), compared.getLHS())}) {
    const auto* call = llvm::dyn_cast<clang::CXXMemberCallExpr>(one->IgnoreParenCasts());
    const clang::CXXMethodDecl* method = call == nullptr ? nullptr : call->getMethodDecl();
    if (method == nullptr || method->getIdentifier() == nullptr || method->getName() != "size" ||
        call->getNumArgs() != 1)
      continue;
    const clang::Expr* object = call->getImplicitObjectArgument()->IgnoreParenCasts();
    const clang::NamedDecl* named = nullptr;
    if (const auto* variable = llvm::dyn_cast<clang::DeclRefExpr>(object)) named = variable->getDecl();
    if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(object)) named = member->getMemberDecl();
    clang::Expr::EvalResult which, size;
    if (named == nullptr || !call->getArg(0)->EvaluateAsInt(which, context) || !other->EvaluateAsInt(size, context))
      continue;
    const llvm::APSInt& number = size.Val.getInt();
    if (number < 1 || number > 4096) continue;
    std::uint64_t& wanted = wanted_[named->getNameAsString()][place_of(which.Val.getInt().getExtValue())];
    if (wanted == 0) wanted = number.getZExtValue();
  }
}

void TensorSizes::note(const clang::CallExpr& call) {
  const clang::FunctionDecl* callee = call.getDirectCallee();
  if (callee == nullptr || llvm::isa<clang::CXXMemberCallExpr, clang::CXXOperatorCallExpr>(call)) return;
  for (unsigned i = 0; i < call.getNumArgs() && i < callee->getNumParams(); ++i) {
    const auto* variable = llvm::dyn_cast<clang::DeclRefExpr>(call.getArg(i)->IgnoreParenCasts());
    if (variable == nullptr || !llvm::isa<clang::ParmVarDecl>(variable->getDecl())) continue;
    const std::string here = variable->getDecl()->getNameAsString(), there = callee->getParamDecl(i)->getNameAsString();
    if (here != there) passed_as_[here].insert(there);
  }
}

const TensorSizes::Wanted* TensorSizes::find(llvm::StringRef name, int steps) const {
  auto found = wanted_.find(name.str());
  if (found == wanted_.end()) found = wanted_.find(one_of(name));
  if (found != wanted_.end()) return &found->second;
  const auto passed = passed_as_.find(name.str());
  if (passed == passed_as_.end() || steps == 0) return nullptr;
  for (const std::string& other : passed->second)
    if (const Wanted* wanted = find(other, steps - 1)) return wanted;
  return nullptr;
}

namespace {

std::uint64_t packed(const TensorSizes::Wanted& wanted) {
  const auto& [first, second, last] = wanted;
  return first << 16U | second << 32U | last << 48U;
}

}  // namespace

std::uint64_t TensorSizes::packed(llvm::StringRef name) const {
  constexpr int kMostCalls = 3;
  const Wanted* found = find(name, kMostCalls);
  return found == nullptr ? 0 : analyzer::packed(*found);
}

std::uint64_t TensorSizes::packed_for_any() const {
  Wanted all{};
  for (const auto& [name, wanted] : wanted_)
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i] != 0 && wanted[i] != 0 && all[i] != wanted[i]) return 0;
      all[i] = std::max(all[i], wanted[i]);
    }
  return analyzer::packed(all);
}

TensorSizes::Wanted TensorSizes::unpacked(std::uint64_t argument) {
  return {argument >> 16U & kMask, argument >> 32U & kMask, argument >> 48U & kMask};
}

std::uint64_t TensorSizes::number(std::uint64_t argument) { return argument & kMask; }

}  // namespace streamsan::analyzer
