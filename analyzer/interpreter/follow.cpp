// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What of a translation unit is followed: its main(), or else the callers that are made up for its functions and classes.
#include "analyzer/interpreter/follow.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/interpreter/callers.h"
#include "analyzer/interpreter/follower.h"
#include "analyzer/interpreter/late_parser.h"
#include "analyzer/interpreter/module.h"
#include "analyzer/interpreter/torch_text.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/DeclCXX.h"
#include "llvm/IR/DebugLoc.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CrashRecoveryContext.h"

namespace streamsan::analyzer {
namespace {

using namespace interpreter;

/// Clang's code generator gives up on some code by a crash; what was found up to then stays.
template <typename Work>
void guarded(Followed& result, const Work& work) {
  llvm::CrashRecoveryContext guard;
  llvm::CrashRecoveryContext::Enable();
  const bool whole = guard.RunSafely(work);
  llvm::CrashRecoveryContext::Disable();
  if (!whole) result.stopped = "a crash";
}

/// Which conflicts a made-up caller shows to be those of any caller.
class Judgement {
 public:
  Judgement(const Caller& caller, const llvm::Function& function, const Cuda& cuda, const FollowOptions& options)
      : caller_(caller),
        function_(function),
        cuda_(cuda),
        closed_(is_among(options.closed) && !gives_objects()),
        exposing_(is_among(options.exposing)) {}

  [[nodiscard]] bool is_closed() const { return closed_; }
  /// A method waits, or asks: its class is not closed.
  void somebody_waits() { closed_ = false; }
  [[nodiscard]] bool waited() const {
    return std::ranges::any_of(cuda_.waits(), [&](ordering::SiteId site) {
      const auto at = line(site);
      return at && caller_.lines[*at] == Caller::Line::Call;
    });
  }

  /// Both operations are of one call; or nobody but the class itself can wait for their streams.
  [[nodiscard]] bool counts(const ordering::Hazard& hazard) const {
    const auto earlier = line(hazard.earlier.site), later = line(hazard.later.site);
    if (!earlier || !later) return false;
    // Whether the caller's memory is pinned is not known.
    const auto by_host = [](const ordering::Access& access) { return access.source == ordering::AccessSource::Host; };
    if ((by_host(hazard.earlier) || by_host(hazard.later)) && cuda_.given_as(hazard.allocation.range.begin))
      return false;
    // Who gives a tensor to be written keeps it.
    if (hazard.kind == ordering::HazardKind::ReuseWhileInUse && cuda_.given_as(hazard.allocation.range.begin) &&
        hazard.earlier.mode != ordering::AccessMode::Read)
      return false;
    // The caller's streams may be one, and that of an object that shows it.
    const bool by_caller = is_anybodys(hazard.earlier) || is_anybodys(hazard.later);
    if (by_caller && (exposing_ || (is_anybodys(hazard.earlier) && is_anybodys(hazard.later)))) return false;
    if (*earlier == *later) return true;
    return closed_ && of_object(*earlier) && of_object(*later) && is_own(hazard.earlier) && is_own(hazard.later);
  }

 private:
  /// Of the caller's text; nullopt: another thread's.
  [[nodiscard]] std::optional<std::size_t> line(ordering::SiteId site) const {
    const Place& place = cuda_.place(site);
    if (place.empty() || place.back() == nullptr || place.back()->getFunction() != &function_) return std::nullopt;
    const llvm::DebugLoc& at = place.back()->getDebugLoc();
    if (!at || at.getLine() == 0 || at.getLine() > caller_.lines.size()) return std::nullopt;
    return at.getLine() - 1;
  }
  [[nodiscard]] bool of_object(std::size_t line) const { return caller_.lines[line] != Caller::Line::Other; }
  [[nodiscard]] bool is_own(const ordering::Access& access) const {
    return !access.on_stream || !cuda_.is_given(access.stream);
  }
  [[nodiscard]] bool is_anybodys(const ordering::Access& access) const {
    if (!access.on_stream) return false;
    const ordering::StreamKind kind = cuda_.kind(access.stream);
    return cuda_.is_given(access.stream) || kind == ordering::StreamKind::Legacy ||
           kind == ordering::StreamKind::PerThread;
  }

  /// What a method returns may wait: a ticket, a future.
  [[nodiscard]] bool gives_objects() const {
    return std::ranges::any_of(caller_.record->methods(), [](const clang::CXXMethodDecl* method) {
      clang::QualType type = method->getReturnType().getNonReferenceType();
      while (type->isPointerType()) type = type->getPointeeType();
      return method->getAccess() == clang::AS_public && type->isRecordType() && !method->isOverloadedOperator();
    });
  }
  [[nodiscard]] bool is_among(const std::set<std::string>& constructors) const {
    return caller_.record != nullptr &&
           std::ranges::any_of(caller_.record->ctors(), [&](const clang::CXXConstructorDecl* each) {
             return constructors.contains(Symbols::usr(*each));
           });
  }

