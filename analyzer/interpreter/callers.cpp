// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library has no main(). To see what its functions do with streams, they must be called. So callers are written for
// them as C++ text, which Clang parses behind the file (late_parser.h): constructors, default members, conversions and
// templates have the same meaning as in the program.
//
//     extern "C" void streamsan_caller_1() {              a class
//       ::cudaStream_t a1 = (::cudaStream_t)streamsan_given_stream(0);
//       ::TileCache& object = *new ::TileCache(a1);
//       unsigned long a2 = 64;
//       try { (void)object.load(a2); } catch (...) { streamsan_threw(); }
//       unsigned long a3 = 64;                            each public method five times, as a loop would;
//       try { (void)object.load(a3); } ...                then each once more, the last one first
//       delete &object;
//     }
//
// WHO GETS ONE. Functions with a body in the main file that nothing in the file calls, and classes with a method there
// that no other code in the file uses. A function that is called in the file is called as its author meant it, and is
// followed with its caller. If a function is lent an object, other users must call those methods of the object that the
// file never calls: the caller calls them after the function. If nothing in a PyTorch extension creates objects of a
// class, Python creates and calls them, whoever else calls them. Classes and functions that a module makes known to
// Python get callers as well.
//
// ARGUMENTS are what most callers would pass: separate memory for each pointer, a stream of the caller's, 64 for sizes
// and counts, arrays and containers of 64 elements, structs filled in field by field. Some are varied (Way): flags,
// numbers that select one of several, and whether two references are to one object. A conflict does not count if it
// shows with only one value of a flag, or only with one object, or only with two. If the code refuses these arguments,
// or takes too long, it gets more room, and then few of everything. If no argument can be made for a type (a
// template's, an abstract class with several derived ones), the function has no caller. Among functions that are the
// same except for what their kernels compute, two get callers, as long as these show nothing (look_alikes.h).
//
// STREAMS of the caller may all be one, so two of them never conflict. But the streams of one array are different ones:
// why else an array. And a class that has a mutex, or keeps something for each stream, is meant for several streams.
#include "analyzer/interpreter/callers.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "analyzer/interpreter/caller_text.h"
#include "analyzer/interpreter/look_alikes.h"
#include "analyzer/interpreter/torch_text.h"
#include "analyzer/models/host_calls.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"

namespace streamsan::analyzer {
namespace {

using clang::QualType;

}  // namespace

const char* const kGivenFunctions =
    "extern \"C\" { void* streamsan_given_memory(unsigned long, unsigned long, unsigned long); void* "
    "streamsan_given_stream(unsigned "
    "long); void* streamsan_given_stream_of(unsigned long, unsigned long); void* streamsan_on_device(unsigned long); "
    "void* "
    "streamsan_given_event(); void* streamsan_called_back(unsigned long); void* streamsan_threw(); }";

namespace {

/// What PYBIND11_MODULE and TORCH_LIBRARY define: it names functions for others to call.
bool registers(const clang::FunctionDecl& function) {
  const clang::IdentifierInfo* identifier = function.getIdentifier();
  if (identifier == nullptr) return false;
  const llvm::StringRef name = identifier->getName();
  return name.starts_with("PyInit_") || name.starts_with("pybind11_") || name.starts_with("TORCH_LIBRARY_");
}

/// The functions and classes ("class_<T>(...)") that PYBIND11_MODULE and TORCH_LIBRARY make known to others.
class Registered : public clang::DynamicRecursiveASTVisitor {
 public:
  bool VisitExpr(clang::Expr* expression) override {
    const auto* made = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(
        expression->getType().getNonReferenceType()->getAsCXXRecordDecl());
    if (made == nullptr || made->getName() != "class_") return true;
    const clang::TemplateArgumentList& arguments = made->getTemplateArgs();
    if (arguments.size() == 0 || arguments[0].getKind() != clang::TemplateArgument::Type) return true;
    if (const clang::CXXRecordDecl* record = arguments[0].getAsType()->getAsCXXRecordDecl())
      classes.insert(record->getCanonicalDecl());
    return true;
  }
  /// Functions that it calls itself, or in its lambdas, do not become known to others.
  bool VisitCallExpr(clang::CallExpr* call) override {
    called_.insert(call->getCallee()->IgnoreParenImpCasts());
    return true;
  }
  bool TraverseLambdaExpr(clang::LambdaExpr*) override { return true; }
  bool VisitDeclRefExpr(clang::DeclRefExpr* named) override {
    if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(named->getDecl());
        function != nullptr && !called_.contains(named))
      functions.insert(function->getCanonicalDecl());
    return true;
  }
  std::set<const clang::CXXRecordDecl*> classes;
  std::set<const clang::FunctionDecl*> functions;

