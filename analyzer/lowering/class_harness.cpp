// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The life of an object, for classes that keep streams of their own.
//
// A function of the program shows what one method does; what the next one does to its work shows where both are called,
// and often nobody calls them in the translation unit that has their bodies. So the class itself says in what order its
// methods may run: after a constructor, before the destructor, in any order. Here are the parts: constructors, public
// methods, the destruction of members, which for a class without a written destructor stands nowhere.
//
// Of interest are classes with a stream that is created by code in sight (fields.h), in a member or deeper inside. What
// other code can learn of such a stream it can wait for: it is exposed if it is not private, if a public method returns
// it or something that contains it, if there are friends. A public method whose name speaks of waiting, whose body
// is in another file, that returns an event or hands one out in another way (handed_out.h), lets others wait for all of
// them.
#include "analyzer/lowering/class_harness.h"

#include <algorithm>
#include <array>

#include "analyzer/lowering/fields.h"
#include "analyzer/lowering/handed_out.h"
#include "analyzer/lowering/host_lowering.h"
#include "analyzer/lowering/host_unit.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/Stmt.h"

namespace streamsan::analyzer {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using ir::ClassHarness;
using ir::Operand;
using ir::Place;

constexpr std::uint64_t kMostElements = 16;

/// A public method that is called so is there to be called between two others.
bool speaks_of_waiting(llvm::StringRef name) {
  static constexpr std::array kWords = {"wait", "sync",  "flush", "drain", "finish", "join",  "complete", "fence",
                                        "done", "query", "ready", "poll",  "await",  "close", "reset",    "init"};
  const std::string lower = name.lower();
  return std::ranges::any_of(kWords, [&](const char* word) { return lower.find(word) != std::string::npos; });
}

class Builder {
 public:
  Builder(host::Unit& unit, ir::Program& program) : unit_(unit), program_(program), fields_(program.fields) {}

  std::vector<ClassHarness> build() {
    std::vector<ClassHarness> result;
    llvm::DenseSet<const clang::CXXRecordDecl*> seen;
    for (const clang::FunctionDecl* function : unit_.census.chosen()) {
      const auto* method = dyn_cast<clang::CXXMethodDecl>(function);
      if (method == nullptr || method->isStatic()) continue;
      const clang::CXXRecordDecl* record = method->getParent()->getDefinition();
      if (record == nullptr || !seen.insert(record).second) continue;
      if (record->isLambda() || record->isUnion() || record->isAbstract() || record->isDependentContext()) continue;
      if (auto harness = of(*record)) result.push_back(std::move(*harness));
    }
    return result;
  }

 private:
  std::optional<ClassHarness> of(const clang::CXXRecordDecl& record) {
    ClassHarness harness;
    collect_streams(record, harness, /*visible=*/false, 0);
    const bool owns = std::ranges::any_of(harness.streams, [&](const std::string& key) {
      const auto field = fields_.find(key);
      return field != fields_.end() && field->second.owned && !field->second.copied;
    });
    if (!owns) return std::nullopt;
    harness.name = record.getNameAsString();
    harness.site = site(record.getLocation(), harness.name);
    for (const clang::CXXConstructorDecl* constructor : record.ctors())
      if (!constructor->isCopyOrMoveConstructor() && !constructor->isDeleted())
        if (const clang::FunctionDecl* body = unit_.census.lowered(*constructor))
          harness.constructors.push_back(member(*body));
    if (harness.constructors.empty()) return std::nullopt;
    if (record.hasFriends()) harness.exposed = harness.streams;
    collect_methods(record, harness);

    frame_ = &harness.frame;
    harness.frame.usr = "harness of " + unit_.usr(*harness_key(record));
    harness.frame.name = harness.name;
    harness.frame.per_thread_default_stream = unit_.options.per_thread_default_stream;
    harness.frame.site = harness.frame.add(harness.site);
    harness.object =
        harness.frame.add(Place{.kind = Place::Kind::Local, .type = ir::TypeKind::Object, .name = "object"});
    const clang::CXXDestructorDecl* destructor = record.getDestructor();
    clang::SourceLocation where =
        destructor != nullptr && !destructor->isImplicit() ? destructor->getLocation() : record.getLocation();
    end(harness.object, record, harness, harness.frame.add(site(where, "an object of '" + harness.name + "' ends")));
    frame_ = nullptr;
    return harness;
  }

