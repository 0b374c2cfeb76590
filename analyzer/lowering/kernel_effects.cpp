// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel does with the memory behind each of its pointer parameters.
//
// The kernel's body stands in the same host-side AST as its launch, and so do the device functions it calls. Their
// summaries (device_function.h) tell every place that is read, written or updated atomically, named from a parameter
// on. A place behind exactly one pointer belongs to that pointer's memory: `a[i]`, `a[i].x`, `args.out[j]`, the memory
// of a captured pointer. What lies behind two (`rows[i][j]`, the nodes of a list) has no pointer in the launch that
// could be named and is left out.
//
// Which way it errs. Branches that are not decided by constants are all taken, and a pointer variable means all it is
// ever given, so an access may be claimed that a launch does not perform; depends_on_data marks those that memory
// decides about. Whatever reaches code without a body is `unknown`, and the analysis is silent about it. An access that
// happens is missed only past the bounds of device_memory.cpp, behind two pointers (`__device__` pointers are one), in
// textures, and through pointers to volatile. A body under `#if
// __CUDA_ARCH__` is seen as the host sees it.
#include "analyzer/lowering/kernel_effects.h"

#include <limits>
#include <tuple>

#include "analyzer/lowering/device_function.h"
#include "analyzer/lowering/device_limits.h"
#include "analyzer/lowering/device_meeting.h"
#include "analyzer/lowering/type_parts.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/Type.h"

namespace streamsan::analyzer {
namespace {

constexpr unsigned kDeepestClass = 4;

bool holds_pointer(clang::QualType type, unsigned deep = 0) {
  if (type->isPointerType() || type->isReferenceType()) return !type->getPointeeType()->isFunctionType();
  if (const auto* array = type->getAsArrayTypeUnsafe()) return holds_pointer(array->getElementType(), deep);
  const auto* record = type->getAsCXXRecordDecl();
  if (record == nullptr || !record->hasDefinition() || deep == kDeepestClass) return record != nullptr;
  return any_part(*record, [&](clang::QualType of) { return holds_pointer(of, deep + 1); });
}

/// All that can be said without a body.
ParameterEffect by_type(clang::QualType type) {
  ParameterEffect effect;
  if (!holds_pointer(type)) return effect;
  effect.members = type->isRecordType();
  effect.part = {.kind = ir::Part::Kind::Unknown};
  const bool reads = type->isPointerType() && type->getPointeeType().isConstQualified();
  (reads ? effect.reads : effect.unknown) = true;
  return effect;
}

ir::Mode mode_of(std::uint8_t early) {
  const bool reads = (early & device::kEarlyRead) != 0, writes = (early & device::kEarlyWrite) != 0;
  const bool atomics = (early & device::kEarlyAtomic) != 0;
  if ((early & device::kEarlyUnknown) != 0 && !writes) return ir::Mode::Unknown;
  if (writes) return reads || atomics ? ir::Mode::ReadWrite : ir::Mode::Write;
  return !atomics ? ir::Mode::Read : reads ? ir::Mode::ReadWrite : ir::Mode::Atomic;
}

/// What happens of the accesses to one pointer before the wait. Certain ones hide the others.
class Early {
 public:
  void add(const device::Effect& what) {
    if (surely_ == 0 && what.early != 0) at_ = what.early_at;
    if (at_.isInvalid()) at_ = what.early_at;
    surely_ |= what.early;
    perhaps_ |= what.perhaps_early;
    if ((what.early | what.perhaps_early) != 0) begin_.add(what.early_begin.bound(), {});
  }
  /// Once the part is known: what is early in another place than the rest need not meet what the rest does.
  void tell(PointerEffect& effect) const {
    if ((surely_ | perhaps_) == 0) return;
    const ir::Part part = device::part_of(begin_);
    const bool elsewhere = part != effect.part && part.kind != ir::Part::Kind::Whole;
    effect.before_wait = surely_ != 0 && !elsewhere ? ir::Certainty::Yes : ir::Certainty::Perhaps;
    effect.early = mode_of(surely_ != 0 ? surely_ : perhaps_);
    effect.early_at = at_.getRawEncoding();
  }

