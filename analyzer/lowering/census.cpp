// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which functions matter.
//
// Most functions of a CUDA source file have nothing to do with streams: they parse arguments, fill matrices, compare
// results. Building a CFG for each would cost more than everything else, so all bodies outside system headers are
// walked once, without a CFG, for the functions they call. A function is a root if it launches, copies, allocates
// device memory, records, waits, synchronises, or calls a function that does; or if it hands a stream or an event to a
// function whose body is in another translation unit. Lowered are the roots and all that they call: `fill(h, n)`
// between a copy and its synchronisation matters, the same function in another program does not.
//
// Instantiations of templates are functions like others; patterns are none. Lambdas are functions. Of implicit members
// those are known that the translation unit uses. Functions that only run on the device are left to kernel_effects.
//
// On the way it is noted of which variables and fields the address is taken anywhere: only their memory can be part of
// an asynchronous operation, and only their host accesses are worth an op.
#include "analyzer/lowering/census.h"

#include <algorithm>

#include "analyzer/lowering/host_expressions.h"
#include "analyzer/models/host_calls.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "clang/Basic/SourceManager.h"

namespace streamsan::analyzer {

namespace {

using api::EffectKind;

/// Orders something, or makes or uses what can be ordered.
bool matters(const Model& model) {
  switch (model.action) {
    case ActionKind::Nothing:
    case ActionKind::Wrapper:
    case ActionKind::GetCurrent:
    case ActionKind::HostTouch:
    case ActionKind::MayThrowAway:
    case ActionKind::SetDevice:  // it is lowered with what calls it, if that matters
      return false;
    case ActionKind::Container:
      return model.memory && model.memory != ordering::MemoryKind::Pageable;
    case ActionKind::Effect:
      return model.memory != ordering::MemoryKind::Pageable && model.effect.kind != EffectKind::Lookup &&
             model.effect.kind != EffectKind::Later;
    default:
      return true;
  }
}

const clang::ValueDecl* named(const clang::Expr* expression) {
  for (;;) {
    expression = expression->IgnoreParenCasts();
    if (const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(expression)) return reference->getDecl();
    if (const auto* subscript = llvm::dyn_cast<clang::ArraySubscriptExpr>(expression)) {
      expression = subscript->getBase();
    } else if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(expression)) {
      const clang::Expr* base = member->getBase()->IgnoreParenImpCasts();
      if (member->isArrow() || llvm::isa<clang::CXXThisExpr>(base)) return member->getMemberDecl();
      expression = base;
    } else {
      return nullptr;
    }
  }
}

bool asks_attributes(const clang::FunctionDecl& function) {
  return function.getIdentifier() != nullptr && host_call(function.getName()) == HostCall::MemoryKindAsked;
}

bool is_made(const clang::CXXRecordDecl& record) {
  return std::ranges::any_of(record.ctors(), [](const auto* constructor) {
    return constructor->isUsed(false) && !constructor->isCopyOrMoveConstructor();
  });
}

}  // namespace

Census::Census(Symbols& symbols) : symbols_(symbols), callables_(symbols), shared_owners_(find_shared_owners(symbols)) {
  visit_all(*symbols.context().getTranslationUnitDecl());
  choose();
}

const clang::FunctionDecl* Census::canonical(const clang::FunctionDecl& function) {
  return function.getCanonicalDecl();
}

const clang::FunctionDecl* Census::lowered(const clang::FunctionDecl& function) const {
  if (!lowered_.contains(canonical(function))) return nullptr;
  return by_function_.find(canonical(function))->second->definition;
}

bool Census::asks_kind(const clang::FunctionDecl& function) const {
  if (asks_attributes(function)) return true;
  const auto node = by_function_.find(canonical(function));
  return node != by_function_.end() && node->second->asks_kind;
}

void Census::visit_all(const clang::DeclContext& scope) {
  for (const clang::Decl* declaration : scope.decls()) visit(*declaration);
}

