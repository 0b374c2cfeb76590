// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of a caller. See callers.cpp.
#include "analyzer/interpreter/caller_text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "analyzer/interpreter/caller_arguments.h"
#include "analyzer/interpreter/caller_elements.h"
#include "analyzer/interpreter/torch_text.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/Basic/LangOptions.h"

namespace streamsan::analyzer {
namespace {

using clang::QualType;

constexpr int kRounds = 5;  ///< enough for rings of up to four slots to use one again

/// "operator bool()" may ask the GPU.
bool converts_to_object(const clang::CXXMethodDecl& method) {
  const auto* conversion = llvm::dyn_cast<clang::CXXConversionDecl>(&method);
  return conversion != nullptr && !conversion->getConversionType()->isBooleanType();
}

bool is_method(const clang::CXXMethodDecl& method) {
  return method.getAccess() == clang::AS_public && !method.isStatic() && !method.isDeleted() && !method.isImplicit() &&
         !llvm::isa<clang::CXXConstructorDecl, clang::CXXDestructorDecl>(method) && !converts_to_object(method) &&
         (!method.isOverloadedOperator() || method.getOverloadedOperator() == clang::OO_Call ||
          method.getOverloadedOperator() == clang::OO_Exclaim) &&
         method.isDefined() && !method.isConsteval() && method.getRefQualifier() != clang::RQ_RValue;
}

/// The method ends the object: no other method is called after it.
bool ends_object(const clang::CXXMethodDecl& method) {
  static constexpr std::array<llvm::StringRef, 7> kEnds = {"close",   "closeall", "shutdown", "destroy",
                                                           "dispose", "teardown", "terminate"};
  if (method.getIdentifier() == nullptr || method.getNumParams() != 0) return false;
  std::string name = method.getName().lower();
  std::erase(name, '_');
  return std::ranges::find(kEnds, name) != kEnds.end();
}

std::string qualified(const clang::FunctionDecl& function) {
  std::string result;
  for (const clang::DeclContext* at = function.getDeclContext(); at != nullptr; at = at->getParent())
    if (const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(at);
        space != nullptr && !space->isAnonymousNamespace() && !space->isInline())
      result = space->getNameAsString() + "::" + result;
    else if (const auto* record = llvm::dyn_cast<clang::RecordDecl>(at))
      result = record->getNameAsString() + "::" + result;
  return "::" + result + function.getNameAsString();
}

class Text {
 public:
  Text(Symbols& symbols, const Way& way, const KnownOfFile& file)
      : symbols_(symbols),
        way_(way),
        file_(file),
        torch_(has_torch(symbols.context())),
        arguments_(symbols, way, file, result_) {}

  std::optional<Caller> call(const clang::FunctionDecl& function) {
    if (way_.users == Caller::Users::Objects || way_.users == Caller::Users::Others) return std::nullopt;
    result_.users = way_.users;
    auto list = arguments_.given(function);
    if (!list) return std::nullopt;
    const auto objects = arguments_.objects();
    const bool several = way_.users == Caller::Users::Streams;
    if (several && !(is_given_streams(function) && std::ranges::any_of(objects, [&](const auto& object) {
                       return serves_several(symbols_, *object.first);
                     })))
      return std::nullopt;
    // An object with state is made for several calls.
    constexpr int kCalls = 3;
    const bool again = file_.keeps_state ||
                       std::ranges::any_of(objects, [](const auto& object) { return !object.first->isAggregate(); });
    for (int call = 0; call < (again ? kCalls : 1); ++call) {
      if (call == 1) result_.again = result_.lines.size();
      if (call > 0) {
        arguments_.next_user();
        list = arguments_.given(function, /*again=*/true);
        if (!list) return std::nullopt;
      }
      // A method may refuse to work until another one was called.
      if (way_.own == Way::Size::Larger || way_.own == Way::Size::Few)
        for (const auto& [record, name] : objects) call_rest(*record, name, /*before=*/true);
      call_of("(void)" + qualified(function) + "(" + *list + ");");
      for (const auto& [record, name] : objects) call_rest(*record, name, /*before=*/false);
    }
    return finish();
  }

