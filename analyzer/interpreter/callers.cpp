// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library has no main(). What its functions do with streams shows when they are called, so callers are written for
// them, as text, which Clang reads behind the file (late_parser.h): constructors, default members, conversions and
// templates mean there what they mean in the program.
//
//     extern "C" void streamsan_caller_1() {              a class
//       ::cudaStream_t a1 = (::cudaStream_t)streamsan_given_stream(0);
//       ::TileCache& object = *new ::TileCache(a1);
//       unsigned long a2 = 64;
//       (void)object.load(a2);                            each public method five times, as a loop would
//       unsigned long a3 = 64;
//       (void)object.load(a3);
//       delete &object;
//     }
//
// WHO GETS ONE. Functions with a body in the main file that nothing in it calls, and classes with a method there that no
// other code in it uses: who is called in the file is called as its author meant it, and is followed with
// its caller.
//
// ARGUMENTS are what most callers would give: memory of its own for each pointer, a stream of the caller's, numbers that
// say how much are 64, those that say which are 0, containers have 64 elements, structs are filled in field by field.
// A type that no argument can be made for (a template's, an abstract class without a known heir) leaves its function
// without a caller.
#include "analyzer/interpreter/callers.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/QualTypeNames.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/StringExtras.h"

namespace streamsan::analyzer {
namespace {

using clang::QualType;

constexpr const char* kHowMany = "64";
constexpr int kRounds = 5;  ///< rings of up to four slots come round
constexpr const char* kDeclarations =
    "extern \"C\" { void* streamsan_given_memory(unsigned long); void* streamsan_given_stream(unsigned long); "
    "void* streamsan_given_event(); void* streamsan_called_back(); }";

/// "max", "batch", "size" of maxBatch_size.
std::vector<std::string> words_of(llvm::StringRef name) {
  std::vector<std::string> result(1);
  for (const char c : name) {
    if (c == '_' || (llvm::isUpper(c) && !result.back().empty())) result.emplace_back();
    if (c != '_') result.back() += llvm::toLower(c);
  }
  return result;
}

/// Does a number that is called so say which one, and not how much?
bool says_which(llvm::StringRef name) {
  static constexpr std::array kHowMuch = {"size", "bytes", "count", "num", "len", "length", "n"};
  static constexpr std::array kWhich = {"device", "dev",   "idx",  "index",  "slot",  "rank",  "layer", "lane", "which",
                                        "i",      "stage", "head", "offset", "begin", "first", "flag",  "id",   "gpu"};
  const std::vector<std::string> words = words_of(name);
  const auto has_one_of = [&](const auto& list) {
    return std::ranges::any_of(words,
                               [&](const std::string& word) { return std::ranges::find(list, word) != list.end(); });
  };
  return has_one_of(kWhich) && !has_one_of(kHowMuch);
}

/// Functions that the main file calls, and classes of which it makes objects or calls methods.
class Uses : public clang::RecursiveASTVisitor<Uses> {
 public:
  explicit Uses(const clang::SourceManager& sources) : sources_(sources) {}
  static bool shouldVisitTemplateInstantiations() { return true; }  // NOLINT(readability-identifier-naming)

  bool TraverseDecl(clang::Decl* declaration) {
    if (declaration == nullptr) return true;
    if (llvm::isa<clang::TranslationUnitDecl, clang::NamespaceDecl, clang::LinkageSpecDecl>(declaration))
      return RecursiveASTVisitor::TraverseDecl(declaration);
    if (!sources_.isInMainFile(sources_.getExpansionLoc(declaration->getLocation()))) return true;
    return RecursiveASTVisitor::TraverseDecl(declaration);
  }
  bool TraverseFunctionDecl(clang::FunctionDecl* function) {
    in(function, [&] { RecursiveASTVisitor::TraverseFunctionDecl(function); });
    return true;
  }
  bool TraverseCXXMethodDecl(clang::CXXMethodDecl* function) {
    in(function, [&] { RecursiveASTVisitor::TraverseCXXMethodDecl(function); });
    return true;
  }
  bool TraverseCXXConstructorDecl(clang::CXXConstructorDecl* function) {
    in(function, [&] { RecursiveASTVisitor::TraverseCXXConstructorDecl(function); });
    return true;
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* expression) {
    if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(expression->getDecl())) called(*function);
    return true;
  }
  bool VisitMemberExpr(clang::MemberExpr* expression) {
    if (const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(expression->getMemberDecl())) {
      called(*method);
      from_outside(*method->getParent());
    }
    return true;
  }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* expression) {
    from_outside(*expression->getConstructor()->getParent());
    return true;
  }
  /// std::make_unique<Class>(), std::vector<Class>: it is made in there.
  bool VisitFieldDecl(clang::FieldDecl* field) { return contains(field->getType()); }
  bool VisitVarDecl(clang::VarDecl* variable) { return contains(variable->getType()); }

