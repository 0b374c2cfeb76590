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
// initialiser, the only way in which it is written by hand, is looked through; another is unknown.
#include "analyzer/lowering/host_body.h"
#include "analyzer/lowering/programmatic.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::Place;
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

}  // namespace

void Body::kernel_accesses(ir::Op& op, const clang::FunctionDecl* kernel,
                           llvm::ArrayRef<const clang::Expr*> arguments) {
  const std::vector<ParameterEffect>* effects = kernel == nullptr ? nullptr : &unit_.kernels.of(*kernel);
  // Made of constants and variables alone. Another number may differ where all the variables in it are equal.
  const auto followed = [this](const auto& self, const clang::Expr* expression) -> bool {
    if (constant(expression)) return true;
    const clang::Expr* at = strip(expression);
    if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(at))
      return self(self, binary->getLHS()) && self(self, binary->getRHS());
    if (const auto* choice = llvm::dyn_cast<clang::ConditionalOperator>(at))
      return self(self, choice->getCond()) && self(self, choice->getTrueExpr()) && self(self, choice->getFalseExpr());
    if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(at); unary != nullptr && unary->isArithmeticOp())
      return self(self, unary->getSubExpr());
    return !scalar(at).uses.empty();
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const clang::Expr* given = arguments[i];
    const clang::QualType type = given->getType();
    const TypeKind of = kind(type);
    const ParameterEffect* effect = effects != nullptr && i < effects->size() ? &(*effects)[i] : nullptr;
    if (of == TypeKind::Pointer || type->isArrayType() || kind(strip(given)->getType()) == TypeKind::Pointer) {
      if (effect != nullptr && !touches(*effect)) continue;
      const Operand memory = this->memory(given);
      if (memory.kind == Operand::Kind::Null) continue;
      op.accesses.push_back(access(memory, effect == nullptr ? ir::Mode::Unknown : mode_of(*effect)));
      if (effect != nullptr) note_early(op, op.accesses.back(), *effect);
    } else if (of == TypeKind::Object) {
      if (effect != nullptr && effect->members) pass_struct(op, *effect, *given);
    } else if (!type->isFloatingType()) {
      ir::Expr number = scalar(given);
      if (!followed(followed, given)) number.uses.clear();
      op.arguments.push_back({.kind = Operand::Kind::None, .offset = function_.add(std::move(number))});
    }
  }
}

void Body::pass_struct(ir::Op& op, const ParameterEffect& effect, const clang::Expr& argument) {
  const ir::PlaceId object = place(&argument);
  const clang::CXXRecordDecl* record = Symbols::record(argument.getType());
  if (object == ir::kNoPlace || record == nullptr || effect.by_member.empty()) {
    if (touches(effect)) op.accesses.push_back({.memory = unknown(), .mode = ir::Mode::Unknown});
    return;
  }
  for (const auto& [path, member_effect] : effect.by_member) {
    ir::PlaceId at = object;
    const clang::CXXRecordDecl* in = record;
    llvm::SmallVector<llvm::StringRef, 4> steps;
    llvm::StringRef(path).split(steps, '.');
    for (const llvm::StringRef step : steps) {
      ir::PlaceId next = ir::kNoPlace;
      if (in != nullptr && in->isLambda()) {
        llvm::DenseMap<const clang::ValueDecl*, clang::FieldDecl*> fields;
        clang::FieldDecl* self = nullptr;
        in->getCaptureFields(fields, self);
        for (const auto& [variable, capture] : fields)
          if (variable->getName() == step) {
            next = closure_field(at, *variable, capture->getType()->isReferenceType());
            in = Symbols::record(capture->getType());
            break;
          }
      } else if (in != nullptr) {
        for (const clang::FieldDecl* candidate : in->fields())
          if (candidate->getName() == step) {
            next = member(at, *candidate);
            in = Symbols::record(candidate->getType());
            break;
          }
      }
      at = next;
      if (at == ir::kNoPlace) break;
    }
    const bool pointer = kind(at) == TypeKind::Pointer;
    op.accesses.push_back(
        {.memory = pointer ? value(at) : unknown(), .mode = pointer ? mode_of(member_effect) : ir::Mode::Unknown});
    if (pointer) note_early(op, op.accesses.back(), member_effect);
  }
}