 private:
  std::uint8_t surely_ = 0;
  std::uint8_t perhaps_ = 0;
  clang::SourceLocation at_;
  device::Begin begin_;
};

/// `always`: an access counted so far is decided by no memory.
void add(PointerEffect& to, bool& always, const device::Effect& what) {
  to.reads |= what.reads;
  to.writes |= what.writes;
  to.atomics |= what.atomics;
  to.unknown |= what.unknown;
  always |= what.always;
  to.depends_on_data = !always;
}

/// The name of a captured variable for the field of a closure that keeps it.
std::string spell(const clang::FieldDecl& field) {
  if (!field.getName().empty()) return field.getName().str();
  const auto* closure = llvm::dyn_cast<clang::CXXRecordDecl>(field.getParent());
  if (closure == nullptr || !closure->isLambda()) return {};
  llvm::DenseMap<const clang::ValueDecl*, clang::FieldDecl*> captures;
  clang::FieldDecl* captured_this = nullptr;
  closure->getCaptureFields(captures, captured_this);
  for (const auto& [variable, kept_in] : captures) {
    if (kept_in == &field) return variable->getNameAsString();
  }
  return captured_this == &field ? "this" : "";
}

/// What the function does through `parameter`, of all places that it touches.
ParameterEffect charge(const clang::ParmVarDecl& parameter, const device::Summary& summary) {
  ParameterEffect effect;
  // A pointer to volatile is a flag: host and device talk through it while the kernel runs, on purpose.
  const clang::QualType pointee = parameter.getType()->getPointeeType();
  if (!pointee.isNull() && pointee.isVolatileQualified()) return effect;
  effect.members = parameter.getType()->isRecordType() && holds_pointer(parameter.getType());
  bool always = false;
  Early early;
  device::Begin begin;
  std::map<std::string, std::pair<PointerEffect, bool>> members;
  std::map<std::string, Early> early_members;
  std::map<std::string, device::Begin> begin_members;
  for (const auto& [path, what] : summary.effects) {
    if (path.base != &parameter || path.depth() > 1) continue;
    add(effect, always, what);
    early.add(what);
    begin.add(what.begin.bound(), {});
    std::string member;
    for (const clang::FieldDecl* step : path.steps) {
      if (step == nullptr) break;
      const std::string name = spell(*step);
      if (!name.empty()) member += (member.empty() ? "" : ".") + name;
    }
    auto& [member_effect, member_always] = members[member];
    add(member_effect, member_always, what);
    early_members[member].add(what);
    begin_members[member].add(what.begin.bound(), {});
  }
  effect.part = device::part_of(begin);
  early.tell(effect);
  if (!effect.members) return effect;
  for (auto& [name, member] : members) {
    member.first.part = device::part_of(begin_members[name]);
    early_members[name].tell(member.first);
    if (!name.empty()) effect.by_member.emplace_back(name, member.first);
  }
  return effect;
}

/// Each launch has its part, and nobody knows which.
void share_out(std::vector<ParameterEffect>& effects) {
  for (ParameterEffect& effect : effects) {
    effect.part = {.kind = ir::Part::Kind::From};
    for (auto& [name, member] : effect.by_member) member.part = effect.part;
  }
}

/// In bytes; more than any, where another file says it.
std::int64_t size_of(const clang::VarDecl& variable) {
  const clang::QualType type = variable.getType();
  if (type->isIncompleteType() || type->isDependentType()) return std::numeric_limits<std::int64_t>::max();
  return variable.getASTContext().getTypeSizeInChars(type).getQuantity();
}

}  // namespace

KernelEffects::KernelEffects() : summaries_(std::make_unique<device::Summaries>()) {}
KernelEffects::~KernelEffects() = default;

const std::vector<ParameterEffect>& KernelEffects::of(const clang::FunctionDecl& kernel) {
  const clang::FunctionDecl* canonical = kernel.getCanonicalDecl();
  if (const auto found = known_.find(canonical); found != known_.end()) return found->second;
  summaries_->refill();
  const auto summary = summaries_->of(kernel);
  std::vector<ParameterEffect> effects;
  if (summary == nullptr || summary->unknown) {
    for (const clang::ParmVarDecl* parameter : kernel.parameters()) effects.push_back(by_type(parameter->getType()));
  } else {
    const clang::FunctionDecl* definition = nullptr;
    kernel.getBody(definition);
    for (const clang::ParmVarDecl* parameter : definition->parameters())
      effects.push_back(charge(*parameter, *summary));
    if (meets_others(kernel)) share_out(effects);
  }
  return known_.emplace(canonical, std::move(effects)).first->second;
}

std::vector<VariableEffect> KernelEffects::variables(const clang::FunctionDecl& kernel) {
  const auto summary = summaries_->of(kernel);
  std::vector<VariableEffect> result;
  if (summary == nullptr || summary->unknown) return result;
  // Members that are read are kept apart from members that are written.
  struct Done {
    device::Begin begin;
    bool always = false;
  };
  std::vector<Done> done;
  // The places of one variable stand side by side.
  std::size_t of_variable = 0;
  for (const auto& [path, what] : summary->effects) {
    if (path.base == &device::kThis || path.depth() > 1) continue;
    const auto* variable = static_cast<const clang::VarDecl*>(path.base);
    if (llvm::isa<clang::ParmVarDecl>(variable)) continue;
    if (of_variable < result.size() && result[of_variable].variable != variable) of_variable = result.size();
    const auto alike = [&](const VariableEffect& effect) {
      return std::tuple(effect.reads, effect.writes, effect.atomics, effect.unknown) ==
             std::tuple(what.reads, what.writes, what.atomics, what.unknown);
    };
    std::size_t at = of_variable;
    while (at < result.size() && !alike(result[at])) ++at;
    if (at == result.size()) {
      result.emplace_back().variable = variable;
      done.emplace_back();
    }
    add(result[at], done[at].always, what);
    done[at].begin.add(what.begin.bound(), {});
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i].part = device::part_of(done[i].begin);
    const bool moved = result[i].part == ir::Part{.kind = ir::Part::Kind::From};
    if (result[i].part.kind != ir::Part::Kind::Unknown && !moved) continue;
    // A table that is looked up in is taken to be looked up all over.
    const device::MaybeBound& bound = done[i].begin.bound();
    result[i].part = bound && bound->spread
                         ? ir::Part{}
                         : ir::Part{.kind = ir::Part::Kind::Unknown, .bytes = size_of(*result[i].variable)};
  }
  return result;
}

std::uint32_t KernelEffects::limits(const clang::FunctionDecl& kernel) {
  const auto [known, is_new] = limits_.try_emplace(kernel.getCanonicalDecl(), 0);
  if (is_new) known->second = device::limits_of(kernel);
  return known->second;
}

bool KernelEffects::meets_others(const clang::FunctionDecl& kernel) {
  const auto [known, is_new] = meets_others_.try_emplace(kernel.getCanonicalDecl(), false);
  if (is_new) known->second = device::meets_others(kernel);
  return known->second;
}

GridBehaviour KernelEffects::behaviour(const clang::FunctionDecl& kernel) {
  const auto summary = summaries_->of(kernel);
  if (summary == nullptr || summary->unknown) return {};
  const device::Flow exits = summary->exits;
  const ir::Certainty waits = !exits.after   ? ir::Certainty::No
                              : exits.before ? ir::Certainty::Perhaps
                                             : ir::Certainty::Yes;
  return {.waits = waits,
          .triggers_first = summary->triggers_first,
          .touches_after_trigger = summary->touches_after_trigger};
}

}  // namespace streamsan::analyzer