  std::set<const clang::FunctionDecl*> calls;
  std::set<const clang::CXXRecordDecl*> used;

 private:
  template <typename Body>
  void in(const clang::FunctionDecl* function, Body body) {
    const clang::FunctionDecl* const before = inside_;
    inside_ = function;
    body();
    inside_ = before;
  }
  void from_outside(const clang::CXXRecordDecl& record) {
    const auto* within = llvm::dyn_cast_or_null<clang::CXXMethodDecl>(inside_);
    if (within == nullptr || within->getParent()->getCanonicalDecl() != record.getCanonicalDecl())
      used.insert(record.getCanonicalDecl());
  }
  void called(const clang::FunctionDecl& function) {
    if (inside_ != nullptr && inside_->getCanonicalDecl() == function.getCanonicalDecl()) return;
    calls.insert(function.getCanonicalDecl());
    if (const clang::TemplateArgumentList* given = function.getTemplateSpecializationArgs()) arguments(*given);
  }
  bool contains(QualType type) {
    const clang::CXXRecordDecl* record = type.getNonReferenceType()->getBaseElementTypeUnsafe()->getAsCXXRecordDecl();
    if (record == nullptr) return true;
    if (!type->isReferenceType()) used.insert(record->getCanonicalDecl());
    if (const auto* instance = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(record))
      arguments(instance->getTemplateArgs());
    return true;
  }
  void arguments(const clang::TemplateArgumentList& list) {
    for (const clang::TemplateArgument& argument : list.asArray())
      if (argument.getKind() == clang::TemplateArgument::Type) contains(argument.getAsType());
  }

  const clang::SourceManager& sources_;
  const clang::FunctionDecl* inside_ = nullptr;
};

/// How arguments are given.
struct Way {
  bool flags = false;   ///< the value of a bool
  bool pieces = false;  ///< an object gets smaller numbers for its life than its methods do later: what works in pieces
                        ///< has several
};

/// The text of one caller.
class Writer {
 public:
  Writer(Symbols& symbols, Way way) : symbols_(symbols), context_(symbols.context()), way_(way) {}

  std::optional<Caller> call(const clang::FunctionDecl& function) {
    const auto arguments = given(function);
    if (!arguments) return std::nullopt;
    line("(void)" + qualified(function) + "(" + *arguments + ");", {Caller::Line::Call, &function});
    return finish();
  }

  /// `constructor`: nullptr: the implicit one.
  std::optional<Caller> live(const clang::CXXRecordDecl& record, const clang::CXXConstructorDecl* constructor) {
    result_.record = &record;
    const std::string type = spelled(context_.getCanonicalTagType(&record));
    fixed_ = way_.pieces;
    const auto arguments = constructor == nullptr ? std::optional<std::string>("") : given(*constructor);
    fixed_ = false;
    if (!arguments) return std::nullopt;
    line(type + "& object = *new " + type + "(" + *arguments + ");", {Caller::Line::Construct, nullptr});
    bool any = false;
    for (const clang::CXXMethodDecl* method : record.methods()) {
      if (!is_method(*method)) continue;
      for (int round = 0; round < kRounds; ++round) {
        const auto own = given(*method);
        if (!own) break;
        any = true;
        line("(void)object." + method->getNameAsString() + "(" + *own + ");", {Caller::Line::Call, method});
      }
    }
    if (!any) return std::nullopt;
    line("delete &object;", {Caller::Line::Destroy, nullptr});
    return finish();
  }

 private:
  static bool is_method(const clang::CXXMethodDecl& method) {
    return method.getAccess() == clang::AS_public && !method.isStatic() && !method.isDeleted() &&
           !method.isImplicit() &&
           !llvm::isa<clang::CXXConstructorDecl, clang::CXXDestructorDecl, clang::CXXConversionDecl>(method) &&
           !method.isOverloadedOperator() && method.isDefined() && !method.isConsteval();
  }