void Census::visit(const clang::Decl& declaration) {
  // User files and system headers both open namespaces: so each declaration in one is looked at on its own.
  if (const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(&declaration)) {
    if (!symbols_.in_system_header(*space)) visit_all(*space);
    return;
  }
  if (const auto* linkage = llvm::dyn_cast<clang::LinkageSpecDecl>(&declaration)) return visit_all(*linkage);
  if (declaration.isInvalidDecl() && !llvm::isa<clang::FunctionDecl, clang::CXXRecordDecl>(declaration)) return;
  if (symbols_.in_system_header(declaration)) return;
  if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(&declaration)) return visit(*function);
  if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(&declaration)) {
    // Tables of functions, lambdas that have a name.
    Node nobody;
    callables_.read_initial(*variable, variable->getInit());
    return walk(variable->getInit(), nobody);
  }
  if (const auto* pattern = llvm::dyn_cast<clang::FunctionTemplateDecl>(&declaration)) {
    if (pattern != pattern->getCanonicalDecl()) return;
    for (const clang::FunctionDecl* instance : pattern->specializations()) visit(*instance);
    return;
  }
  if (const auto* pattern = llvm::dyn_cast<clang::ClassTemplateDecl>(&declaration)) {
    if (pattern != pattern->getCanonicalDecl()) return;
    for (const clang::ClassTemplateSpecializationDecl* instance : pattern->specializations())
      if (!instance->isExplicitSpecialization()) visit_members(*instance);
    return;
  }
  if (const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(&declaration))
    if (record->isThisDeclarationADefinition() && !record->isDependentContext()) visit_members(*record);
}

void Census::visit_members(const clang::CXXRecordDecl& record) {
  for (const clang::Decl* member : record.decls()) visit(*member);
}

void Census::visit(const clang::FunctionDecl& function) {
  const clang::FunctionDecl* definition = nullptr;
  if (function.isDependentContext() || !function.hasBody(definition) || definition == nullptr) return;
  if (definition->isDependentContext() || runs_on_device_only(*definition) || definition->isConsteval()) return;
  Node*& known = by_function_[canonical(function)];
  if (known != nullptr) return;
  nodes_.push_back(std::make_unique<Node>());
  Node& node = *nodes_.back();
  known = &node;
  node.definition = definition;
  if (const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(definition)) {
    std::vector<const clang::CXXMethodDecl*> above{method};
    for (std::size_t i = 0; i < above.size(); ++i)
      for (const clang::CXXMethodDecl* overridden : above[i]->overridden_methods()) {
        above.push_back(overridden);
        overrides_[canonical(*overridden)].push_back(definition);
      }
  }
  if (const auto* constructor = llvm::dyn_cast<clang::CXXConstructorDecl>(definition))
    for (const clang::CXXCtorInitializer* initializer : constructor->inits()) {
      if (initializer->isMemberInitializer())
        callables_.read_initial(*initializer->getMember(), initializer->getInit());
      walk(initializer->getInit(), node);
    }
  if (llvm::isa<clang::CXXDestructorDecl>(definition)) {
    const auto* record = llvm::cast<clang::CXXRecordDecl>(definition->getDeclContext());
    for (const clang::FieldDecl* field : record->fields()) {
      walk_type(field->getType(), node);
      if (const clang::FunctionDecl* runs = deleter(*field)) call(*runs, node);
    }
    for (const clang::CXXBaseSpecifier& base : record->bases()) walk_type(base.getType(), node);
  }
  walk(definition->getBody(), node);
}

/// Destructors that run when something of the type ends.
void Census::walk_type(clang::QualType type, Node& node) {
  if (type.isNull() || type->isReferenceType()) return;
  const clang::QualType element(type->getBaseElementTypeUnsafe(), 0);
  const clang::CXXRecordDecl* record = Symbols::record(element);
  if (record == nullptr || !record->hasDefinition()) return;
  if (const clang::CXXDestructorDecl* destructor = record->getDestructor()) call(*destructor, node);
  const auto* instance = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(record);
  if (host::std_array(element) != nullptr && instance->getTemplateArgs()[0].getKind() == clang::TemplateArgument::Type)
    return walk_type(instance->getTemplateArgs()[0].getAsType(), node);
  if (instance == nullptr || !symbols_.points(element)) return;
  // Owners: what they point to, and what their deleter does.
  for (const clang::TemplateArgument& argument : instance->getTemplateArgs().asArray().take_front(2)) {
    if (argument.getKind() != clang::TemplateArgument::Type) continue;
    walk_type(argument.getAsType(), node);
    if (const clang::CXXRecordDecl* deleter = Symbols::record(argument.getAsType()))
      for (const clang::CXXMethodDecl* method : deleter->methods())
        if (method->getOverloadedOperator() == clang::OO_Call) call(*method, node);
  }
}

