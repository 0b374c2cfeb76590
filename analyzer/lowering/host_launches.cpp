// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel launches: by <<<...>>>, and through the runtime's and the driver's functions.
//
// A launch is one op, with an access for each pointer that the kernel does something with: what is found in its body
// (kernel_effects.h), or anything where there is none to look at. Of a struct or closure that is passed by value each
// pointer in it is an access of its own. Integer arguments are kept as expressions: two launches of one kernel with
// different ones often work on different parts of a buffer. A number in floating point chooses no part.
//
// cudaLaunchKernel() and its kin are given pointers to the arguments. An array of them that is a local variable with an
// initialiser, the way in which it is mostly written by hand, is looked through. Another, as the one that a function is
// given which launches for others, is known where its elements are: once that function is inlined.
#include "analyzer/lowering/host_launches.h"

#include <algorithm>

#include "analyzer/lowering/host_arguments.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_numbers.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "analyzer/lowering/programmatic.h"
#include "analyzer/lowering/type_parts.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/Support/MathExtras.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::TypeKind;

namespace {

std::string kernel_name(const clang::FunctionDecl* kernel) {
  return kernel == nullptr ? std::string("kernel") : kernel->getNameAsString();
}

ir::Mode mode_of(const PointerEffect& effect) {
  if (effect.unknown) return ir::Mode::Unknown;
  if (effect.writes) return effect.reads || effect.atomics ? ir::Mode::ReadWrite : ir::Mode::Write;
  if (effect.atomics) return effect.reads ? ir::Mode::ReadWrite : ir::Mode::Atomic;
  return ir::Mode::Read;
}

bool touches(const PointerEffect& effect) { return effect.reads || effect.writes || effect.atomics || effect.unknown; }

/// A member of it, or of a member, is an integer.
bool holds_integer(clang::QualType type) {
  const clang::CXXRecordDecl* record = Symbols::record(type);
  if (record == nullptr || !record->hasDefinition()) return false;
  const auto any = [](clang::QualType of) { return of->isIntegralOrEnumerationType() || holds_integer(of); };
  return any_part(*record, any);
}

/// The kernel that a pointer to a function names.
const clang::FunctionDecl* kernel_of(const clang::Expr* pointer) {
  if (pointer == nullptr) return nullptr;
  const clang::Expr* at = strip(pointer);
  if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(at); unary && unary->getOpcode() == clang::UO_AddrOf)
    at = strip(unary->getSubExpr());
  const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(at);
  const auto* kernel = reference == nullptr ? nullptr : llvm::dyn_cast<clang::FunctionDecl>(reference->getDecl());
  return kernel != nullptr && kernel->hasAttr<clang::CUDAGlobalAttr>() ? kernel : nullptr;
}

/// `void* array[] = {&a, &b}`
const clang::InitListExpr* argument_array(const clang::Expr* array) {
  if (array == nullptr) return nullptr;
  const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(strip(array));
  const auto* variable = reference == nullptr ? nullptr : llvm::dyn_cast<clang::VarDecl>(reference->getDecl());
  if (variable == nullptr || !variable->hasLocalStorage() || !variable->hasInit()) return nullptr;
  const auto* list = llvm::dyn_cast<clang::InitListExpr>(strip(variable->getInit()));
  return list != nullptr && variable->getType()->isArrayType() ? list : nullptr;
}

}  // namespace

Launches::Launches(const Parts& parts)
    : unit_(parts.unit),
      definition_(parts.definition),
      out_(parts.out),
      numbers_(parts.numbers),
      places_(parts.places),
      values_(parts.values),
      arguments_(parts.arguments) {}

bool Launches::followed(const clang::Expr* number) {
  if (constant(number, unit_.context)) return true;
  const clang::Expr* at = strip(number);
  if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(at))
    return followed(binary->getLHS()) && followed(binary->getRHS());
  if (const auto* choice = llvm::dyn_cast<clang::ConditionalOperator>(at))
    return followed(choice->getCond()) && followed(choice->getTrueExpr()) && followed(choice->getFalseExpr());
  if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(at); unary != nullptr && unary->isArithmeticOp())
    return followed(unary->getSubExpr());
  return !values_.scalar(at).uses.empty();
}