 private:
  std::set<const clang::Expr*> called_;
};

/// Functions that the main file calls, and classes of which it makes objects or calls methods.
class Uses : public clang::DynamicRecursiveASTVisitor {
 public:
  Uses(const clang::ASTContext& context, bool torch) : context_(context), torch_(torch) {
    ShouldVisitTemplateInstantiations = true;
  }

  bool TraverseDecl(clang::Decl* declaration) override {
    if (declaration == nullptr) return true;
    if (llvm::isa<clang::TranslationUnitDecl, clang::NamespaceDecl, clang::LinkageSpecDecl>(declaration))
      return clang::DynamicRecursiveASTVisitor::TraverseDecl(declaration);
    const clang::SourceManager& sources = context_.getSourceManager();
    if (!sources.isInMainFile(sources.getExpansionLoc(declaration->getLocation()))) return true;
    return clang::DynamicRecursiveASTVisitor::TraverseDecl(declaration);
  }
  bool TraverseFunctionDecl(clang::FunctionDecl* function) override {
    if (registers(*function)) {
      registered_.TraverseStmt(function->getBody());
      return true;
    }
    in(function, [&] { clang::DynamicRecursiveASTVisitor::TraverseFunctionDecl(function); });
    return true;
  }
  bool TraverseCXXMethodDecl(clang::CXXMethodDecl* function) override {
    in(function, [&] { clang::DynamicRecursiveASTVisitor::TraverseCXXMethodDecl(function); });
    return true;
  }
  bool TraverseCXXConstructorDecl(clang::CXXConstructorDecl* function) override {
    in(function, [&] { clang::DynamicRecursiveASTVisitor::TraverseCXXConstructorDecl(function); });
    return true;
  }
  bool TraverseCXXDestructorDecl(clang::CXXDestructorDecl* function) override {
    in(function, [&] { clang::DynamicRecursiveASTVisitor::TraverseCXXDestructorDecl(function); });
    return true;
  }
  bool TraverseCXXConversionDecl(clang::CXXConversionDecl* function) override {
    in(function, [&] { clang::DynamicRecursiveASTVisitor::TraverseCXXConversionDecl(function); });
    return true;
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* expression) override {
    if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(expression->getDecl())) called(*function);
    return true;
  }
  bool VisitCallExpr(clang::CallExpr* call) override {
    if (torch_) known.tensor_sizes.note(*call);
    return true;
  }
  bool VisitBinaryOperator(clang::BinaryOperator* compared) override {
    if (torch_) known.tensor_sizes.note(*compared, context_);
    if (compared->isEqualityOp() && !compared->isValueDependent())
      for (const auto& [one, other] :
           {std::pair(compared->getLHS(), compared->getRHS()), std::pair(compared->getRHS(), compared->getLHS())})
        if (const auto* field = llvm::dyn_cast<clang::MemberExpr>(one->IgnoreParenImpCasts());
            field != nullptr &&
            llvm::isa<clang::CXXNullPtrLiteralExpr, clang::GNUNullExpr>(other->IgnoreParenImpCasts()))
          known.missing.insert(field->getMemberDecl()->getNameAsString());
    return true;
  }
  bool VisitMemberExpr(clang::MemberExpr* expression) override {
    if (const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(expression->getMemberDecl())) {
      called(*method);
      from_outside(called_, *method->getParent());
    }
    return true;
  }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* expression) override {
    const clang::CXXRecordDecl& record = *expression->getConstructor()->getParent();
    if (record.getIdentifier() != nullptr && guards_device(record.getName())) known.chooses_device = true;
    from_outside(made_, record);
    return true;
  }
  /// std::make_unique<Class>(), std::vector<Class>: these create the object.
  bool VisitFieldDecl(clang::FieldDecl* field) override { return contains(field->getType()); }
  bool VisitVarDecl(clang::VarDecl* variable) override {
    const QualType type = variable->getType();
    const clang::CXXRecordDecl* record = type->getBaseElementTypeUnsafe()->getAsCXXRecordDecl();
    if (variable->hasGlobalStorage() && !variable->isConstexpr() && !type.isConstQualified() &&
        !variable->hasAttr<clang::CUDAConstantAttr>() && !variable->hasAttr<clang::CUDASharedAttr>() &&
        (type->isPointerType() ? !type->getPointeeType().isConstQualified()
                               : record != nullptr && record->hasDefinition() && !record->hasTrivialDestructor()))
      known.keeps_state = true;
    return contains(type);
  }

  /// Does it call its methods, or make objects of it, for all who do so?
  [[nodiscard]] bool uses(const clang::CXXRecordDecl& record) const {
    const clang::CXXRecordDecl* one = record.getCanonicalDecl();
    if (registered_.classes.contains(one)) return false;
    return made_.contains(one) || (called_.contains(one) && !torch_);
  }
  /// Does it call it for all who do so?
  [[nodiscard]] bool uses(const clang::FunctionDecl& function) const {
    const clang::FunctionDecl* one = function.getCanonicalDecl();
    return known.calls.contains(one) && !registered_.functions.contains(one);
  }

  KnownOfFile known;

 private:
  template <typename Body>
  void in(const clang::FunctionDecl* function, Body body) {
    const clang::FunctionDecl* const before = inside_;
    inside_ = function;
    body();
    inside_ = before;
  }
  using Classes = std::set<const clang::CXXRecordDecl*>;
  void from_outside(Classes& classes, const clang::CXXRecordDecl& record) const {
    const auto* within = llvm::dyn_cast_or_null<clang::CXXMethodDecl>(inside_);
    if (within == nullptr || within->getParent()->getCanonicalDecl() != record.getCanonicalDecl())
      classes.insert(record.getCanonicalDecl());
  }
  void called(const clang::FunctionDecl& function) {
    if (inside_ != nullptr && inside_->getCanonicalDecl() == function.getCanonicalDecl()) return;
    known.calls.insert(function.getCanonicalDecl());
    if (function.getIdentifier() != nullptr && chooses_device(function.getName())) known.chooses_device = true;
    if (const clang::TemplateArgumentList* given = function.getTemplateSpecializationArgs()) arguments(*given);
  }
  bool contains(QualType type) {
    // The object behind a reference is created elsewhere.
    const clang::CXXRecordDecl* record = type->getBaseElementTypeUnsafe()->getAsCXXRecordDecl();
    if (record == nullptr) return true;
    made_.insert(record->getCanonicalDecl());
    if (const auto* instance = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(record))
      arguments(instance->getTemplateArgs());
    return true;
  }
  void arguments(const clang::TemplateArgumentList& list) {
    for (const clang::TemplateArgument& argument : list.asArray())
      if (argument.getKind() == clang::TemplateArgument::Type) contains(argument.getAsType());
  }

  const clang::ASTContext& context_;
  const clang::FunctionDecl* inside_ = nullptr;
  bool torch_;
  Classes made_, called_;
  Registered registered_;
};