/// make_unique<T>(...), v.emplace_back(...): the library calls a constructor.
void Census::construct_by_library(const clang::FunctionDecl& callee, const Symbols::Known& known, Node& node) {
  const llvm::StringRef name = known.callee.name;
  const clang::CXXRecordDecl* of = nullptr;
  if (name == "make_unique" || name == "make_shared") {
    of = Symbols::record(callee.getReturnType());
  } else if (const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&callee);
             method != nullptr && name.starts_with("emplace") && known.callee.in_system_header) {
    of = method->getParent();
  }
  const auto* owner = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(of);
  if (owner == nullptr || owner->getTemplateArgs().size() == 0 ||
      owner->getTemplateArgs()[0].getKind() != clang::TemplateArgument::Type)
    return;
  const clang::CXXRecordDecl* made = Symbols::record(owner->getTemplateArgs()[0].getAsType());
  if (made == nullptr || !made->hasDefinition() || symbols_.in_system_header(*made)) return;
  for (const clang::CXXConstructorDecl* constructor : made->ctors())
    if (!constructor->isCopyOrMoveConstructor()) call(*constructor, node);
}

void Census::call(const clang::FunctionDecl& callee, Node& node) {
  const Symbols::Known& known = symbols_.known(callee);
  construct_by_library(callee, known, node);
  node.asks_kind = node.asks_kind || asks_attributes(callee);
  if (known.model != nullptr) {
    node.direct = node.direct || matters(*known.model);
    return;
  }
  if (known.callee.name == "make_unique" || known.callee.name == "make_shared") walk_type(callee.getReturnType(), node);
  if (known.callee.in_system_header) return;
  node.callees.push_back(canonical(callee));
  if (callee.hasBody() || callee.isPureVirtual()) return;
  for (const clang::ParmVarDecl* parameter : callee.parameters()) {
    const ir::TypeKind kind = symbols_.kind(parameter->getType());
    if (kind == ir::TypeKind::Stream || kind == ir::TypeKind::Event) node.direct = true;
  }
}