void Launches::kernel_accesses(ir::Op& op, const clang::FunctionDecl* kernel,
                               llvm::ArrayRef<const clang::Expr*> arguments) {
  const std::vector<ParameterEffect>* effects = kernel == nullptr ? nullptr : &unit_.kernels.of(*kernel);
  const std::uint32_t limits = kernel == nullptr ? 0 : unit_.kernels.limits(*kernel);
  std::map<unsigned, std::size_t> integers;  // position among the parameters, among the op's arguments
  bool in_objects = false;                   // some are members of what is passed by value
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const clang::Expr* given = arguments[i];
    const clang::QualType type = given->getType();
    const TypeKind of = out_.kind(type);
    const ParameterEffect* effect = effects != nullptr && i < effects->size() ? &(*effects)[i] : nullptr;
    if (of == TypeKind::Pointer || type->isArrayType() || out_.kind(strip(given)->getType()) == TypeKind::Pointer) {
      if (effect != nullptr && !touches(*effect)) continue;
      const Operand memory = values_.memory(given);
      if (memory.kind == Operand::Kind::Null) continue;
      op.accesses.push_back(values_.access(memory, effect == nullptr ? ir::Mode::Unknown : mode_of(*effect)));
      op.accesses.back().part = {.kind = ir::Part::Kind::Unknown};
      if (effect == nullptr) continue;
      op.accesses.back().by_data = effect->depends_on_data;
      op.accesses.back().part = effect->part;
      note_early(op, op.accesses.back(), *effect);
    } else if (of == TypeKind::Object) {
      in_objects = in_objects || holds_integer(type);
      if (effect != nullptr && effect->members) pass_struct(op, *effect, *given);
    } else if (i < 32 && (limits >> i & 1U) != 0) {
      op.limited = true;
    } else if (!type->isFloatingType()) {
      ir::Expr number = values_.scalar(given);
      if (!followed(given)) number.uses.clear();
      integers[static_cast<unsigned>(i)] = op.arguments.size();
      op.arguments.push_back({.kind = Operand::Kind::None, .offset = out_.add(std::move(number))});
    }
  }
  if (kernel != nullptr)
    for (const VariableEffect& effect : unit_.kernels.variables(*kernel)) {
      const Operand memory = values_.address_of(places_.variable(*effect.variable));
      if (memory.kind != Operand::Kind::Address) continue;
      op.accesses.push_back(values_.access(memory, mode_of(effect)));
      op.accesses.back().by_data = effect.depends_on_data;
      op.accesses.back().part = effect.part;
    }
  for (ir::Access& access : op.accesses)
    if (access.part.kind == ir::Part::Kind::From && access.part.arguments != 0)
      settle(access.part, op.arguments, integers);
  if (kernel == nullptr || !kernel->isDefined() || (integers.empty() && !in_objects)) return;
  // The body was read, and does not show where it begins: one of these numbers may say so, unless indices in memory do.
  for (ir::Access& access : op.accesses)
    if (access.part.kind == ir::Part::Kind::Unknown && !access.part.bytes && !access.by_data)
      access.part = {.kind = ir::Part::Kind::From,
                     .arguments = in_objects ? 0
                                             : llvm::maskTrailingOnes<std::uint32_t>(
                                                   static_cast<unsigned>(std::min<std::size_t>(integers.size(), 32)))};
}

/// Parameters become the op's arguments. If all are 0 here, it begins at the pointer.
void Launches::settle(ir::Part& part, const std::vector<Operand>& arguments,
                      const std::map<unsigned, std::size_t>& integers) {
  std::uint32_t bits = 0;
  bool known = true;
  for (unsigned position = 0; known && position < 32; ++position) {
    if ((part.arguments >> position & 1U) == 0) continue;
    const auto found = integers.find(position);
    known = found != integers.end() && found->second < 32;
    if (known && out_[arguments[found->second].offset].constant != 0) bits |= 1U << found->second;
  }
  if (known && bits != 0) {
    part = {.kind = ir::Part::Kind::From, .arguments = bits};
  } else {
    part = {.kind = known && !part.bytes ? ir::Part::Kind::Whole : ir::Part::Kind::Unknown};
  }
}