  void line(const std::string& text, Caller::Made made = {}) {
    text_ += text + "\n";
    result_.lines.push_back(made);
  }

  Caller finish() {
    result_.text = std::move(text_);
    return std::move(result_);
  }

  std::string spelled(QualType type) const {
    clang::PrintingPolicy policy = context_.getPrintingPolicy();
    policy.SuppressUnwrittenScope = true;
    policy.SuppressTagKeyword = true;
    return clang::TypeName::getFullyQualifiedName(type.getCanonicalType(), context_, policy, true);
  }

  static std::string qualified(const clang::FunctionDecl& function) {
    std::string result;
    for (const clang::DeclContext* at = function.getDeclContext(); at != nullptr; at = at->getParent())
      if (const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(at);
          space != nullptr && !space->isAnonymousNamespace() && !space->isInline())
        result = space->getNameAsString() + "::" + result;
      else if (const auto* record = llvm::dyn_cast<clang::RecordDecl>(at))
        result = record->getNameAsString() + "::" + result;
    return "::" + result + function.getNameAsString();
  }

  /// The arguments of a call, after the lines that make them.
  std::optional<std::string> given(const clang::FunctionDecl& function) {
    streams_ = 0;
    objects_.clear();
    std::string list;
    if (function.isVariadic()) return std::nullopt;
    for (const clang::ParmVarDecl* parameter : function.parameters()) {
      const QualType type = parameter->getType();
      const QualType of = type.getNonReferenceType().getUnqualifiedType();
      const auto name = type->isReferenceType() ? shared(of, parameter->getName(), 0) : variable(of, parameter->getName(), 0);
      if (!name) return std::nullopt;
      if (!list.empty()) list += ", ";
      list += type->isLValueReferenceType()
                  ? *name
                  : "static_cast<" + spelled(type.getNonReferenceType().getUnqualifiedType()) + "&&>(" + *name + ")";
    }
    return list;
  }

  std::string fresh() { return "a" + std::to_string(++variables_); }

  std::string made(QualType type, const std::string& value) {
    const std::string name = fresh();
    line(spelled(type) + " " + name + " = (" + spelled(type) + ")" + value + ";");
    return name;
  }

  /// A variable of the type with a value in it: its name. nullopt: none can be made.
  std::optional<std::string> variable(QualType type, llvm::StringRef called, int depth) {
    constexpr int kDeepest = 4;
    if (depth > kDeepest) return std::nullopt;
    type = type.getCanonicalType().getUnqualifiedType();
    if (type->isPointerType()) return pointer(type, depth);
    if (type->isBooleanType()) return made(type, way_.flags ? "true" : "false");
    if (type->isEnumeralType()) return made(type, "0");
    if (type->isIntegerType()) return made(type, number(called, depth));
    if (type->isRealFloatingType()) return made(type, "1");
    const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
    if (record == nullptr || !record->hasDefinition()) return std::nullopt;
    return object(type, *record->getDefinition(), depth);
  }

  /// As variable(); but what refers to one class of the program's refers to one object: one context, one pool.
  std::optional<std::string> shared(QualType type, llvm::StringRef called, int depth) {
    const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
    if (record == nullptr || symbols_.in_system_header(*record)) return variable(type, called, depth);
    const auto known = objects_.find(record->getCanonicalDecl());
    if (known != objects_.end()) return known->second;
    const auto one = variable(type, called, depth);
    if (one) objects_[record->getCanonicalDecl()] = *one;
    return one;
  }

  [[nodiscard]] const char* number(llvm::StringRef called, int depth) const {
    if (says_which(called)) return "0";
    if (called.contains_insensitive("pitch") || called.contains_insensitive("stride")) return "4096";
    return fixed_ || (depth > 0 && way_.pieces) ? "16" : kHowMany;
  }

