// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and kinds.
//
// The models are asked by qualified names as a person writes them: libraries put versions and ABI tags into inline
// namespaces (std::__cxx11, thrust::THRUST_300000_SM_NS), which say nothing about what a function does, and template
// arguments are decided by the caller. A function in an anonymous namespace is called by its name alone.
//
// A type's kind is looked for in all its spellings, from the outside in: CUdeviceptr and cufftHandle are integers to
// the language, and only the typedef tells. Where a template or arithmetic has lost the typedef, a CUdeviceptr is an
// Integer and its memory is not followed.
#include "analyzer/lowering/symbols.h"

#include <memory>

#include "analyzer/ir/unnamed.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Index/USRGeneration.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace streamsan::analyzer {

namespace {

using ir::TypeKind;

std::string own_name(const clang::NamedDecl& declaration) {
  if (llvm::isa<clang::CXXConstructorDecl>(declaration))
    return llvm::cast<clang::NamedDecl>(declaration.getDeclContext())->getName().str();
  if (llvm::isa<clang::CXXDestructorDecl>(declaration))
    return "~" + llvm::cast<clang::NamedDecl>(declaration.getDeclContext())->getName().str();
  return declaration.getNameAsString();
}

/// `std::ranges::sort(v)` calls an object of the class std::ranges::__sort_fn. Empty: it is another function.
std::string range_algorithm(const clang::FunctionDecl& function) {
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&function);
  if (method == nullptr || method->getOverloadedOperator() != clang::OO_Call || !method->getParent()->getIdentifier())
    return {};
  llvm::StringRef name = method->getParent()->getName();
  const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(method->getParent()->getDeclContext());
  if (space == nullptr || !space->getIdentifier() || space->getName() != "ranges" || !space->isInStdNamespace() ||
      !name.consume_front("__") || !name.consume_back("_fn"))
    return {};
  return name.str();
}

}  // namespace

Symbols::Symbols(clang::ASTContext& context, const Models& models) : context_(context), models_(models) {}

std::string Symbols::qualified(const clang::NamedDecl& declaration) {
  std::string name = own_name(declaration);
  for (const clang::DeclContext* scope = declaration.getDeclContext(); scope != nullptr; scope = scope->getParent()) {
    const auto* outer = llvm::dyn_cast<clang::NamedDecl>(scope);
    if (outer == nullptr) continue;
    if (const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(outer))
      if (space->isInline() || space->isAnonymousNamespace()) continue;
    name.insert(0, own_name(*outer) + "::");
  }
  return name;
}

std::string Symbols::shown(const clang::FunctionDecl& function) const {
  if (const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&function); method && method->getParent()->isLambda())
    return ir::kLambda;
  std::string name;
  llvm::raw_string_ostream out(name);
  function.getNameForDiagnostic(out, context_.getPrintingPolicy(), /*Qualified=*/true);
  return name;
}

std::string Symbols::usr(const clang::Decl& declaration) {
  llvm::SmallString<128> buffer;
  if (clang::index::generateUSRForDecl(&declaration, buffer)) return {};
  return buffer.str().str();
}

namespace {

/// Is it given a tensor, or several, or does it return them?
bool has_tensors(const clang::FunctionDecl& function) {
  const auto is_tensor = [](clang::QualType type) {
    return llvm::StringRef(type.getCanonicalType().getAsString()).contains("Tensor");
  };
  return is_tensor(function.getReturnType()) ||
         llvm::any_of(function.parameters(),
                      [&](const clang::ParmVarDecl* each) { return is_tensor(each->getType()); });
}

}  // namespace