  const Caller& caller_;
  const llvm::Function& function_;
  const Cuda& cuda_;
  bool closed_, exposing_;
};

/// What one caller showed.
struct Shown {
  std::vector<Hazard> hazards;
  bool gave_up = false;  ///< the program itself ended it: its arguments do not suit
};

/// Follows one caller, and again with more of its memory in the host's, until it is right about that.
Shown follow_caller(const Caller& caller, const llvm::Function& function, Symbols& symbols, const HostModule& host,
                    const FollowOptions& options, std::uint64_t most_steps, Followed& result) {
  constexpr std::size_t kMostTries = 24;
  std::set<Word> of_host;
  TensorGuesses guesses;
  bool waits = false;
  for (std::size_t tries = 0; tries < kMostTries; ++tries) {
    Followed followed;
    Follower follower(symbols, host, options, followed);
    follower.cuda().keep_in_host(of_host);
    follower.torch().make_up(guesses);
    Judgement judgement(caller, function, follower.cuda(), options);
    if (waits) judgement.somebody_waits();
    follower.counts = [&](const ordering::Hazard& hazard) { return judgement.counts(hazard); };
    follower.way = caller.record != nullptr
                       ? "an object of '" + caller.record->getNameAsString() +
                             "' was made, and its public methods were called, each several times, in the order "
                             "in which they stand (--dump-ir shows how); that was followed to here"
                       : "a call with arguments that were made up (--dump-ir shows them) was followed to here";
    Machine machine(*host.module(), follower, most_steps);
    machine.run(function);
    if (machine.fault() != 0) follower.torch().blame(machine.fault());
    const auto given_as = machine.fault() == 0 ? std::nullopt : follower.cuda().given_as(machine.fault());
    if (follower.torch().guesses_better() || (given_as && of_host.insert(*given_as).second)) {
      result.steps += machine.steps();
      continue;
    }
    follower.end(machine);
    result.steps += machine.steps();
    if (!waits && judgement.is_closed() && judgement.waited()) {
      waits = true;
      continue;
    }
    for (const std::string& name : followed.unknown)
      if (std::ranges::find(result.unknown, name) == result.unknown.end()) result.unknown.push_back(name);
    result.callers.push_back({caller.text, machine.stopped()});
    return {std::move(followed.hazards), machine.gave_up()};
  }
  result.callers.push_back({caller.text, "no end: which memory is the host's was not found out"});
  return {};
}

auto place(const Where& where) { return std::tie(where.site.file, where.site.line, where.site.column); }

/// Those of both: what depends on a flag that was made up is nothing.
std::vector<Hazard> common(std::vector<Hazard> a, const std::vector<Hazard>& b) {
  std::erase_if(a, [&](const Hazard& mine) {
    return std::ranges::none_of(b, [&](const Hazard& other) {
      return mine.check == other.check && place(mine.later.where) == place(other.later.where) &&
             place(mine.earlier->where) == place(other.earlier->where);
    });
  });
  return a;
}

/// Callers of one group.
struct Variants {
  std::vector<Hazard> hazards;  ///< what all of them show
  bool any = false;
  bool ended = false;  ///< one of them, by no fault of its arguments

  /// One that gave up before it showed anything has no say.
  void add(Shown shown) {
    ended |= !shown.gave_up;
    if (shown.gave_up && shown.hazards.empty()) return;
    hazards = any ? common(std::move(hazards), shown.hazards) : std::move(shown.hazards);
    any = true;
  }
};

/// Takes out of a translation unit what was added behind its last declaration: what looks at it next knows nothing of
/// callers. What templates were made into for them stays with its template.
class OnlyItsOwn {
 public:
  explicit OnlyItsOwn(clang::TranslationUnitDecl& unit) : unit_(unit) { keep_all(); }
  ~OnlyItsOwn() {
    std::vector<clang::Decl*> added;
    for (clang::Decl* each = last_ == nullptr ? nullptr : last_->getNextDeclInContext(); each != nullptr;
         each = each->getNextDeclInContext())
      added.push_back(each);
    for (clang::Decl* each : added) unit_.removeDecl(each);
  }
  void keep_all() {
    for (clang::Decl* each = last_ == nullptr ? *unit_.decls_begin() : last_; each != nullptr;
         each = each->getNextDeclInContext())
      last_ = each;
  }
  OnlyItsOwn(const OnlyItsOwn&) = delete;
  OnlyItsOwn& operator=(const OnlyItsOwn&) = delete;