  static const clang::FunctionDecl* harness_key(const clang::CXXRecordDecl& record) {
    return record.ctors().begin() != record.ctors().end() ? *record.ctors().begin() : nullptr;
  }

  ir::Site site(clang::SourceLocation location, const std::string& text) const {
    ir::Site site = unit_.sites.at(location);
    site.text = text;
    return site;
  }

  ClassHarness::Member member(const clang::FunctionDecl& definition) {
    ClassHarness::Member member;
    member.usr = unit_.usr(definition);
    member.name = unit_.symbols.shown(definition);
    member.site = site(definition.getLocation(), {});
    member.site.function = member.name;
    for (const clang::ParmVarDecl* parameter : definition.parameters())
      member.parameters.push_back({.kind = Place::Kind::Parameter,
                                   .type = unit_.symbols.kind(parameter->getType()),
                                   .name = parameter->getNameAsString(),
                                   .reference = parameter->getType()->isReferenceType()});
    return member;
  }

  /// Streams in an object of this class. `visible`: others can reach them.
  void collect_streams(const clang::CXXRecordDecl& record, ClassHarness& harness, bool visible, int depth) {
    if (depth > 4) return;
    for (const clang::FieldDecl* field : record.fields()) {
      if (field->getType()->isReferenceType()) continue;
      const bool open = visible || field->getAccess() == clang::AS_public ||
                        (field->getAccess() == clang::AS_protected && !record.isEffectivelyFinal());
      if (handle_kind(field->getType(), unit_.symbols.models()) == ir::TypeKind::Stream) {
        // What a member has inside, its own class shows to this one, and only this one shows it to others.
        const std::string key = field_key(*field);
        harness.streams.insert(key);
        if (open && (depth == 0 || visible)) harness.exposed.insert(key);
        continue;
      }
      const auto* inner = field->getType()->getBaseElementTypeUnsafe()->getAsCXXRecordDecl();
      if (inner == nullptr || !inner->hasDefinition() || unit_.symbols.in_system_header(*inner)) continue;
      collect_streams(*inner->getDefinition(), harness, depth == 0 ? open : visible, depth + 1);
    }
    for (const clang::CXXBaseSpecifier& base : record.bases())
      if (const auto* inner = base.getType()->getAsCXXRecordDecl(); inner != nullptr && inner->hasDefinition())
        if (!unit_.symbols.in_system_header(*inner)) collect_streams(*inner->getDefinition(), harness, visible, depth);
  }

  /// Or it leads to one.
  bool contains(ir::TypeKind handle, clang::QualType type, int depth = 0) {
    while (!type.isNull() && (type->isPointerType() || type->isReferenceType())) {
      if (unit_.symbols.kind(type) == handle) return true;
      type = type->getPointeeType();
    }
    if (unit_.symbols.kind(type) == handle) return true;
    const clang::CXXRecordDecl* record = Symbols::record(type);
    if (depth > 3 || record == nullptr || !record->hasDefinition()) return false;
    if (handle_kind(type, unit_.symbols.models()) == handle) return true;
    if (unit_.symbols.in_system_header(*record)) {
      const auto* instance = dyn_cast<clang::ClassTemplateSpecializationDecl>(record);
      if (instance == nullptr) return false;
      for (const clang::TemplateArgument& argument : instance->getTemplateArgs().asArray())
        if (argument.getKind() == clang::TemplateArgument::Type && contains(handle, argument.getAsType(), depth + 1))
          return true;
      return false;
    }
    return std::ranges::any_of(
        record->fields(), [&](const clang::FieldDecl* field) { return contains(handle, field->getType(), depth + 1); });
  }

