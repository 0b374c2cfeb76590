// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows a translation unit: its main(), or else the callers that are made up for its functions and classes.
#include "analyzer/interpreter/follow.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/interpreter/caller_text.h"
#include "analyzer/interpreter/callers.h"
#include "analyzer/interpreter/follower.h"
#include "analyzer/interpreter/judgement.h"
#include "analyzer/interpreter/late_parser.h"
#include "analyzer/interpreter/module.h"
#include "analyzer/interpreter/torch_text.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CrashRecoveryContext.h"

namespace streamsan::analyzer {
namespace {

using namespace interpreter;

/// Clang's code generator crashes on some code; findings up to then stay.
template <typename Work>
void guarded(Followed& result, const Work& work) {
  llvm::CrashRecoveryContext guard;
  llvm::CrashRecoveryContext::Enable();
  const bool whole = guard.RunSafely(work);
  llvm::CrashRecoveryContext::Disable();
  if (!whole) result.stopped = "a crash";
}

struct Conflict {
  Hazard hazard;
  bool of_array = false;  ///< Follower::Sides
};

/// The result of following one caller.
struct Shown {
  std::vector<Conflict> conflicts;
  bool gave_up = false;   ///< the program itself ended the run, or threw
  bool too_much = false;  ///< it asked for more steps or threads than there are
};

std::string way_of(const Caller& caller) {
  const std::string name = caller.record == nullptr ? "" : "'" + caller.record->getNameAsString() + "'";
  const std::string shows =
      std::string(caller.empty ? ", with empty lists" : "") + " (--dump-ir shows how); that was followed to here";
  if (caller.record == nullptr)
    return std::string("a call with arguments that were made up") + (caller.empty ? ", with empty lists" : "") +
           " (--dump-ir shows them) was followed to here";
  if (caller.users == Caller::Users::Objects)
    return "two objects of " + name +
           " that share another one were made, and their public methods were called in turns" + shows;
  return "an object of " + name +
         " was made, and its public methods were called, each several times, in the order in " + "which they stand" +
         (caller.users == Caller::Users::Streams ? ", each time with another stream as it serves several"
          : !caller.beside.empty()
              ? ", each time after those of an object of '" + caller.beside + "' that shares another one with it"
          : caller.users == Caller::Users::Others ? ", each time after those of the objects that it was given"
                                                  : "") +
         shows;
}

/// Follows one caller; and again with more parameters in host memory, until all are where the program wants them.
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
    Judgement judgement(caller, function, host, follower.cuda(), symbols, options);
    if (waits) judgement.somebody_waits();
    follower.counts = [&](const ordering::Hazard& hazard) { return judgement.counts(hazard); };
    follower.way = way_of(caller);
    Machine machine(*host.module(), follower, most_steps);
    machine.give_way_after_calls();
    machine.run(function);
    if (machine.fault() != 0) follower.torch().blame(machine.fault());
    const auto given_as = machine.fault() == 0 ? std::nullopt : follower.cuda().given_as(machine.fault());
    if (follower.torch().guesses_better() || (given_as && of_host.insert(*given_as).second)) {
      result.steps += machine.steps();
      continue;
    }
    follower.end(machine);
    result.steps += machine.steps();
    if (!waits && judgement.depends_on_waits() && judgement.waited()) {
      waits = true;
      continue;
    }
    for (const std::string& name : followed.unknown)
      if (std::ranges::find(result.unknown, name) == result.unknown.end()) result.unknown.push_back(name);
    result.callers.push_back({caller.text, machine.stopped(), judgement.thrown()});
    if (options.wants_runs && machine.stopped().empty()) result.runs.push_back(follower.run());
    Shown shown{.conflicts = {},
                .gave_up = machine.gave_up() || !follower.cuda().threw().empty(),
                .too_much = machine.asked_too_much()};
    for (std::size_t i = 0; i < followed.hazards.size(); ++i)
      if (const Follower::Sides& sides = follower.sides()[i];
          !judgement.threw(sides) && !judgement.offers_order(sides) && !judgement.offers_wait(sides) &&
          !judgement.offers_graph(sides))
        shown.conflicts.push_back({std::move(followed.hazards[i]), sides.of_array});
    return shown;
  }
  result.callers.push_back({caller.text, "no end: which memory is the host's was not found out", {}});
  return {};
}