Launches::Part Launches::member_named(const Part& of, llvm::StringRef name) {
  if (of.record != nullptr && of.record->isLambda()) {
    llvm::DenseMap<const clang::ValueDecl*, clang::FieldDecl*> captures;
    clang::FieldDecl* self = nullptr;
    of.record->getCaptureFields(captures, self);
    for (const auto& [variable, field] : captures)
      if (variable->getName() == name)
        return {places_.closure_field(of.place, *variable, field->getType()->isReferenceType()),
                Symbols::record(field->getType())};
  } else if (of.record != nullptr) {
    for (const clang::FieldDecl* field : of.record->fields())
      if (field->getName() == name) return {places_.member(of.place, *field), Symbols::record(field->getType())};
  }
  return {};
}

void Launches::pass_struct(ir::Op& op, const ParameterEffect& effect, const clang::Expr& argument) {
  const ir::PlaceId object = places_.place(&argument);
  const clang::CXXRecordDecl* record = Symbols::record(argument.getType());
  if (object == ir::kNoPlace || record == nullptr || effect.by_member.empty()) {
    if (touches(effect)) op.accesses.push_back({.memory = unknown(), .mode = ir::Mode::Unknown});
    return;
  }
  for (const auto& [path, member_effect] : effect.by_member) {
    Part part{object, record};
    llvm::SmallVector<llvm::StringRef, 4> steps;
    llvm::StringRef(path).split(steps, '.');
    for (const llvm::StringRef step : steps)
      if (part.place != ir::kNoPlace) part = member_named(part, step);
    const bool pointer = out_.kind(part.place) == TypeKind::Pointer;
    op.accesses.push_back({.memory = pointer ? value(part.place) : unknown(),
                           .mode = pointer ? mode_of(member_effect) : ir::Mode::Unknown});
    op.accesses.back().part = {.kind = ir::Part::Kind::Unknown};
    if (!pointer) continue;
    op.accesses.back().by_data = member_effect.depends_on_data;
    op.accesses.back().part = member_effect.part;
    note_early(op, op.accesses.back(), member_effect);
  }
}

void Launches::say_launched(ir::SiteId site, const std::string& kernel) {
  out_.site_of(site).text = "kernel '" + kernel + "'";
  out_.site_of(site).kind = ir::Site::Kind::Launch;
}

void Launches::launch(const clang::CUDAKernelCallExpr& launch) {
  const clang::FunctionDecl* kernel = launch.getDirectCallee();
  const ir::SiteId site = out_.site(launch);
  say_launched(site, kernel_name(kernel));
  ir::Op op{.kind = OpKind::Enqueue, .site = site, .work = ir::Work::Kernel, .name = kernel_name(kernel)};
  unit_.sites.add_stream_slot(out_.site_of(site), launch);
  const clang::CallExpr* config = launch.getConfig();
  if (config == nullptr || config->getNumArgs() < 4) {
    op.stream = unknown();
  } else if (llvm::isa<clang::CXXDefaultArgExpr>(config->getArg(3))) {
    op.stream = {.kind = Operand::Kind::DefaultStream};
    op.implicit_stream = true;
  } else {
    op.stream = values_.stream(config->getArg(3));
  }
  llvm::SmallVector<const clang::Expr*, 8> arguments(launch.arg_begin(), launch.arg_end());
  kernel_accesses(op, kernel, arguments);
  out_.emit(std::move(op));
}