void Body::launch(const clang::CUDAKernelCallExpr& launch) {
  const clang::FunctionDecl* kernel = launch.getDirectCallee();
  Call call;
  call.expression = &launch;
  call.site = site(launch, "kernel '" + kernel_name(kernel) + "'");
  ir::Op op{.kind = OpKind::Enqueue, .site = call.site, .work = ir::Work::Kernel, .name = kernel_name(kernel)};
  unit_.sites.add_stream_slot(function_.sites[static_cast<std::size_t>(call.site)], launch);
  const clang::CallExpr* config = launch.getConfig();
  if (config == nullptr || config->getNumArgs() < 4) {
    op.stream = unknown();
  } else if (llvm::isa<clang::CXXDefaultArgExpr>(config->getArg(3))) {
    op.stream = {.kind = Operand::Kind::DefaultStream};
    op.implicit_stream = true;
  } else {
    op.stream = stream(config->getArg(3));
  }
  llvm::SmallVector<const clang::Expr*, 8> arguments(launch.arg_begin(), launch.arg_end());
  kernel_accesses(op, kernel, arguments);
  emit(std::move(op));
}

const clang::FunctionDecl* Body::kernel_of(const clang::Expr* pointer) const {
  if (pointer == nullptr) return nullptr;
  const clang::Expr* at = strip(pointer);
  if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(at); unary && unary->getOpcode() == clang::UO_AddrOf)
    at = strip(unary->getSubExpr());
  const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(at);
  const auto* kernel = reference == nullptr ? nullptr : llvm::dyn_cast<clang::FunctionDecl>(reference->getDecl());
  return kernel != nullptr && kernel->hasAttr<clang::CUDAGlobalAttr>() ? kernel : nullptr;
}

const clang::InitListExpr* Body::argument_array(const clang::Expr* array) const {
  if (array == nullptr) return nullptr;
  const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(strip(array));
  const auto* variable = reference == nullptr ? nullptr : llvm::dyn_cast<clang::VarDecl>(reference->getDecl());
  if (variable == nullptr || !variable->hasLocalStorage() || !variable->hasInit()) return nullptr;
  const auto* list = llvm::dyn_cast<clang::InitListExpr>(strip(variable->getInit()));
  return list != nullptr && variable->getType()->isArrayType() ? list : nullptr;
}

void Body::apply_launch(const Call& call) {
  const Model& model = *call.model;
  const clang::Expr* pointer = argument(call, model.effect.object);
  const clang::FunctionDecl* kernel = kernel_of(pointer);
  if (kernel == nullptr && pointer != nullptr) kernel = kernel_in_variable(definition_, *pointer);
  ir::Op op = start(OpKind::Enqueue, call);
  op.work = ir::Work::Kernel;
  op.stream = stream_of(call, &op);
  if (kernel != nullptr) {
    op.name = kernel->getNameAsString();
    function_.sites[static_cast<std::size_t>(call.site)].text = "kernel '" + op.name + "'";
  }
  if (const clang::Expr* config = argument(call, model.config_argument))
    set_programmatic(op, programmatic(definition_, *call.expression, *config), kernel);
  llvm::SmallVector<const clang::Expr*, 8> arguments;
  bool known = false;
  if (model.first_kernel_argument >= 0) {
    known = true;
    for (std::size_t i = static_cast<std::size_t>(model.first_kernel_argument); i < call.arguments.size(); ++i)
      arguments.push_back(call.arguments[i]);
  } else if (const clang::InitListExpr* array = argument_array(argument(call, model.effect.params))) {
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
  }
  emit(std::move(op));
}

void Body::set_programmatic(ir::Op& op, ir::Certainty programmatic, const clang::FunctionDecl* kernel) {
  op.programmatic = programmatic;
  if (programmatic == ir::Certainty::No) return;
  const GridBehaviour behaviour = kernel == nullptr ? GridBehaviour() : unit_.kernels.behaviour(*kernel);
  op.waits = behaviour.waits;
  op.triggers_first = behaviour.triggers_first;
}

void Body::note_early(const ir::Op& op, ir::Access& access, const PointerEffect& effect) {
  if (op.programmatic == ir::Certainty::No || effect.before_wait == ir::Certainty::No) return;
  access.before_wait = effect.before_wait;
  access.early = effect.early;
  ir::Site at = unit_.sites.at(clang::SourceLocation::getFromRawEncoding(effect.early_at));
  at.function = op.name;
  if (effect.early_at != 0) access.early_site = function_.add(std::move(at));
}

bool Body::call_launch_helper(const Call& call) {
  const auto* written = llvm::dyn_cast<clang::CallExpr>(call.expression);
  const auto launch = written == nullptr ? std::nullopt : helper_launch(*written);
  if (!launch) return false;
  ir::Op op = start(OpKind::Enqueue, call);
  op.work = ir::Work::Kernel;
  op.name = kernel_name(launch->kernel);
  function_.sites[static_cast<std::size_t>(call.site)].text = "kernel '" + op.name + "'";
  op.stream = stream(launch->stream);
  set_programmatic(op, launch->programmatic, launch->kernel);
  kernel_accesses(op, launch->kernel, launch->arguments);
  emit(std::move(op));
  return true;
}

}  // namespace streamsan::analyzer::host