  /// `return field;`: that field; else nullptr.
  static const clang::FieldDecl* returned_field(const clang::FunctionDecl& function) {
    const clang::Stmt* body = function.getBody();
    const auto* block = dyn_cast_or_null<clang::CompoundStmt>(body);
    if (block == nullptr || block->size() != 1) return nullptr;
    const auto* back = dyn_cast<clang::ReturnStmt>(block->body_front());
    if (back == nullptr || back->getRetValue() == nullptr) return nullptr;
    const auto* read = dyn_cast<clang::MemberExpr>(back->getRetValue()->IgnoreParenCasts());
    return read == nullptr ? nullptr : dyn_cast<clang::FieldDecl>(read->getMemberDecl());
  }

  void expose(const clang::FunctionDecl& method, ClassHarness& harness) {
    for (const clang::ParmVarDecl* parameter : method.parameters()) {
      // `void stream(cudaStream_t* out)`
      const clang::QualType type = parameter->getType();
      const bool out = type->isPointerType() || type->isReferenceType();
      if (out && !type->getPointeeType().isConstQualified() &&
          handle_kind(type->getPointeeType(), unit_.symbols.models()) == ir::TypeKind::Stream)
        harness.exposed = harness.streams;
    }
    if (!contains(ir::TypeKind::Stream, method.getReturnType())) return;
    if (const clang::FieldDecl* field = returned_field(method))
      if (const std::string key = field_key(*field); harness.streams.contains(key)) {
        harness.exposed.insert(key);
        return;
      }
    harness.exposed = harness.streams;
  }

  void collect_methods(const clang::CXXRecordDecl& record, ClassHarness& harness, int depth = 0) {
    for (const clang::Decl* declared : record.decls()) {
      if (const auto* pattern = dyn_cast<clang::FunctionTemplateDecl>(declared)) {
        if (pattern->getAccess() != clang::AS_public) continue;
        harness.offers_wait = harness.offers_wait || speaks_of_waiting(pattern->getNameAsString());
        for (const clang::FunctionDecl* instance : pattern->specializations()) add_method(*instance, harness);
        continue;
      }
      const auto* method = dyn_cast<clang::CXXMethodDecl>(declared);
      if (method == nullptr || llvm::isa<clang::CXXConstructorDecl, clang::CXXDestructorDecl>(method)) continue;
      if (method->isImplicit() || method->isDeleted() || method->isDefaulted()) continue;
      if (method->getAccess() == clang::AS_public) add_method(*method, harness);
    }
    for (const clang::CXXBaseSpecifier& base : record.bases()) {
      const auto* inner = base.getType()->getAsCXXRecordDecl();
      if (inner != nullptr && inner->hasDefinition() && depth < 4)
        collect_methods(*inner->getDefinition(), harness, depth + 1);
    }
  }

  void add_method(const clang::FunctionDecl& function, ClassHarness& harness) {
    expose(function, harness);
    const auto* method = dyn_cast<clang::CXXMethodDecl>(&function);
    harness.offers_wait = harness.offers_wait || speaks_of_waiting(function.getNameAsString()) ||
                          (!function.hasBody() && !function.isPureVirtual());
    if (method == nullptr || method->isStatic()) return;
    const clang::FunctionDecl* body = unit_.census.lowered(function);
    // Code that has nothing to do with streams, and reads what they write.
    if (body == nullptr && function.hasBody(body)) {
      if (body->isDependentContext() || unit_.symbols.in_system_header(*body)) return;
      ir::Function lowered = host::lower(unit_, *body);
      if (!lowered.incomplete.empty()) return;
      std::string usr = lowered.usr;
      program_.functions.try_emplace(std::move(usr), std::move(lowered));
    }
    if (body == nullptr) return;
    harness.methods.push_back(member(*body));
    harness.offers_wait = harness.offers_wait || gives_event(*body);
  }