 private:
  clang::TranslationUnitDecl& unit_;
  clang::Decl* last_ = nullptr;
};

/// What libtorch has, for files that use it. False: they do not.
bool parse_torch(LateParser& parser, clang::ASTContext& context) {
  if (!has_torch(context)) return false;
  for (const char* const text : torch_text()) {
    OnlyItsOwn before(*context.getTranslationUnitDecl());
    if (parser.parse(text))
      before.keep_all();
    else if (text == torch_text().front())
      break;
  }
  return true;
}

}  // namespace

Followed follow_main(clang::ASTContext& context, const Models& models, clang::Preprocessor* preprocessor,
                     const FollowOptions& options) {
  Followed result;
  if (context.getDiagnostics().hasUncompilableErrorOccurred()) return result;
  const clang::FunctionDecl* main = nullptr;
  for (const clang::Decl* declaration : context.getTranslationUnitDecl()->decls()) {
    const auto* function = llvm::dyn_cast<clang::FunctionDecl>(declaration);
    if (function != nullptr && function->isMain() && function->doesThisDeclarationHaveABody()) main = function;
  }
  if (main == nullptr) return result;
  result.there = true;
  const OnlyItsOwn only(*context.getTranslationUnitDecl());
  clang::DiagnosticsEngine& diagnostics = context.getDiagnostics();
  const bool suppressed = diagnostics.getSuppressAllDiagnostics();
  guarded(result, [&] {
    if (preprocessor != nullptr) {
      LateParser parser(*preprocessor);
      parse_torch(parser, context);
    }
    const HostModule host(context);
    const llvm::Function* entry = host.module() == nullptr ? nullptr : host.module()->getFunction("main");
    if (entry == nullptr || entry->isDeclaration()) {
      result.stopped = "no code could be made of it";
      return;
    }
    Symbols symbols(context, models);
    Follower follower(symbols, host, options, result);
    Machine machine(*host.module(), follower, options.most_steps);
    machine.run(*entry);
    follower.end(machine);
    result.steps = machine.steps();
    result.stopped = machine.stopped();
  });
  diagnostics.setSuppressAllDiagnostics(suppressed);  // after a crash of the parser
  return result;
}

Followed follow_callers(clang::ASTContext& context, const Models& models, clang::Preprocessor& preprocessor,
                        const FollowOptions& options) {
  Followed result;
  if (context.getDiagnostics().hasUncompilableErrorOccurred()) return result;
  const OnlyItsOwn only(*context.getTranslationUnitDecl());
  clang::DiagnosticsEngine& diagnostics = context.getDiagnostics();
  const bool suppressed = diagnostics.getSuppressAllDiagnostics();
  guarded(result, [&] {
    Symbols symbols(context, models);
    LateParser parser(preprocessor);
    if (!parser.parse(kGivenFunctions)) return;
    std::vector<Caller> written = callers(symbols);  // not of what is parsed from here on
    const bool torch = parse_torch(parser, context);
    std::vector<Caller> made;
    std::set<std::size_t> incomplete;  // groups
    for (Caller& caller : written) {
      std::optional<OnlyItsOwn> before(std::in_place, *context.getTranslationUnitDecl());
      if (parser.parse(caller.text)) {
        before->keep_all();
        made.push_back(std::move(caller));
      } else {
        incomplete.insert(caller.group);
        result.callers.push_back({std::move(caller.text), "it is no C++"});
      }
    }
    std::erase_if(made, [&](const Caller& caller) { return incomplete.contains(caller.group); });
    if (made.empty()) return;
    result.there = true;
    const HostModule host(context);
    if (host.module() == nullptr) return;
    std::map<std::size_t, Variants> groups;
    std::size_t last = 0;
    // Tensors take their steps.
    const std::uint64_t most_steps = options.most_steps * (torch ? 3 : 1), most_of_caller = torch ? 2'000'000 : 400'000;
    for (const Caller& caller : made) {
      if (result.steps > most_steps && caller.group != last) {
        result.stopped = "too many steps, before " + caller.name;
        break;
      }
      const auto before = groups.find(caller.group - 1);
      if (caller.in_place && (before == groups.end() || before->second.ended)) continue;
      const llvm::Function* entry = host.module()->getFunction(caller.name);
      if (entry == nullptr || entry->isDeclaration()) continue;
      groups[caller.group].add(follow_caller(caller, *entry, symbols, host, options, most_of_caller, result));
      last = caller.group;
    }
    for (auto& [number, group] : groups) std::ranges::move(group.hazards, std::back_inserter(result.hazards));
  });
  diagnostics.setSuppressAllDiagnostics(suppressed);  // after a crash of the parser
  return result;
}

}  // namespace streamsan::analyzer