const Symbols::Known& Symbols::known(const clang::FunctionDecl& function) {
  const auto [entry, fresh] = known_.try_emplace(function.getCanonicalDecl());
  if (!fresh) return *entry->second;
  auto known = std::make_unique<Known>();
  known->callee.qualified = qualified(function);
  known->callee.name = own_name(function);
  if (const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&function))
    known->callee.class_name = qualified(*method->getParent());
  if (const std::string algorithm = range_algorithm(function); !algorithm.empty())
    known->callee.qualified = "std::ranges::" + algorithm;
  known->callee.in_system_header = in_system_header(function);
  known->callee.arguments = function.getNumParams();
  known->callee.own = !known->callee.in_system_header && function.getIdentifier() != nullptr &&
                      function.getBuiltinID() == 0 && (function.hasBody() || !function.isExternC());
  known->model = models_.find(known->callee);
  // NCCL's own sources and users have functions of such names that prepare work on the host, or do more than their name
  // says. What those do whose body is in sight is read there.
  if (known->model != nullptr && known->model->action == ActionKind::Communication &&
      known->model->stream_from == StreamFrom::Typed &&
      (function.isDefined() || llvm::none_of(function.parameters(), [this](const clang::ParmVarDecl* parameter) {
         return kind(parameter->getType()) == ir::TypeKind::Stream;
       })))
    known->model = nullptr;
  // Not every function of the namespaces of ATen is an operation.
  if (known->model != nullptr && known->model->action == ActionKind::TensorWork && known->callee.class_name.empty() &&
      !has_tensors(function))
    known->model = nullptr;
  known->harmless = known->model == nullptr && models_.harmless(known->callee);
  return *known_.insert_or_assign(function.getCanonicalDecl(), std::move(known)).first->second;
}

bool Symbols::in_system_header(const clang::Decl& declaration) const {
  const clang::SourceManager& sources = context_.getSourceManager();
  return sources.isInSystemHeader(sources.getExpansionLoc(declaration.getLocation()));
}

const clang::CXXRecordDecl* Symbols::record(clang::QualType type) {
  if (type.isNull()) return nullptr;
  const clang::CXXRecordDecl* record = type.getNonReferenceType()->getAsCXXRecordDecl();
  return record != nullptr && record->getDefinition() != nullptr ? record->getDefinition() : record;
}

const std::string& Symbols::class_name(clang::QualType type) {
  static const std::string none;
  const clang::CXXRecordDecl* record = this->record(type);
  if (record == nullptr) return none;
  const auto [entry, fresh] = class_names_.try_emplace(record);
  if (fresh) entry->second = qualified(*record);
  return entry->second;
}

