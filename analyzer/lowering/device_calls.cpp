// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls in device code.
//
// Three kinds, asked in this order. By name: CUDA's own functions whose bodies (built-ins, inline assembly) say less
// than their names: atomics, cached loads, copies. With a summary: everything that has a body. Unknown: no body, a
// function pointer, a virtual function; a pointer to const is read, any other escapes, and so does every pointer inside
// an object that is passed.
#include <algorithm>
#include <array>

#include "analyzer/lowering/device_body.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/Type.h"
#include "clang/Basic/SourceManager.h"

namespace streamsan::analyzer::device {
namespace {

using clang::dyn_cast;

enum class Known { No, Nothing, Load, Store, Copy, Fill, Atomic };

/// atomicAdd, atomicCAS_system, and what programs call their own: atomicMaxFloat, atomic_add. Not atomicForces.
bool is_atomic(llvm::StringRef name) {
  if (name.starts_with("__nvvm_atom") || name.starts_with("__atomic_") || name.starts_with("__hip_atomic") ||
      name.starts_with("__nv_atomic"))
    return true;
  if (!name.consume_front("atomic")) return false;
  name.consume_front("_");
  constexpr std::array kOperations = {"add", "sub", "exch", "min", "max", "inc",
                                      "dec", "and", "or",   "xor", "cas", "mul"};
  return std::any_of(kOperations.begin(), kOperations.end(),
                     [&](llvm::StringRef operation) { return name.starts_with_insensitive(operation); });
}

/// What the function called `name` does, if its name says it all.
Known known(llvm::StringRef name) {
  if (is_atomic(name)) return Known::Atomic;
  if (name.starts_with("__ld") || name.starts_with("__nvvm_ld")) return Known::Load;
  if (name.starts_with("__stc") || name.starts_with("__stw")) return Known::Store;
  if (name == "memset" || name == "__builtin_memset") return Known::Fill;
  constexpr std::array kCopies = {
      "memcpy", "memmove", "__builtin_memcpy", "__builtin_memmove", "memcpy_async", "__pipeline_memcpy_async"};
  if (std::find(kCopies.begin(), kCopies.end(), name) != kCopies.end()) return Known::Copy;
  constexpr std::array kHarmless = {"printf",
                                    "__assert_fail",
                                    "__assertfail",
                                    "__isGlobal",
                                    "__isShared",
                                    "__isLocal",
                                    "__isConstant",
                                    "__builtin_assume_aligned",
                                    "__builtin_launder",
                                    "__builtin_addressof",
                                    "__builtin_prefetch"};
  return std::find(kHarmless.begin(), kHarmless.end(), name) != kHarmless.end() ? Known::Nothing : Known::No;
}

const clang::CXXRecordDecl* class_of(const clang::Expr& object) {
  const clang::QualType type = object.IgnoreParenImpCasts()->getType();
  return type->isPointerType() ? type->getPointeeCXXRecordDecl() : type->getAsCXXRecordDecl();
}

}  // namespace

struct Body::Call {
  const clang::Expr& expression;
  const clang::FunctionDecl* callee = nullptr;
  std::vector<const clang::Expr*> arguments{};  ///< without the object
  Paths object{};                               ///< the place of `*this`
  bool has_object = false;
  const clang::Expr* object_expression = nullptr;      ///< it, or a pointer to it; nullptr: it is made here
  const clang::CXXRecordDecl* object_class = nullptr;  ///< as written, before conversions to a base
  bool data = false;     ///< under a condition on memory, or given a place that memory decides
  bool reached = false;  ///< the former
};

void Body::walk_lambda(const clang::LambdaExpr& lambda) {
  const Paths closure{Path{&lambda, {}}};
  auto field = lambda.getLambdaClass()->field_begin();
  for (const clang::Expr* initial : lambda.capture_inits()) {
    if (field == lambda.getLambdaClass()->field_end()) break;
    if (initial != nullptr) assign(step(closure, *field), field->getType(), initial);
    ++field;
  }
}

void Body::walk_construction(const clang::CXXConstructExpr& construction, bool data) {
  const clang::CXXConstructorDecl& constructor = *construction.getConstructor();
  if (constructor.isCopyOrMoveConstructor() && construction.getNumArgs() != 0) {
    // place() takes a copy for its source, so a constructor that does more is not followed.
    const clang::Expr* source = construction.getArg(0);
    if (source->isGLValue()) touch_place(*source, ir::Mode::Read, decides_address(source) || data);
    return;
  }
  const Call call{.expression = construction,
                  .callee = &constructor,
                  .arguments = {construction.arg_begin(), construction.arg_end()},
                  .object = {Path{&construction, {}}},
                  .has_object = true,
                  .data = data};
  if (call_atomic_object(call)) return;
  if (const auto summary = summaries_.of(constructor); summary != nullptr && !summary->unknown) {
    call_with_summary(call, *summary);
  } else if (!constructor.isTrivial() && !constructor.isDefaulted()) {
    call_unknown(call);
  }
}

void Body::walk_call(const clang::CallExpr& expression, bool data) {
  Call call{.expression = expression,
            .callee = expression.getDirectCallee(),
            .arguments = {expression.arg_begin(), expression.arg_end()},
            .data = data,
            .reached = data};
  const auto* method = clang::dyn_cast_or_null<clang::CXXMethodDecl>(call.callee);
  bool is_virtual = false;
  if (const auto* member_call = dyn_cast<clang::CXXMemberCallExpr>(&expression)) {
    const clang::Expr* object = member_call->getImplicitObjectArgument();
    call.object = object->getType()->isPointerType() ? value(object) : place(object);
    call.has_object = true;
    call.object_expression = object;
    call.object_class = class_of(*object);
    const auto* member = dyn_cast<clang::MemberExpr>(member_call->getCallee()->IgnoreParens());
    is_virtual = method != nullptr && method->isVirtual() && !(member && member->hasQualifier());
  } else if (clang::isa<clang::CXXOperatorCallExpr>(expression) && method != nullptr && !call.arguments.empty()) {
    if (!method->isStatic()) {
      call.object = place(call.arguments.front());
      call.has_object = true;
      call.object_expression = call.arguments.front();
      call.object_class = class_of(*call.arguments.front());
    }
    call.arguments.erase(call.arguments.begin());
  }
  for (const clang::Expr* argument : call.arguments) {
    if (argument->getType()->isPointerType() || argument->isGLValue()) call.data |= decides_address(argument);
  }
  if (call.callee == nullptr || is_virtual) return call_unknown(call);

  if (method != nullptr && call.has_object && method->isDefaulted() &&
      (method->isCopyAssignmentOperator() || method->isMoveAssignmentOperator()) && call.arguments.size() == 1) {
    const Paths source = place(call.arguments[0]);
    if (call.arguments[0]->isGLValue()) touch_place(*call.arguments[0], ir::Mode::Read, call.data);
    if (clang::isa<clang::CXXOperatorCallExpr>(expression)) {
      touch_place(*call.object_expression, ir::Mode::Write, call.data);
    } else {
      touch(call.object, ir::Mode::Write, call.data);
    }
    memory_.copy(call.object, source);
    set_result(expression, call.object);
    return;
  }
  if (call_by_name(call) || call_atomic_object(call)) return;
  const clang::IdentifierInfo* identifier = call.callee->getIdentifier();
  const llvm::StringRef name = identifier == nullptr ? llvm::StringRef() : identifier->getName();
  if (const GridCall grid = grid_call(name); grid != GridCall::None) pass(grid);
  const auto summary = summaries_.of(*call.callee);
  if (summary == nullptr || summary->unknown) {
    call_unknown(call);
  } else {
    call_with_summary(call, *summary);
  }
  pass_barrier(name);
}

bool Body::call_by_name(const Call& call) {
  const clang::IdentifierInfo* identifier = call.callee->getIdentifier();
  if (identifier == nullptr || call.has_object) return false;
  const Known what = known(identifier->getName());
  if (what == Known::No) return false;
  std::vector<Paths> pointers;
  std::vector<MaybeBound> begins;
  for (const clang::Expr* argument : call.arguments) {
    const clang::Expr* plain = argument->IgnoreParenImpCasts();
    if (argument->getType()->isPointerType()) {
      pointers.push_back(value(argument));
      begins.push_back(bounds_.pointer(argument));
    } else if (plain->isGLValue() && plain->getType()->isPointerType()) {
      pointers.push_back(memory_.load(place(plain)));  // `const T* const&` of a template
      begins.push_back(bounds_.pointer(plain));
    }
  }
  const auto touch_pointer = [&](std::size_t number, ir::Mode mode) {
    if (number >= pointers.size()) return;
    begins_ = begins[number];
    touch(pointers[number], mode, call.data);
    begins_ = std::nullopt;
  };
  switch (what) {
    case Known::No:
    case Known::Nothing:
      break;
    case Known::Load:
      touch_pointer(0, ir::Mode::Read);
      break;
    case Known::Store:
    case Known::Fill:
      touch_pointer(0, ir::Mode::Write);
      break;
    case Known::Copy:
      touch_pointer(0, ir::Mode::Write);
      touch_pointer(1, ir::Mode::Read);
      break;
    case Known::Atomic:
      touch_pointer(0, ir::Mode::Atomic);
      break;
  }
  if (!pointers.empty() && call.callee->getReturnType()->isPointerType()) set_result(call.expression, pointers[0]);
  return true;
}

/// cuda::atomic_ref and cuda::atomic, and their namesakes in std.
bool Body::call_atomic_object(const Call& call) {
  const auto* constructor = dyn_cast<clang::CXXConstructorDecl>(call.callee);
  const clang::CXXRecordDecl* of = constructor != nullptr ? constructor->getParent() : call.object_class;
  if (of == nullptr || of->getIdentifier() == nullptr) return false;
  const llvm::StringRef name = of->getName();
  if (name != "atomic_ref" && name != "atomic") return false;
  if (constructor == nullptr) {
    touch(name == "atomic" ? call.object : memory_.load(call.object), ir::Mode::Atomic, call.data);
  } else if (name == "atomic_ref" && !call.arguments.empty()) {
    memory_.store(call.object, place(call.arguments[0]));
  }
  return true;
}

namespace {

/// nullptr: the path begins at a variable on the device. Not for kThis.
const clang::ParmVarDecl* parameter_of(const Path& path) {
  return dyn_cast<clang::ParmVarDecl>(static_cast<const clang::VarDecl*>(path.base));
}

}  // namespace

/// What a place that the callee's summary names is in the caller.
Paths Body::translate(const Call& call, const Path& path) const {
  Paths places;
  std::size_t next = 0;
  if (path.base == &kThis) {
    places = call.object;
    next = 1;
  } else if (const clang::ParmVarDecl* parameter = parameter_of(path); parameter == nullptr) {
    return {path};
  } else {
    const unsigned position = parameter->getFunctionScopeIndex();
    if (position >= call.arguments.size()) return {};
    const clang::Expr* argument = call.arguments[position];
    if (parameter->getType()->isReferenceType()) {
      places = place(argument);
      next = 1;
    } else if (parameter->getType()->isRecordType()) {
      places = place(argument);
    } else {
      places = value(argument);
      next = 1;
    }
  }
  for (; next < path.steps.size(); ++next) {
    places = path.steps[next] == nullptr ? memory_.load(places) : step(places, path.steps[next]);
  }
  return places;
}

void Body::note_moved(const clang::FieldDecl* field, const MaybeBound& by) {
  if (field == nullptr || !field->getType()->isPointerType() || !leaves_begin(by)) return;
  // What a lambda captures is read where it was made.
  const auto* record = dyn_cast<clang::CXXRecordDecl>(field->getParent());
  if (record != nullptr && record->isLambda()) return;
  const bool kept = by->plain && !function_.hasAttr<clang::CUDAGlobalAttr>();
  const auto [known, is_new] = moved_.try_emplace(field, kept ? *by : moved_bound());
  learned_ |= is_new;
  if (is_new || known->second.elsewhere || (kept && known->second.parameters == by->parameters)) return;
  known->second = moved_bound();
  learned_ = true;
}

void Body::note_moved(const Paths& places, const MaybeBound& by) {
  for (const Path& path : places)
    if (!path.steps.empty()) note_moved(path.steps.back(), by);
}

/// Not in a loop: what grows from round to round begins where it began.
void Body::note_moved_by(const Call& call, const Summary& summary) {
  const auto given = [&](const clang::ParmVarDecl* parameter) -> const clang::Expr* {
    const unsigned position = parameter == nullptr ? 0U : parameter->getFunctionScopeIndex();
    return parameter == nullptr || position >= call.arguments.size() ? nullptr : call.arguments[position];
  };
  for (const auto& [field, by] : summary.moved) {
    if (!continues_.empty()) break;
    MaybeBound here = by;
    if (by.plain) {
      const unsigned position = *by.parameters.begin();
      here = position < call.arguments.size() ? bounds_.number(call.arguments[position]) : std::nullopt;
      here = plus(times(here, constant_bound(by.scale)), constant_bound(by.shift));
    }
    note_moved(field, here);
  }
  // What it keeps of what it is given.
  const auto note_kept = [&](const clang::FieldDecl* field, const Paths& values) {
    for (const Path& path : values) {
      const auto* parameter = path.base == &kThis || path.depth() != 1 ? nullptr : parameter_of(path);
      const clang::Expr* argument = given(parameter);
      if (argument != nullptr && argument->getType()->isPointerType()) note_moved(field, bounds_.pointer(argument));
    }
  };
  for (const auto& [path, values] : summary.stores)
    if (!path.steps.empty()) note_kept(path.steps.back(), values);
  for (const auto& [fields, values] : summary.returned_fields)
    if (!fields.empty()) note_kept(fields.back(), values);
}

MaybeBound Body::begin_of(const Call& call, const Path& path, const Begin& begin) const {
  if (begin.known() != begin.bound()) {
    // What begins at the pointer begins there whatever else is touched.
    const MaybeBound known = begin_of(call, path, begin.known());
    if (known && known->number == 0 && !known->single && !known->fixed) return known;
  }
  return begin_of(call, path, begin.bound());
}

MaybeBound Body::begin_of(const Call& call, const Path& path, MaybeBound inside) const {
  if (std::ranges::any_of(path.steps, [this](const clang::FieldDecl* step) { return moved_.contains(step); }))
    return moved_bound();
  const auto argument = [&](unsigned position) -> const clang::Expr* {
    return position < call.arguments.size() ? call.arguments[position] : nullptr;
  };
  if (!inside) return inside;
  if (!inside->number) {
    // In terms of its own parameters: only one that is an index is followed.
    if (inside->elsewhere) return inside;
    if (!inside->plain) return std::nullopt;
    const MaybeBound given = bounds_.number(argument(*inside->parameters.begin()));
    const bool single = inside->single, loose = inside->loose;
    inside = plus(times(given, constant_bound(inside->scale)), constant_bound(inside->shift));
    if (inside) {
      inside->single |= single;
      inside->fixed &= !loose;
      inside->loose |= loose && inside->plain;
    }
  }
  // A place of the object, or of what a reference names, lies where that does.
  if (path.base == &kThis) {
    if (path.depth() != 1) return bounds_.reached(inside, call.arguments);
    const clang::Expr* object = call.object_expression;
    if (object == nullptr) return std::nullopt;
    const MaybeBound at = object->getType()->isPointerType() ? bounds_.pointer(object) : bounds_.place(object);
    return bounds_.reached(plus(at, inside), call.arguments);
  }
  const clang::ParmVarDecl* parameter = parameter_of(path);
  const clang::Expr* given = parameter == nullptr ? nullptr : argument(parameter->getFunctionScopeIndex());
  if (parameter != nullptr && parameter->getType()->isPointerType()) {
    inside = plus(bounds_.pointer(given), inside);
  } else if (parameter != nullptr && parameter->getType()->isReferenceType() && path.depth() == 1) {
    inside = plus(bounds_.place(given), inside);
  }
  return bounds_.reached(inside, call.arguments);
}

/// Variables of the device that the callee has: they outlive this function, as its parameters do.
void Body::note_variables(const Summary& summary) {
  const auto note = [&](const Path& path) {
    if (path.base != &kThis && parameter_of(path) == nullptr) memory_.add_parameter(path.base);
  };
  for (const auto& [path, effect] : summary.effects) note(path);
  for (const auto* places : {&summary.stores, &summary.copies}) {
    for (const auto& [place, values] : *places) {
      note(place);
      std::ranges::for_each(values, note);
    }
  }
  std::ranges::for_each(summary.returns, note);
  for (const auto& [fields, values] : summary.returned_fields) std::ranges::for_each(values, note);
}

void Body::call_with_summary(const Call& call, const Summary& summary) {
  note_variables(summary);
  bool decided = call.reached;
  for (const unsigned position : summary.deciders) {
    if (position >= call.arguments.size() || call.arguments[position]->getType()->isPointerType()) continue;
    decided |= decides(call.arguments[position]);
  }
  // Pointers that it is given to a place that memory decides: row(to + index[i] * size).
  std::set<const void*> decided_pointers;
  for (const auto& [path, effect] : summary.effects) {
    if (path.base == &kThis || decided_pointers.contains(path.base)) continue;
    const clang::ParmVarDecl* parameter = parameter_of(path);
    if (parameter == nullptr) continue;
    const unsigned position = parameter->getFunctionScopeIndex();
    if (position < call.arguments.size() && call.arguments[position]->getType()->isPointerType() &&
        decides_address(call.arguments[position]))
      decided_pointers.insert(path.base);
  }
  note_moved_by(call, summary);
  ends_ += summary.ends ? 1 : 0;
  const Flow here = flow_;
  const clang::SourceLocation at = call.expression.getExprLoc();
  const clang::SourceManager& files = context_.getSourceManager();
  for (const auto& [path, effect] : summary.effects) {
    const Paths places = translate(call, path);
    const bool data = decided || !effect.always || decided_pointers.contains(path.base);
    begins_ = begin_of(call, path, effect.begin);
    early_begins_ = std::nullopt;
    if ((effect.early | effect.perhaps_early) != 0) early_begins_ = begin_of(call, path, effect.early_begin);
    at_ = effect.early_at.isInvalid() || files.isInSystemHeader(effect.early_at) ? at : effect.early_at;
    flow_ = flow_in(here, effect, kEarlyRead);
    if (effect.reads) touch(places, ir::Mode::Read, data);
    flow_ = flow_in(here, effect, kEarlyWrite);
    if (effect.writes) touch(places, ir::Mode::Write, data);
    flow_ = flow_in(here, effect, kEarlyAtomic);
    if (effect.atomics) touch(places, ir::Mode::Atomic, data);
    flow_ = flow_in(here, effect, kEarlyUnknown);
    if (effect.unknown) {
      if (path.depth() != 0) touch(places, ir::Mode::Unknown, data);
      escape(places, data);
    }
  }
  begins_ = std::nullopt;
  early_begins_ = std::nullopt;
  flow_ = here;
  triggers_ |= summary.triggers;
  touches_after_trigger_ |= summary.touches_after_trigger;
  if (here.before) {
    const ir::Certainty most = here.after ? ir::Certainty::Perhaps : ir::Certainty::Yes;
    triggers_first_ = std::max(triggers_first_, std::min(most, summary.triggers_first));
    flow_ = summary.exits;
    flow_.after |= here.after;
  }
  const auto translate_all = [&](const Paths& paths) {
    Paths result;
    for (const Path& path : paths) result.merge(translate(call, path));
    return result;
  };
  for (const auto& [path, values] : summary.stores) memory_.store(translate(call, path), translate_all(values));
  for (const auto& [path, sources] : summary.copies) memory_.copy(translate(call, path), translate_all(sources));
  const clang::QualType type = call.callee->getReturnType();
  if (!type->isRecordType()) {
    Paths returned = translate_all(summary.returns);
    if (const auto known = results_.find(&call.expression); known != results_.end())
      returned.insert(known->second.begin(), known->second.end());
    return set_result(call.expression, std::move(returned));
  }
  const Paths object{Path{&call.expression, {}}};
  memory_.copy(object, translate_all(summary.returns));
  for (const auto& [fields, values] : summary.returned_fields) {
    Paths field = object;
    for (const clang::FieldDecl* one : fields) field = step(field, one);
    memory_.store(field, translate_all(values));
  }
}

void Body::escape(const Paths& objects, bool data) { touch(memory_.inside(objects), ir::Mode::Unknown, data); }

void Body::escape_argument(const clang::Expr& argument, clang::QualType type, bool data) {
  if (type->isReferenceType() || type->isPointerType()) {
    const clang::QualType pointee = type->getPointeeType();
    if (pointee->isFunctionType()) return;
    const Paths places = type->isPointerType() ? value(&argument) : place(&argument);
    touch(places, pointee.isConstQualified() ? ir::Mode::Read : ir::Mode::Unknown, data);
    if (!pointee->isArithmeticType()) escape(places, data);
  } else if (type->isRecordType()) {
    escape(place(&argument), data);
  } else {
    touch(value(&argument), ir::Mode::Unknown, data);
  }
}

void Body::call_unknown(const Call& call) {
  at_ = call.expression.getExprLoc();
  Paths reached;
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const clang::Expr& argument = *call.arguments[i];
    const bool declared = call.callee != nullptr && i < call.callee->getNumParams();
    const clang::QualType type =
        declared ? call.callee->getParamDecl(static_cast<unsigned>(i))->getType() : argument.getType();
    escape_argument(argument, type, call.data);
    if (argument.getType()->isPointerType()) reached.merge(value(&argument));
  }
  if (call.has_object) {
    const auto* method = clang::dyn_cast_or_null<clang::CXXMethodDecl>(call.callee);
    const bool reads = method != nullptr && method->isConst();
    touch(call.object, reads ? ir::Mode::Read : ir::Mode::Unknown, call.data);
    escape(call.object, call.data);
  }
  if (call.callee != nullptr && call.callee->getReturnType()->isPointerType()) {
    set_result(call.expression, std::move(reached));
  }
  // The compiler's and the toolkit's own functions without a body are instructions, and none of them waits.
  const auto is_instruction = [&](const clang::FunctionDecl& callee) {
    return !callee.hasBody() && (callee.getBuiltinID() != 0 || callee.getLocation().isInvalid() ||
                                 context_.getSourceManager().isInSystemHeader(callee.getLocation()));
  };
  if (call.callee == nullptr || !is_instruction(*call.callee)) pass(GridCall::PerhapsWait);
}

}  // namespace streamsan::analyzer::device