void Census::walk(const clang::Stmt* statement, Node& node) {
  if (statement == nullptr) return;
  callables_.read(*statement);
  if (const auto* lambda = llvm::dyn_cast<clang::LambdaExpr>(statement)) {
    for (const clang::Expr* initializer : lambda->capture_inits()) walk(initializer, node);
    for (const clang::LambdaCapture& capture : lambda->captures())
      if (capture.capturesVariable() && capture.getCaptureKind() == clang::LCK_ByRef)
        addressed_.insert(capture.getCapturedVar());
    if (const clang::FunctionTemplateDecl* pattern = lambda->getLambdaClass()->getDependentLambdaCallOperator()) {
      for (const clang::FunctionDecl* instance : pattern->specializations()) visit(*instance);
    } else if (const clang::CXXMethodDecl* body = lambda->getCallOperator()) {
      visit(*body);
      // Who is given the lambda will probably call it.
      if (by_function_.contains(canonical(*body))) node.callees.push_back(canonical(*body));
    }
    return;
  }
  const auto bind_references = [this](const clang::FunctionDecl& callee, llvm::ArrayRef<const clang::Expr*> arguments) {
    for (unsigned i = 0; i < arguments.size(); ++i) callables_.read_parameter(callee, i, *arguments[i]);
    if (symbols_.known(callee).model == nullptr) return;
    for (unsigned i = 0; i < callee.getNumParams() && i < arguments.size(); ++i)
      if (callee.getParamDecl(i)->getType()->isReferenceType())
        if (const clang::ValueDecl* variable = named(arguments[i])) addressed_.insert(variable);
  };
  if (llvm::isa<clang::CUDAKernelCallExpr>(statement)) {
    node.direct = true;
  } else if (const auto* call_expression = llvm::dyn_cast<clang::CallExpr>(statement)) {
    if (const clang::FunctionDecl* callee = call_expression->getDirectCallee()) {
      call(*callee, node);
      const bool shifted = llvm::isa<clang::CXXOperatorCallExpr>(call_expression);
      if (!shifted) bind_references(*callee, {call_expression->getArgs(), call_expression->getNumArgs()});
    }
    const auto* called = llvm::dyn_cast<clang::CXXOperatorCallExpr>(call_expression);
    const clang::Expr* through =
        called != nullptr && called->getOperator() == clang::OO_Call
            ? called->getArg(0)
            : (call_expression->getDirectCallee() == nullptr ? call_expression->getCallee() : nullptr);
    if (const clang::ValueDecl* slot = through == nullptr ? nullptr : callables_.slot(through))
      node.called_through.push_back(slot);
  } else if (const auto* construction = llvm::dyn_cast<clang::CXXConstructExpr>(statement)) {
    call(*construction->getConstructor(), node);
    if (host::std_array(construction->getType()) != nullptr)
      if (const auto* each = host::construction_of_elements(*construction->getConstructor())) walk(each, node);
    bind_references(*construction->getConstructor(), {construction->getArgs(), construction->getNumArgs()});
    walk_type(construction->getType(), node);
  } else if (const auto* deletion = llvm::dyn_cast<clang::CXXDeleteExpr>(statement)) {
    walk_type(deletion->getDestroyedType(), node);
  } else if (const auto* initializer = llvm::dyn_cast<clang::CXXDefaultInitExpr>(statement)) {
    callables_.read_initial(*initializer->getField(), initializer->getExpr());
    walk(initializer->getExpr(), node);
  } else if (const auto* argument = llvm::dyn_cast<clang::CXXDefaultArgExpr>(statement)) {
    walk(argument->getExpr(), node);
  } else if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(statement)) {
    if (unary->getOpcode() == clang::UO_AddrOf)
      if (const clang::ValueDecl* variable = named(unary->getSubExpr())) addressed_.insert(variable);
  } else if (const auto* cast = llvm::dyn_cast<clang::ImplicitCastExpr>(statement)) {
    if (cast->getCastKind() == clang::CK_ArrayToPointerDecay)
      if (const clang::ValueDecl* variable = named(cast->getSubExpr())) addressed_.insert(variable);
  } else if (const auto* declarations = llvm::dyn_cast<clang::DeclStmt>(statement)) {
    for (const clang::Decl* declared : declarations->decls()) {
      if (const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(declared))
        visit(static_cast<const clang::Decl&>(*record));
      const auto* variable = llvm::dyn_cast<clang::VarDecl>(declared);
      if (variable == nullptr) continue;
      walk_type(variable->getType(), node);
      if (const clang::FunctionDecl* runs = deleter(*variable)) call(*runs, node);
      if (variable->getType()->isReferenceType() && variable->hasInit())
        if (const clang::ValueDecl* referent = named(variable->getInit())) addressed_.insert(referent);
    }
  }
  if (const auto* captured = llvm::dyn_cast<clang::CapturedStmt>(statement)) walk(captured->getCapturedStmt(), node);
  for (const clang::Stmt* child : statement->children()) walk(child, node);
}

std::vector<Census::Node*> Census::run_by(const clang::FunctionDecl* callee) const {
  std::vector<Node*> result;
  const auto add = [&](const clang::FunctionDecl* function) {
    if (const auto found = by_function_.find(canonical(*function)); found != by_function_.end())
      result.push_back(found->second);
  };
  add(callee);
  if (const auto overriding = overrides_.find(callee); overriding != overrides_.end())
    for (const clang::FunctionDecl* function : overriding->second) add(function);
  return result;
}