  std::optional<std::string> pointer(QualType type, int depth) {
    const QualType pointee = type->getPointeeType();
    switch (symbols_.kind(type)) {
      case ir::TypeKind::Stream:
        return made(type, std::string(kGivenStream) + "(" + std::to_string(depth == 0 ? streams_++ : 0) + ")");
      case ir::TypeKind::Event:
        return made(type, std::string(kGivenEvent) + "()");
      default:
        break;
    }
    if (pointee->isFunctionType()) return std::nullopt;
    if (pointee.isConstQualified() && context_.hasSameUnqualifiedType(pointee, context_.CharTy))
      return made(type, "\"text\"");
    if (is_object(type)) {
      const auto one = shared(pointee.getUnqualifiedType(), "", depth + 1);
      return one ? std::optional(made(type, "&" + *one)) : std::nullopt;
    }
    if (pointee->isPointerType()) return pointers(type, depth);
    return made(type, std::string(kGivenMemory) + "(1UL << 20)");
  }

  /// An array of as many as numbers say.
  std::optional<std::string> pointers(QualType type, int depth) {
    const QualType element = type->getPointeeType().getUnqualifiedType();
    const std::string name = fresh(), spelling = spelled(element);
    if (const ir::TypeKind kind = symbols_.kind(element); kind == ir::TypeKind::Pointer && !is_object(element)) {
      line(spelling + " " + name + "[" + kHowMany + "]; for (" + spelling + "& each : " + name + ") each = (" +
           spelling + ")" + kGivenMemory + "(1UL << 20);");
    } else if (kind == ir::TypeKind::Stream || kind == ir::TypeKind::Event) {
      line(spelling + " " + name + "[" + kHowMany + "]; unsigned long n" + name + " = 0; for (" + spelling +
           "& each : " + name + ") each = (" + spelling + ")" +
           (kind == ir::TypeKind::Stream ? std::string(kGivenStream) + "(n" + name + "++)"
                                         : kGivenEvent + std::string("()")) +
           ";");
    } else {
      const auto one = variable(element, "", depth + 1);
      if (!one) return std::nullopt;
      line(spelling + " " + name + "[" + kHowMany + "]; for (" + spelling + "& each : " + name + ") each = " + *one +
           ";");
    }
    return made(type, name);
  }

  /// Does it point to an object that is made, and not to bytes?
  bool is_object(QualType pointer) {
    const clang::CXXRecordDecl* record = pointer->getPointeeType()->getAsCXXRecordDecl();
    return record != nullptr && record->hasDefinition() && !is_plain(*record->getDefinition());
  }

  /// Its bytes are all there is to it.
  bool is_plain(const clang::CXXRecordDecl& record) {
    return record.isTriviallyCopyable() && std::ranges::none_of(record.fields(), [&](const clang::FieldDecl* field) {
             return field->getType()->isPointerType() || field->getType()->isRecordType();
           });
  }

  std::optional<std::string> object(QualType type, const clang::CXXRecordDecl& record, int depth) {
    const std::string name = fresh();
    const std::string class_name = record.getQualifiedNameAsString();
    const auto* instance = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(&record);
    const auto argument = [&]() -> QualType {
      if (instance == nullptr || instance->getTemplateArgs().size() == 0) return {};
      const clang::TemplateArgument& first = instance->getTemplateArgs()[0];
      return first.getKind() == clang::TemplateArgument::Type ? first.getAsType() : QualType();
    };
    const std::string spelling = spelled(type);
    if (record.isInStdNamespace() && instance != nullptr && !argument().isNull()) {
      const QualType of = argument();
      if (class_name.ends_with("::vector")) return sequence(spelling, name, of, depth);
      if (class_name.ends_with("::unique_ptr") || class_name.ends_with("::shared_ptr")) {
        const auto one = of->isRecordType() ? variable(of, "", depth + 1) : std::nullopt;
        if (!one) return std::nullopt;
        line(spelling + " " + name + "(new " + spelled(of) + "(static_cast<" + spelled(of) + "&&>(" + *one + ")));");
        return name;
      }
      if (class_name.ends_with("::basic_string")) {
        line(spelling + " " + name + "(8, 'x');");
        return name;
      }
      if (const auto* signature = of->getAs<clang::FunctionProtoType>(); signature != nullptr) {
        line(spelling + " " + name + "(" + callback(*signature) + ");");
        return name;
      }
    }
    if (record.isLambda() || record.isAbstract() || record.isUnion()) return std::nullopt;
    if (record.isAggregate()) {
      line(spelling + " " + name + "{};");
      if (!symbols_.in_system_header(record)) return fill(name, record, depth) ? std::optional(name) : std::nullopt;
      return name;
    }
    if (symbols_.in_system_header(record) && record.hasDefaultConstructor()) {
      line(spelling + " " + name + "{};");
      return name;
    }
    for (const clang::CXXConstructorDecl* constructor : record.ctors()) {
      if (!is_constructor(*constructor)) continue;
      std::string list;
      bool whole = true;
      for (const clang::ParmVarDecl* parameter : constructor->parameters()) {
        const QualType own = parameter->getType().getNonReferenceType().getUnqualifiedType();
        const auto one = parameter->getType()->isReferenceType() ? shared(own, parameter->getName(), depth + 1)
                                                                 : variable(own, parameter->getName(), depth + 1);
        whole = whole && one.has_value();
        if (!whole) break;
        list += (list.empty() ? "" : ", ") + (parameter->getType()->isLValueReferenceType()
                                                  ? *one
                                                  : "static_cast<" + spelled(own) + "&&>(" + *one + ")");
      }
      if (!whole) continue;
      line(spelling + " " + name + (list.empty() ? "{}" : "(" + list + ")") + ";");
      return name;
    }
    if (record.hasDefaultConstructor() && !record.hasUserDeclaredConstructor()) {
      line(spelling + " " + name + "{};");
      return name;
    }
    return std::nullopt;
  }