std::optional<Models::Owner> Symbols::owner(clang::QualType type) { return models_.owner(class_name(type)); }
bool Symbols::is_tensor(clang::QualType type) {
  const auto owner = this->owner(type);
  return owner && owner->tensor;
}
std::optional<ordering::MemoryKind> Symbols::block_memory(clang::QualType type) {
  const auto owner = this->owner(type);
  if (!owner || owner->memory != ordering::MemoryKind::Pageable)
    return owner ? std::optional(owner->memory) : std::nullopt;
  const auto* instance = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(record(type));
  if (instance == nullptr) return owner->memory;
  for (const clang::TemplateArgument& argument : instance->getTemplateArgs().asArray().drop_front()) {
    if (argument.getKind() != clang::TemplateArgument::Type) continue;
    const std::string& name = class_name(argument.getAsType());
    const std::size_t colons = name.rfind("::");
    const llvm::StringRef last = llvm::StringRef(name).drop_front(colons == std::string::npos ? 0 : colons + 2);
    if (last.contains_insensitive("pinned") || last.contains_insensitive("page_locked") ||
        last.contains_insensitive("pagelocked"))
      return ordering::MemoryKind::Pinned;
    const bool allocates = last.contains_insensitive("alloc") || last.contains_insensitive("delete") || points(type);
    if (allocates && name != "std::allocator" && name != "std::default_delete") return std::nullopt;
  }
  return owner->memory;
}
Policy Symbols::policy(clang::QualType type) {
  const clang::CXXRecordDecl* record = this->record(type);
  if (record == nullptr) return Policy::None;
  if (const Policy own = models_.policy(class_name(type)); own != Policy::None || !record->hasDefinition()) return own;
  // thrust::cuda::par.on(s) is of a class derived from the policy's.
  for (const clang::CXXBaseSpecifier& base : record->bases())
    if (const Policy inherited = policy(base.getType()); inherited != Policy::None) return inherited;
  return Policy::None;
}
bool Symbols::points(clang::QualType type) {
  const std::string& name = class_name(type);
  return name == "std::unique_ptr" || name == "std::shared_ptr" || name == "std::__shared_ptr" ||
         name == "std::__shared_ptr_access" || name == "thrust::device_ptr" || name == "thrust::pointer";
}
bool Symbols::has_block(clang::QualType type) {
  const std::string& name = class_name(type);
  if (name.empty() || name == "std::array" || points(type)) return false;
  if (views(type)) return true;
  const auto owner = models_.owner(name);
  return owner && !owner->tensor;
}
bool Symbols::queues(clang::QualType type) {
  const std::string& name = class_name(type);
  return name == "std::deque" || name == "std::list" || name == "std::queue";
}
bool Symbols::adapts(clang::QualType type) {
  const std::string& name = class_name(type);
  return name == "std::queue" || name == "std::stack";
}
bool Symbols::is_tuple(clang::QualType type) {
  const std::string& name = class_name(type);
  return name == "std::pair" || name == "std::tuple";
}
bool Symbols::is_map(clang::QualType type) {
  const std::string& name = class_name(type);
  return name == "std::map" || name == "std::unordered_map";
}
bool Symbols::iterates(clang::QualType type) {
  const clang::CXXRecordDecl* record = this->record(type);
  return record != nullptr && class_name(type).find("iterator") != std::string::npos && in_system_header(*record);
}
bool Symbols::views(clang::QualType type) {
  const std::string& name = class_name(type);
  return name == "std::span" || name == "std::basic_string_view" || name == "std::initializer_list";
}

ir::TypeKind Symbols::kind(clang::QualType type) {
  if (type.isNull()) return TypeKind::Other;
  type = type.getNonReferenceType().getUnqualifiedType();
  const auto [entry, fresh] = kinds_.try_emplace(type.getAsOpaquePtr(), TypeKind::Other);
  if (!fresh) return entry->second;
  const TypeKind kind = compute_kind(type);
  kinds_[type.getAsOpaquePtr()] = kind;
  return kind;
}

ir::TypeKind Symbols::compute_kind(clang::QualType type) {
  for (clang::QualType at = type;;) {
    if (const auto* alias = llvm::dyn_cast<clang::TypedefType>(at.getTypePtr()))
      if (const TypeKind kind = models_.type(qualified(*alias->getDecl())); kind != TypeKind::Other) return kind;
    const clang::QualType next = at.getSingleStepDesugaredType(context_).getUnqualifiedType();
    if (next == at) break;
    at = next;
  }
  const clang::QualType canonical = type.getCanonicalType();
  if (const auto* pointer = canonical->getAs<clang::PointerType>()) {
    const clang::QualType pointee = pointer->getPointeeType();
    if (pointee->isFunctionType()) return TypeKind::Other;
    if (const auto* tag = pointee->getAsRecordDecl())
      if (const TypeKind kind = models_.type(qualified(*tag) + " *"); kind != TypeKind::Other) return kind;
    return TypeKind::Pointer;
  }
  if (canonical->isNullPtrType()) return TypeKind::Pointer;
  if (canonical->isArrayType()) return TypeKind::Object;
  if (canonical->isRecordType()) {
    const TypeKind known = models_.type(class_name(canonical));
    if (known != TypeKind::Other) return known;
    return policy(canonical) != Policy::None ? TypeKind::Stream : TypeKind::Object;
  }
  if (canonical->isIntegralOrEnumerationType()) return TypeKind::Integer;
  return TypeKind::Other;
}

}  // namespace streamsan::analyzer