void Launches::apply(const Call& call) {
  const Model& model = *call.model;
  const clang::Expr* pointer = call.argument(model.effect.object);
  const clang::FunctionDecl* kernel = kernel_of(pointer);
  if (kernel == nullptr && pointer != nullptr) kernel = kernel_in_variable(definition_, *pointer);
  ir::Op op = start(OpKind::Enqueue, call);
  op.work = ir::Work::Kernel;
  op.stream = arguments_.stream_of(call, &op);
  if (kernel != nullptr) {
    op.name = kernel->getNameAsString();
    say_launched(call.site, op.name);
  }
  if (const clang::Expr* config = call.argument(model.config_argument))
    set_programmatic(op, programmatic(definition_, *call.expression, *config), kernel);
  llvm::SmallVector<const clang::Expr*, 8> arguments;
  bool known = false;
  if (model.first_kernel_argument >= 0) {
    known = true;
    for (std::size_t i = static_cast<std::size_t>(model.first_kernel_argument); i < call.arguments.size(); ++i)
      arguments.push_back(call.arguments[i]);
  } else if (const clang::InitListExpr* array = argument_array(call.argument(model.effect.params))) {
    known = true;
    for (const clang::Expr* given : array->inits()) {
      const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(strip(given));
      if (unary == nullptr || unary->getOpcode() != clang::UO_AddrOf) {
        known = false;
        break;
      }
      arguments.push_back(unary->getSubExpr());
    }
  }
  if (known) {
    kernel_accesses(op, kernel, arguments);
  } else if (model.effect.params >= 0) {
    op.accesses.push_back({.memory = unknown(), .mode = ir::Mode::Unknown});
    if (kernel == nullptr) use_elements(op, call.argument(model.effect.params));
  }
  out_.emit(std::move(op));
}

void Launches::use_elements(ir::Op& op, const clang::Expr* array) {
  if (array == nullptr || array->isNullPointerConstant(unit_.context, clang::Expr::NPC_ValueDependentIsNotNull)) return;
  // How many there are, the array does not tell. Of one that nobody has set nothing is known.
  constexpr int kMostArguments = 12;
  const Operand elements = values_.operand(array);
  const clang::QualType type = unit_.context.VoidPtrTy;
  for (int i = 0; i < kMostArguments; ++i) {
    const ir::PlaceId element = places_.subscript(elements, numbers_.number(i), type);
    if (element == ir::kNoPlace) return;
    op.accesses.push_back({.memory = value(out_.dereferenced(element, type)), .mode = ir::Mode::Unknown});
    op.accesses.back().part = {.kind = ir::Part::Kind::Unknown};
  }
  op.arguments.push_back({.kind = Operand::Kind::None, .offset = numbers_.unknown_number()});
}

void Launches::set_programmatic(ir::Op& op, ir::Certainty programmatic, const clang::FunctionDecl* kernel) {
  op.programmatic = programmatic;
  if (programmatic == ir::Certainty::No) return;
  const GridBehaviour behaviour = kernel == nullptr ? GridBehaviour() : unit_.kernels.behaviour(*kernel);
  op.waits = behaviour.waits;
  op.triggers_first = behaviour.triggers_first;
}

void Launches::note_early(const ir::Op& op, ir::Access& access, const PointerEffect& effect) {
  if (op.programmatic == ir::Certainty::No || effect.before_wait == ir::Certainty::No) return;
  access.before_wait = effect.before_wait;
  access.early = effect.early;
  ir::Site at = unit_.sites.at(clang::SourceLocation::getFromRawEncoding(effect.early_at));
  at.function = op.name;
  if (effect.early_at != 0) access.early_site = out_.add(std::move(at));
}

bool Launches::apply_helper(const Call& call) {
  const auto* written = llvm::dyn_cast<clang::CallExpr>(call.expression);
  const auto launch = written == nullptr ? std::nullopt : helper_launch(unit_.symbols, *written);
  if (!launch) return false;
  ir::PlaceId settings = ir::kNoPlace;
  if (launch->stream_field != nullptr) {
    settings = places_.place(launch->stream);
    if (settings == ir::kNoPlace) return false;
  }
  ir::Op op = start(OpKind::Enqueue, call);
  op.work = ir::Work::Kernel;
  op.name = kernel_name(launch->kernel);
  say_launched(call.site, op.name);
  op.stream = launch->stream_field == nullptr ? values_.stream(launch->stream)
                                              : value(places_.member(settings, *launch->stream_field));
  set_programmatic(op, launch->programmatic, launch->kernel);
  kernel_accesses(op, launch->kernel, launch->arguments);
  out_.emit(std::move(op));
  return true;
}

}  // namespace streamsan::analyzer::host