  /// A lambda, which writes what it is given pointers to.
  std::string callback(const clang::FunctionProtoType& signature) const {
    std::string list, body = std::string(kCalledBack) + "(); ";
    for (const QualType parameter : signature.param_types()) {
      const std::string own = "p" + std::to_string(list.size());
      list += (list.empty() ? "" : ", ") + spelled(parameter) + " " + own;
      const QualType pointee = parameter->isPointerType() ? parameter->getPointeeType() : QualType();
      if (!pointee.isNull() && pointee->isArithmeticType() && !pointee.isConstQualified())
        body += "*" + own + " = " + spelled(pointee) + "(); ";
    }
    const QualType back = signature.getReturnType();
    return "[](" + list + ") -> " + spelled(back) + " { " + body + "return " +
           (back->isVoidType() ? "" : spelled(back) + "()") + "; }";
  }

  std::optional<std::string> sequence(const std::string& spelling, const std::string& name, QualType of, int depth) {
    if (of->isArithmeticType()) {
      line(spelling + " " + name + "(64);");
      return name;
    }
    line(spelling + " " + name + ";");
    // As many as numbers say: a loop that counts to one of those stays inside.
    const std::string counter = "i" + name;
    line("for (unsigned long " + counter + " = 0; " + counter + " < " + kHowMany + "; ++" + counter + ") {");
    std::string element;
    if (symbols_.kind(of) == ir::TypeKind::Stream && of->isPointerType()) {
      element = made(of, std::string(kGivenStream) + "(" + counter + ")");
    } else {
      const auto one = variable(of, "", depth + 1);
      if (!one) return std::nullopt;
      element = *one;
    }
    line(name + ".push_back(static_cast<" + spelled(of) + "&&>(" + element + ")); }");
    return name;
  }

  /// Fields that say nothing of themselves.
  bool fill(const std::string& name, const clang::CXXRecordDecl& record, int depth) {
    for (const clang::FieldDecl* field : record.fields()) {
      if (field->getAccess() != clang::AS_public && field->getAccess() != clang::AS_none) continue;
      const QualType type = field->getType();
      if (field->hasInClassInitializer() && !type->isPointerType()) continue;
      if (type->isReferenceType()) return false;
      if (type.isConstQualified() || type->isArrayType() || field->getName().empty()) continue;
      const auto one = variable(type, field->getName(), depth + 1);
      if (one) line(name + "." + field->getNameAsString() + " = static_cast<" + spelled(type) + "&&>(" + *one + ");");
    }
    return true;
  }

 public:
  static bool is_constructor(const clang::CXXConstructorDecl& constructor) {
    return constructor.getAccess() == clang::AS_public && !constructor.isDeleted() &&
           !constructor.isCopyOrMoveConstructor() && !constructor.isImplicit();
  }

 private:
  Symbols& symbols_;
  clang::ASTContext& context_;
  Way way_;
  bool fixed_ = false;  ///< numbers are small ones
  int variables_ = 0;
  int streams_ = 0;
  std::map<const clang::CXXRecordDecl*, std::string> objects_;  ///< of the program's classes, in this call
  std::string text_;
  Caller result_;
};