auto place(const Where& where) { return std::tie(where.site.file, where.site.line, where.site.column); }

/// The two are of one check and have a side in common: flags select between ways to do a thing.
bool are_alike(const Hazard& a, const Hazard& b) {
  if (a.check != b.check || a.level != b.level || a.earlier.has_value() != b.earlier.has_value()) return false;
  return place(a.later.where) == place(b.later.where) ||
         (a.earlier && place(a.earlier->where) == place(b.earlier->where));
}

bool is_among(const std::vector<Conflict>& conflicts, const Conflict& wanted) {
  return std::ranges::any_of(conflicts, [&](const Conflict& each) { return are_alike(each.hazard, wanted.hazard); });
}

/// The result of a group of callers.
struct Variants {
  std::vector<Conflict> conflicts;  ///< those that all callers show, so that none depends on a made-up flag
  bool any = false;
  bool ended = false;    ///< one of them ran to its end
  bool refused = false;  ///< the program refused the arguments of one of them
  std::size_t of = 0;    ///< this and the next fields: those of its callers
  bool alike = true, empty = false;
  Caller::Users users = Caller::Users::One;

  /// A caller that gave up before it showed anything does not count.
  void add(Shown shown) {
    ended |= !shown.gave_up && !shown.too_much;
    refused |= shown.gave_up && !shown.too_much;
    const auto is_shown = [](const Conflict& each) { return each.hazard.level != Level::Latent; };
    if (shown.gave_up && std::ranges::none_of(shown.conflicts, is_shown)) return;
    if (any)
      std::erase_if(conflicts, [&](const Conflict& mine) { return !is_among(shown.conflicts, mine); });
    else
      conflicts = std::move(shown.conflicts);
    any = true;
  }
};

/// The conflicts that all groups show. Two numbers may have to differ, so a conflict counts if it shows with different
/// numbers. A conflict of two streams of one array must also show with equal numbers.
std::vector<Hazard> found_in(const std::map<std::size_t, Variants>& groups) {
  const auto shows = [&](const Variants& group, const Conflict& conflict) {
    bool any = false;
    for (const auto& [number, other] : groups) {
      if (other.of != group.of || other.users != group.users || other.empty || other.alike == group.alike) continue;
      if (is_among(other.conflicts, conflict)) return true;
      any |= other.any || other.refused;
    }
    return !any;
  };
  std::vector<Hazard> result;
  for (const auto& [number, group] : groups)
    for (const Conflict& conflict : group.conflicts)
      if (!(conflict.of_array || group.alike) || group.empty || shows(group, conflict))
        result.push_back(conflict.hazard);
  return result;
}

/// Takes a declaration out of a unit. Of those that declare one thing, parts of a namespace for example, names are
/// found in the last one alone; DeclContext takes a name for found in each.
void take_out(clang::TranslationUnitDecl& unit, clang::Decl& declaration) {
  auto* named = llvm::dyn_cast<clang::NamedDecl>(&declaration);
  if (named == nullptr || named->getDeclName().isEmpty() ||
      llvm::is_contained(named->getDeclContext()->noload_lookup(named->getDeclName()), named)) {
    unit.removeDecl(&declaration);
    return;
  }
  const clang::DeclarationName name = named->getDeclName();
  named->setDeclName({});
  unit.removeDecl(named);
  named->setDeclName(name);
}

/// Removes from a translation unit the declarations that were added behind its last one, so that later code does not
/// see the callers. Instances of templates that were made for callers stay.
class OnlyItsOwn {
 public:
  /// `known`: a declaration of the unit; those before it are not walked through again.
  explicit OnlyItsOwn(clang::TranslationUnitDecl& unit, clang::Decl* known = nullptr) : unit_(unit), last_(known) {
    keep_all();
  }
  ~OnlyItsOwn() {
    std::vector<clang::Decl*> added;
    for (clang::Decl* each = last_ == nullptr ? nullptr : last_->getNextDeclInContext(); each != nullptr;
         each = each->getNextDeclInContext())
      added.push_back(each);
    for (clang::Decl* each : added) take_out(unit_, *each);
  }
  void keep_all() {
    for (clang::Decl* each = last_ == nullptr ? *unit_.decls_begin() : last_; each != nullptr;
         each = each->getNextDeclInContext())
      last_ = each;
  }
  /// The last declaration that is kept.
  [[nodiscard]] clang::Decl* last() const { return last_; }
  OnlyItsOwn(const OnlyItsOwn&) = delete;
  OnlyItsOwn& operator=(const OnlyItsOwn&) = delete;