/// Functions and classes of the main file, in the order in which they stand there.
class Candidates : public clang::DynamicRecursiveASTVisitor {
 public:
  explicit Candidates(const clang::SourceManager& sources) : sources_(sources) {}
  bool TraverseStmt(clang::Stmt*) override { return true; }
  bool TraverseTypeLoc(clang::TypeLoc, bool) override { return true; }
  bool TraverseNestedNameSpecifierLoc(clang::NestedNameSpecifierLoc) override { return true; }

  bool VisitFunctionDecl(clang::FunctionDecl* function) override {
    if (llvm::isa<clang::CXXMethodDecl>(function) && !llvm::cast<clang::CXXMethodDecl>(function)->isStatic())
      return true;
    if (!function->doesThisDeclarationHaveABody() || function->isDependentContext() || function->isMain() ||
        function->isOverloadedOperator() || function->isConsteval() || registers(*function) || !is_here(*function))
      return true;
    if (!runs_on_device_only(*function)) functions.push_back(function);
    return true;
  }
  bool VisitCXXMethodDecl(clang::CXXMethodDecl* method) override {
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

/// Sizes Larger, and then Few, are tried if the sizes before do not suit.
constexpr std::array<Way, 20> kWays = {{
    {.own = Way::Size::Same},
    {.own = Way::Size::Larger},
    {.own = Way::Size::Few},
    {.alike = false, .own = Way::Size::Same},
    {.alike = false, .own = Way::Size::Larger},
    {.alike = false, .own = Way::Size::Few},
    {.own = Way::Size::Smaller},
    {.alike = false, .own = Way::Size::Smaller},
    {.users = Caller::Users::Streams},
    {.own = Way::Size::Larger, .users = Caller::Users::Streams},
    {.users = Caller::Users::Objects},
    {.alike = false, .own = Way::Size::Smaller, .users = Caller::Users::Objects},
    {.users = Caller::Users::Others},
    {.alike = false, .users = Caller::Users::Others},
    {.users = Caller::Users::Others, .beside = 1},
    {.alike = false, .own = Way::Size::Smaller, .users = Caller::Users::Others, .beside = 1},
    {.users = Caller::Users::Others, .beside = 2},
    {.users = Caller::Users::Others, .beside = 3},
    {.declines = true},
    {.empty = true},
}};

}  // namespace

std::vector<Caller> callers(Symbols& symbols, LeftOut& left_out) {
  constexpr std::size_t kMost = 200, kMostLines = 20'000;
  clang::ASTContext& context = symbols.context();
  Uses uses(context, has_torch(context));
  uses.TraverseDecl(context.getTranslationUnitDecl());
  Candidates candidates(context.getSourceManager());
  candidates.TraverseDecl(context.getTranslationUnitDecl());
  KnownOfFile& known = uses.known;
  known.classes = candidates.classes;
  std::ranges::copy_if(known.classes, std::back_inserter(known.unused),
                       [&](const auto* each) { return !uses.uses(*each); });
  known.waits = std::make_unique<WaysToWait>(symbols);
  std::vector<Caller> result;
  std::size_t group = 0, of = 0, lines = 0;
  // Makes a caller for each Way that differs. False: no arguments can be made.
  const auto add = [&](const auto& write) {
    std::set<std::string> texts;
    bool any = false;
    ++of;
    if (result.size() >= kMost || lines >= kMostLines) {
      ++left_out.too_many;
      return true;
    }
    std::size_t before = 0;  // the last group that differs from those before it
    for (const Way& way : kWays) {
      ++group;
      const bool in_place = way.own == Way::Size::Larger || way.own == Way::Size::Few;
      const std::size_t instead_of = in_place ? before : 0;
      for (const auto& [flags, one] : {std::pair(false, true), std::pair(true, true), std::pair(false, false)}) {
        Way each = way;
        each.flags = flags;
        each.one = one;
        std::optional<Caller> caller = write(each);
        if (!caller) break;
        any = true;
        if (!texts.insert(caller->text).second) continue;
        caller->name = kCallerPrefix + std::to_string(left_out.next_number++);
        caller->text = "extern \"C\" void " + caller->name + "() {\n" + caller->text + "}\n";
        caller->lines.insert(caller->lines.begin(), Caller::Line::Other);
        if (caller->again != 0) ++caller->again;
        caller->group = group;
        caller->of = of;
        caller->alike = way.alike;
        caller->empty = way.empty;
        caller->instead_of = instead_of;
        before = group;
        lines += caller->lines.size();
        result.push_back(std::move(*caller));
      }
      if (!any) return false;
    }
    return true;
  };
  for (const clang::CXXRecordDecl* record : candidates.classes) {
    if (uses.uses(*record)) continue;
    std::vector<const clang::CXXConstructorDecl*> constructors;
    std::ranges::copy_if(record->ctors(), std::back_inserter(constructors),
                         [](const clang::CXXConstructorDecl* each) { return is_public_constructor(*each); });
    if (!record->hasUserDeclaredConstructor()) constructors.push_back(nullptr);
    for (const clang::CXXConstructorDecl* constructor : constructors)
      if (add([&](const Way& way) { return caller_of(symbols, way, known, *record, constructor); })) break;
  }
  LookAlikes look_alikes(context.getSourceManager());
  for (const clang::FunctionDecl* function : candidates.functions) {
    if (uses.uses(*function)) continue;
    if (left_out.spares_look_alikes && look_alikes.is_one_more(*function))
      ++left_out.look_alikes;
    else
      add([&](const Way& way) { return caller_of(symbols, way, known, *function); });
  }
  return result;
}

}  // namespace streamsan::analyzer