/// Functions and classes of the main file, in the order in which they stand there.
class Candidates : public clang::RecursiveASTVisitor<Candidates> {
 public:
  explicit Candidates(const clang::SourceManager& sources) : sources_(sources) {}
  static bool TraverseStmt(clang::Stmt*) { return true; }  // NOLINT(readability-identifier-naming)

  bool VisitFunctionDecl(clang::FunctionDecl* function) {
    if (llvm::isa<clang::CXXMethodDecl>(function) && !llvm::cast<clang::CXXMethodDecl>(function)->isStatic())
      return true;
    if (!function->doesThisDeclarationHaveABody() || function->isDependentContext() || function->isMain() ||
        function->isOverloadedOperator() || function->isConsteval() || !is_here(*function))
      return true;
    if (function->hasAttr<clang::CUDAGlobalAttr>()) return true;
    if (function->hasAttr<clang::CUDADeviceAttr>() && !function->hasAttr<clang::CUDAHostAttr>()) return true;
    functions.push_back(function);
    return true;
  }
  bool VisitCXXMethodDecl(clang::CXXMethodDecl* method) {
    if (method->doesThisDeclarationHaveABody() && is_here(*method)) add(*method->getParent());
    return true;
  }

  std::vector<const clang::FunctionDecl*> functions;
  std::vector<const clang::CXXRecordDecl*> classes;

 private:
  [[nodiscard]] bool is_here(const clang::Decl& declaration) const {
    return sources_.isInMainFile(sources_.getExpansionLoc(declaration.getLocation()));
  }
  void add(const clang::CXXRecordDecl& record) {
    if (record.isDependentContext() || record.isLambda() || record.isAbstract() || !record.hasDefinition()) return;
    if (record.getDeclContext()->isFunctionOrMethod()) return;
    const clang::CXXRecordDecl* definition = record.getDefinition();
    if (std::ranges::find(classes, definition) == classes.end()) classes.push_back(definition);
  }
  const clang::SourceManager& sources_;
};

}  // namespace

std::vector<Caller> callers(Symbols& symbols) {
  constexpr std::size_t kMost = 60;
  clang::ASTContext& context = symbols.context();
  Uses uses(context.getSourceManager());
  uses.TraverseDecl(context.getTranslationUnitDecl());
  Candidates candidates(context.getSourceManager());
  candidates.TraverseDecl(context.getTranslationUnitDecl());
  std::vector<Caller> result;
  // In all ways that differ. False: no arguments can be made.
  std::size_t group = 0;
  const auto add = [&](auto write) {
    std::set<std::string> texts;
    for (const bool pieces : {false, true}) {
      ++group;
      for (const bool flags : {false, true}) {
        Writer writer(symbols, {.flags = flags, .pieces = pieces});
        std::optional<Caller> caller = write(writer);
        if (!caller) return false;
        if (result.size() >= kMost || !texts.insert(caller->text).second) continue;
        caller->name = "streamsan_caller_" + std::to_string(result.size());
        caller->text =
            std::string(kDeclarations) + " extern \"C\" void " + caller->name + "() {\n" + caller->text + "}\n";
        caller->lines.insert(caller->lines.begin(), Caller::Made{});
        caller->group = group;
        result.push_back(std::move(*caller));
      }
    }
    return true;
  };
  for (const clang::CXXRecordDecl* record : candidates.classes) {
    if (uses.used.contains(record->getCanonicalDecl())) continue;
    std::vector<const clang::CXXConstructorDecl*> constructors;
    std::ranges::copy_if(record->ctors(), std::back_inserter(constructors),
                         [](const clang::CXXConstructorDecl* each) { return Writer::is_constructor(*each); });
    if (!record->hasUserDeclaredConstructor()) constructors.push_back(nullptr);
    for (const clang::CXXConstructorDecl* constructor : constructors)
      if (add([&](Writer& writer) { return writer.live(*record, constructor); })) break;
  }
  for (const clang::FunctionDecl* function : candidates.functions)
    if (!uses.calls.contains(function->getCanonicalDecl())) add([&](Writer& writer) { return writer.call(*function); });
  return result;
}

}  // namespace streamsan::analyzer