  /// `constructor`: nullptr: the implicit one.
  std::optional<Caller> live(const clang::CXXRecordDecl& record, const clang::CXXConstructorDecl* constructor) {
    result_.record = &record;
    if (way_.users == Caller::Users::Streams && !(serves_several(symbols_, record) && is_given_streams(record)))
      return std::nullopt;
    const bool two = way_.users == Caller::Users::Objects;
    if (two && (!way_.one || constructor == nullptr || !is_given_service(*constructor))) return std::nullopt;
    if (!construct(record, constructor, "object", false)) return std::nullopt;
    WaysToWait::Classes classes = {record.getCanonicalDecl()};
    for (const auto& [lent, name] : arguments_.objects()) classes.insert(lent->getCanonicalDecl());
    if (way_.users == Caller::Users::Others) {
      if (way_.beside != 0)
        construct_beside(record, constructor);
      else
        served_ = arguments_.objects();
      for (const auto& [other, name] : served_) classes.insert(other->getCanonicalDecl());
      if (served_.empty()) return std::nullopt;
    }
    if (two) arguments_.next_user();
    if (two && !construct(record, constructor, "other", true)) return std::nullopt;
    result_.users = way_.users;
    if (!(two ? in_turns(record) : one_by_one(record))) return std::nullopt;
    if (two || way_.users == Caller::Users::Others)
      result_.offer = file_.waits->offered(record, std::move(classes), called_, file_.calls);
    if (two) arguments_.line("delete &other;", Caller::Line::Destroy);
    arguments_.line("delete &object;", Caller::Line::Destroy);
    if (way_.beside != 0) arguments_.line("delete &beside;", Caller::Line::Destroy);
    return finish();
  }

 private:
  bool construct(const clang::CXXRecordDecl& record, const clang::CXXConstructorDecl* constructor,
                 const std::string& name, bool again) {
    const std::string type = arguments_.spelled(symbols_.context().getCanonicalTagType(&record));
    arguments_.make_object(true);
    const auto list = constructor == nullptr ? std::optional<std::string>("") : arguments_.given(*constructor, again);
    arguments_.make_object(false);
    if (list) arguments_.line(type + "& " + name + " = *new " + type + "(" + *list + ");", Caller::Line::Construct);
    return list.has_value();
  }

  /// Makes an object of another class that the file does not use; it shares what the first object was given.
  void construct_beside(const clang::CXXRecordDecl& record, const clang::CXXConstructorDecl* constructor) {
    if (constructor == nullptr) return;
    int before = 0;
    for (const clang::CXXRecordDecl* other : file_.unused) {
      const clang::CXXConstructorDecl* own = nullptr;
      for (const clang::CXXConstructorDecl* each : other->ctors())
        if (own == nullptr && other != &record && is_public_constructor(*each) && arguments_.share(*constructor, *each))
          own = each;
      if (own == nullptr || ++before < way_.beside) continue;
      if (construct(*other, own, "beside", true)) served_.emplace_back(other, "beside");
      result_.beside = other->getNameAsString();
      return;
    }
  }

  /// Calls each method several times, as a loop would; then each once more, the last one first; then the method that
  /// ends the object. False: none can be called.
  bool one_by_one(const clang::CXXRecordDecl& record) {
    std::vector<const clang::CXXMethodDecl*> callable;
    for (const clang::CXXMethodDecl* method : record.methods())
      for (int round = 0; round < kRounds; ++round) {
        serves_ = Caller::Line::Serve;
        for (const auto& [service, name] : served_) serve(*service, name);
        serves_ = Caller::Line::Call;
        if (!call_method(*method, "object")) break;
        if (round == 0) callable.push_back(method);
        arguments_.next_user();
      }
    if (callable.size() > 1)
      for (auto method = callable.rbegin(); method != callable.rend(); ++method) {
        call_method(**method, "object");
        arguments_.next_user();
      }
    serves_ = Caller::Line::Destroy;
    for (const clang::CXXMethodDecl* method : record.methods())
      if (ends_object(*method)) call_method(*method, "object", /*at_end=*/true);
    return !callable.empty();
  }

  bool in_turns(const clang::CXXRecordDecl& record) {
    constexpr int kTurns = 3;
    bool any = false;
    for (int round = 0; round < kTurns; ++round)
      for (const clang::CXXMethodDecl* method : record.methods())
        for (const char* const name : {"object", "other"}) {
          arguments_.next_user();
          any |= call_method(*method, name);
        }
    return any;
  }

  bool call_method(const clang::CXXMethodDecl& method, const std::string& object, bool at_end = false) {
    if (!is_method(method) || arguments_.is_long() || ends_object(method) != at_end) return false;
    const auto list = arguments_.given(method);
    if (list) called_.insert(method.getCanonicalDecl());
    if (list) call_of("(void)" + object + "." + method.getNameAsString() + "(" + *list + ");");
    return list.has_value();
  }