 private:
  clang::TranslationUnitDecl& unit_;
  clang::Decl* last_;
};

/// Adds the text of what libtorch defines (torch_text.h). False: the file does not use PyTorch.
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
    if (options.wants_runs && machine.stopped().empty()) result.runs.push_back(follower.run());
    result.steps = machine.steps();
    result.stopped = machine.stopped();
  });
  diagnostics.setSuppressAllDiagnostics(suppressed);  // after a crash of the parser
  return result;
}

namespace {

/// `left_out`: counts the functions and classes without a caller; says whether look-alikes get one.
Followed follow_callers(clang::ASTContext& context, const Models& models, clang::Preprocessor& preprocessor,
                        const FollowOptions& options, LeftOut& left_out) {
  Followed result;
  if (context.getDiagnostics().hasUncompilableErrorOccurred()) return result;
  const OnlyItsOwn only(*context.getTranslationUnitDecl());
  clang::DiagnosticsEngine& diagnostics = context.getDiagnostics();
  const bool suppressed = diagnostics.getSuppressAllDiagnostics();
  guarded(result, [&] {
    Symbols symbols(context, models);
    LateParser parser(preprocessor);
    if (!parser.parse(kGivenFunctions)) return;
    std::vector<Caller> written = callers(symbols, left_out);  // not of what is parsed from here on
    if (left_out.too_many != 0)
      result.callers.push_back(
          {std::to_string(left_out.too_many) + " functions and classes", "there are too many of them", {}});
    if (left_out.look_alikes != 0)
      result.callers.push_back(
          {std::to_string(left_out.look_alikes) + (left_out.look_alikes == 1 ? " function" : " functions"),
           "two that differ from them in what their kernels compute show something",
           {}});
    const bool torch = parse_torch(parser, context);
    std::vector<Caller> made;
    std::set<std::size_t> incomplete;  // groups
    clang::Decl* known = only.last();
    for (Caller& caller : written) {
      OnlyItsOwn before(*context.getTranslationUnitDecl(), known);
      if (parser.parse(caller.text)) {
        before.keep_all();
        known = before.last();
        made.push_back(std::move(caller));
      } else {
        incomplete.insert(caller.group);
        result.callers.push_back({std::move(caller.text), "it is no C++", {}});
      }
    }
    std::erase_if(made, [&](const Caller& caller) { return incomplete.contains(caller.group); });
    result.there = !written.empty();
    if (made.empty()) return;
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
      const auto before = groups.find(caller.instead_of);
      if (caller.instead_of != 0 && (before == groups.end() || before->second.ended)) continue;
      const llvm::Function* entry = host.module()->getFunction(caller.name);
      if (entry == nullptr || entry->isDeclaration()) continue;
      Variants& group = groups[caller.group];
      group.of = caller.of;
      group.alike = caller.alike;
      group.empty = caller.empty;
      group.users = caller.users;
      group.add(follow_caller(caller, *entry, symbols, host, options, most_of_caller, result));
      last = caller.group;
    }
    result.hazards = found_in(groups);
  });
  diagnostics.setSuppressAllDiagnostics(suppressed);  // after a crash of the parser
  return result;
}

}  // namespace

Followed follow_callers(clang::ASTContext& context, const Models& models, clang::Preprocessor& preprocessor,
                        const FollowOptions& options) {
  LeftOut left_out{.spares_look_alikes = true};
  Followed result = follow_callers(context, models, preprocessor, options, left_out);
  const auto is_shown = [](const Hazard& hazard) { return hazard.level != Level::Latent; };
  // A mistake of one of them is one of each of them.
  if (left_out.look_alikes != 0 && std::ranges::any_of(result.hazards, is_shown)) {
    left_out = {.next_number = left_out.next_number};
    result = follow_callers(context, models, preprocessor, options, left_out);
  }
  return result;
}

}  // namespace streamsan::analyzer