/// The one class that does something with streams, events or device memory, of those that override methods of `base`
/// and `base` itself; nullptr: there is none, more than one, or no object of it is made here. Whoever is given a `base`
/// may be given one of these, and then all calls run its methods.
const clang::CXXRecordDecl* Census::working_class(const clang::CXXRecordDecl& base) const {
  const clang::CXXRecordDecl* works = nullptr;
  for (const clang::CXXMethodDecl* method : base.methods()) {
    if (!method->isVirtual() || llvm::isa<clang::CXXDestructorDecl>(method)) continue;
    for (const Node* node : run_by(canonical(*method))) {
      if (!roots_.contains(canonical(*node->definition))) continue;
      const auto* record = llvm::cast<clang::CXXRecordDecl>(node->definition->getDeclContext());
      if (works != nullptr && works != record) return nullptr;
      works = record;
    }
  }
  return works != nullptr && is_made(*works) ? works : nullptr;
}

bool Census::may_run_another(const clang::FunctionDecl& method, const clang::FunctionDecl& chosen) const {
  return std::ranges::any_of(run_by(canonical(method)), [&](const Node* node) {
    const auto* record = llvm::cast<clang::CXXRecordDecl>(node->definition->getDeclContext());
    return record != chosen.getDeclContext() && !record->isAbstract() && is_made(*record);
  });
}

const clang::FunctionDecl* Census::only_override(const clang::FunctionDecl& method) const {
  const auto* declared = llvm::dyn_cast<clang::CXXMethodDecl>(&method);
  if (declared == nullptr || llvm::isa<clang::CXXDestructorDecl>(method)) return nullptr;
  // Other files may override what they can see.
  const clang::CXXRecordDecl* record = declared->getParent();
  const bool final = declared->hasAttr<clang::FinalAttr>() || record->isEffectivelyFinal();
  const clang::SourceManager& sources = symbols_.context().getSourceManager();
  const bool unseen = record->isLocalClass() != nullptr || record->isInAnonymousNamespace() ||
                      sources.isInMainFile(sources.getExpansionLoc(record->getLocation()));
  if (!final && !unseen) return nullptr;
  std::vector<Node*> all = run_by(canonical(method));
  if (all.size() > 1) {
    const clang::CXXRecordDecl* works = working_class(*record);
    std::erase_if(all, [&](const Node* node) { return node->definition->getDeclContext() != works; });
  }
  if (all.size() != 1) return nullptr;
  const clang::FunctionDecl* only = all.front()->definition;
  if (!final && canonical(*only) == canonical(method)) return nullptr;
  return lowered(*only);
}

void Census::choose() {
  llvm::DenseMap<const Node*, std::vector<Node*>> callers;
  std::vector<Node*> work;
  for (const auto& node : nodes_) {
    for (const clang::ValueDecl* slot : node->called_through)
      for (const clang::FunctionDecl* target : callables_.seen_in(*slot)) call(*target, *node);
    for (const clang::FunctionDecl* callee : node->callees)
      for (Node* run : run_by(callee)) callers[run].push_back(node.get());
    if (node->direct) work.push_back(node.get());
  }
  while (!work.empty()) {
    Node* node = work.back();
    work.pop_back();
    if (!roots_.insert(canonical(*node->definition)).second) continue;
    for (Node* caller : callers[node]) work.push_back(caller);
  }
  for (const auto& node : nodes_)
    if (roots_.contains(canonical(*node->definition))) work.push_back(node.get());
  while (!work.empty()) {
    Node* node = work.back();
    work.pop_back();
    if (!lowered_.insert(canonical(*node->definition)).second) continue;
    chosen_.push_back(node->definition);
    for (const clang::FunctionDecl* callee : node->callees)
      for (Node* run : run_by(callee)) work.push_back(run);
  }
  const clang::SourceManager& sources = symbols_.context().getSourceManager();
  llvm::DenseMap<const clang::FunctionDecl*, std::size_t> order;
  for (std::size_t i = 0; i < nodes_.size(); ++i) order[nodes_[i]->definition] = i;
  std::sort(chosen_.begin(), chosen_.end(), [&](const clang::FunctionDecl* a, const clang::FunctionDecl* b) {
    const auto place = [&](const clang::FunctionDecl* f) {
      return sources.getExpansionLoc(f->getLocation()).getRawEncoding();
    };
    return std::pair(place(a), order[a]) < std::pair(place(b), order[b]);
  });
}

}  // namespace streamsan::analyzer