  void serve(const clang::CXXRecordDecl& service, const std::string& name) {
    if (way_.beside == 0) return call_rest(service, name, /*before=*/true);
    for (const clang::CXXMethodDecl* method : service.methods()) call_method(*method, name);
  }

  /// Calls methods that nothing in the file calls: other users do. Methods with arguments come first.
  void call_rest(const clang::CXXRecordDecl& record, const std::string& object, bool before) {
    if (!record.hasDefinition()) return;
    for (const clang::CXXMethodDecl* method : record.getDefinition()->methods())
      if (!file_.calls.contains(method->getCanonicalDecl()) &&
          (!before || (!method->isConst() && method->getNumParams() > 0)))
        call_method(*method, object);
  }

  /// If a call throws, the caller goes on with the next one.
  void call_of(const std::string& call) {
    const bool catches = symbols_.context().getLangOpts().CXXExceptions;
    const std::string whole = catches ? "try { " + call + " } catch (...) { " + kThrew + "(); }" : call;
    // After a call, callers that use PyTorch allocate memory.
    const std::string behind = torch_ ? std::string(" ") + kTorchCalled + "();" : "";
    arguments_.line(whole + behind, serves_);
  }

  bool is_given_streams(const clang::CXXRecordDecl& record) const {
    return std::ranges::any_of(record.methods(), [&](const clang::CXXMethodDecl* method) {
      return is_method(*method) && is_given_streams(*method);
    });
  }
  bool is_given_streams(const clang::FunctionDecl& function) const {
    return std::ranges::any_of(function.parameters(), [&](const clang::ParmVarDecl* parameter) {
      return symbols_.kind(parameter->getType().getNonReferenceType()) == ir::TypeKind::Stream;
    });
  }
  bool is_given_service(const clang::CXXConstructorDecl& constructor) const {
    return std::ranges::any_of(constructor.parameters(), [&](const clang::ParmVarDecl* parameter) {
      const clang::CXXRecordDecl* record = referred(parameter->getType());
      return record != nullptr && !symbols_.in_system_header(*record) && serves_several(symbols_, *record);
    });
  }

  Caller finish() { return std::move(result_); }

  Symbols& symbols_;
  const Way way_;
  const KnownOfFile& file_;
  const bool torch_;
  Caller result_;
  CallerArguments arguments_;
  Caller::Line serves_ = Caller::Line::Call;                                 ///< the kind of line that a call is
  WaysToWait::Functions called_;                                             ///< methods
  std::vector<std::pair<const clang::CXXRecordDecl*, std::string>> served_;  ///< objects whose methods other users call
};

}  // namespace

bool is_public_constructor(const clang::CXXConstructorDecl& constructor) {
  return constructor.getAccess() == clang::AS_public && !constructor.isDeleted() &&
         !constructor.isCopyOrMoveConstructor() && !constructor.isImplicit();
}

bool keeps_for_each_stream(Symbols& symbols, const clang::CXXRecordDecl& record) {
  return std::ranges::any_of(record.fields(), [&](const clang::FieldDecl* field) {
    const auto* inside =
        llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(field->getType()->getAsCXXRecordDecl());
    if (inside == nullptr || !inside->isInStdNamespace() || !inside->getName().ends_with("map")) return false;
    const clang::TemplateArgument& key = inside->getTemplateArgs()[0];
    return key.getKind() == clang::TemplateArgument::Type && symbols.kind(key.getAsType()) == ir::TypeKind::Stream;
  });
}

bool serves_several(Symbols& symbols, const clang::CXXRecordDecl& record) {
  return keeps_for_each_stream(symbols, record) ||
         std::ranges::any_of(record.fields(), [](const clang::FieldDecl* field) {
           const clang::CXXRecordDecl* inside = field->getType()->getAsCXXRecordDecl();
           return inside != nullptr && inside->isInStdNamespace() && inside->getName().ends_with("mutex");
         });
}

std::optional<Caller> caller_of(Symbols& symbols, const Way& way, const KnownOfFile& file,
                                const clang::FunctionDecl& function) {
  return Text(symbols, way, file).call(function);
}

std::optional<Caller> caller_of(Symbols& symbols, const Way& way, const KnownOfFile& file,
                                const clang::CXXRecordDecl& record, const clang::CXXConstructorDecl* constructor) {
  return Text(symbols, way, file).live(record, constructor);
}

}  // namespace streamsan::analyzer