  /// `cudaEvent_t submit()`, `std::future<int> submit()`, `void submit(cudaEvent_t* done)`: the caller can wait for it.
  bool gives_event(const clang::FunctionDecl& method) {
    const clang::QualType result = method.getReturnType();
    if (contains(ir::TypeKind::Event, result)) return true;
    const clang::CXXRecordDecl* record = Symbols::record(result);
    if (record != nullptr && record->isInStdNamespace() && record->getName().ends_with("future")) return true;
    for (const clang::ParmVarDecl* parameter : method.parameters()) {
      const clang::QualType type = parameter->getType();
      const bool out = type->isPointerType() || type->isLValueReferenceType();
      if (out && unit_.symbols.kind(type) != ir::TypeKind::Event && !type->getPointeeType().isConstQualified() &&
          contains(ir::TypeKind::Event, type))
        return true;
    }
    const auto lowered = program_.functions.find(unit_.usr(method));
    return lowered != program_.functions.end() && handed_out_.by(lowered->second);
  }

  /// The destructor, or what takes its place: members and bases, the last one first.
  void end(ir::PlaceId object, const clang::CXXRecordDecl& record, ClassHarness& harness, ir::SiteId at) {
    const clang::CXXDestructorDecl* destructor = record.getDestructor();
    if (destructor != nullptr && unit_.census.lowered(*destructor) != nullptr) {
      harness.end.push_back({.kind = ir::OpKind::Call,
                             .site = at,
                             .name = unit_.symbols.shown(*destructor),
                             .callee = unit_.usr(*destructor),
                             .object = {.kind = Operand::Kind::Address, .place = object}});
      return;
    }
    if (destructor != nullptr && !destructor->isImplicit() && !destructor->isDefaulted()) return;
    std::vector<const clang::FieldDecl*> fields(record.field_begin(), record.field_end());
    for (const clang::FieldDecl* field : llvm::reverse(fields)) {
      if (field->getType()->isReferenceType() || unit_.symbols.owner(field->getType())) continue;
      const auto* array = dyn_cast_or_null<clang::ConstantArrayType>(field->getType()->getAsArrayTypeUnsafe());
      const clang::QualType type = array == nullptr ? field->getType() : array->getElementType();
      const clang::CXXRecordDecl* inner = type->getAsCXXRecordDecl();
      if (inner == nullptr || !inner->hasDefinition() || unit_.symbols.in_system_header(*inner)) continue;
      inner = inner->getDefinition();
      ir::Site ended = site(field->getLocation(), "'" + field->getNameAsString() + "' goes out of scope");
      ended.kind = ir::Site::Kind::ScopeEnd;
      const ir::SiteId place = frame_->add(std::move(ended));
      const ir::PlaceId part = frame_->add(Place{.kind = Place::Kind::Field,
                                                 .type = ir::TypeKind::Object,
                                                 .name = field->getNameAsString(),
                                                 .owner = record.getQualifiedNameAsString(),
                                                 .base = object});
      if (array == nullptr) {
        end(part, *inner, harness, place);
        continue;
      }
      for (std::uint64_t i = std::min(array->getSize().getLimitedValue(), kMostElements); i-- > 0;) {
        const ir::ExprId index =
            frame_->add(ir::Expr{.text = std::to_string(i), .uses = {}, .constant = static_cast<std::int64_t>(i)});
        end(frame_->add(Place{.kind = Place::Kind::Index, .type = ir::TypeKind::Object, .base = part, .index = index}),
            *inner, harness, place);
      }
    }
    for (const clang::CXXBaseSpecifier& base :
         llvm::reverse(llvm::ArrayRef(record.bases_begin(), record.getNumBases())))
      if (const auto* inner = base.getType()->getAsCXXRecordDecl(); inner != nullptr && inner->hasDefinition())
        if (!unit_.symbols.in_system_header(*inner)) end(object, *inner->getDefinition(), harness, at);
  }

  host::Unit& unit_;
  ir::Program& program_;
  const std::map<std::string, ir::HandleField>& fields_;
  HandedOut handed_out_{program_};
  ir::Function* frame_ = nullptr;
};

}  // namespace

std::vector<ir::ClassHarness> class_harnesses(host::Unit& unit, ir::Program& program) {
  return Builder(unit, program).build();
}

}  // namespace streamsan::analyzer
