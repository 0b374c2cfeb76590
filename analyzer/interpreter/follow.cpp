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

#include "analyzer/interpreter/caller_text.h"
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
  Judgement(const Caller& caller, const llvm::Function& function, const Cuda& cuda, Symbols& symbols,
            const FollowOptions& options)
      : caller_(caller),
        function_(function),
        cuda_(cuda),
        gives_objects_(gives_objects(symbols)),
        closed_((is_among(options.closed) || caller.users == Caller::Users::Objects) && !gives_objects_),
        exposing_(is_among(options.exposing)),
        several_(caller.users == Caller::Users::Streams),
        by_mutex_(caller.record != nullptr && !keeps_for_each_stream(symbols, *caller.record)) {}

  [[nodiscard]] bool depends_on_waits() const { return closed_ || several_ || orders_its_calls_ || guards_; }
  /// A method waits, or asks: others may wait between two calls.
  void somebody_waits() {
    closed_ = several_ = false;
    waits_ = true;
  }
  [[nodiscard]] bool waited() const {
    return std::ranges::any_of(cuda_.waits(), [&](ordering::SiteId site) {
      const auto at = line(site);
      return at && caller_.lines[*at] == Caller::Line::Call;
    });
  }

  /// Both operations are of one call; or nobody but the class itself can wait for their streams.
  [[nodiscard]] bool counts(const ordering::Hazard& hazard) {
    const auto earlier = line(hazard.earlier.site), later = line(hazard.later.site);
    if (!earlier || !later) return false;
    // Whether the caller's memory is pinned is not known.
    const auto by_host = [](const ordering::Access& access) { return access.source == ordering::AccessSource::Host; };
    if ((by_host(hazard.earlier) || by_host(hazard.later)) && cuda_.given_as(hazard.allocation.range.begin))
      return false;
    // What the caller gives for two calls may be two things.
    if (caller_.again != 0 && std::max(*earlier, *later) >= caller_.again &&
        cuda_.given_as(hazard.allocation.range.begin))
      return false;
    // Who gives a tensor to be written keeps it.
    if (hazard.kind == ordering::HazardKind::ReuseWhileInUse && cuda_.given_as(hazard.allocation.range.begin) &&
        hazard.earlier.mode != ordering::AccessMode::Read)
      return false;
    // The caller's streams may be one, and that of an object that shows it. Those of one array are not.
    const bool by_caller = is_anybodys(hazard.earlier) || is_anybodys(hazard.later);
    const bool several = hazard.earlier.on_stream && hazard.later.on_stream &&
                         cuda_.are_several(hazard.earlier.stream, hazard.later.stream);
    const bool all_callers = is_anybodys(hazard.earlier) && is_anybodys(hazard.later);
    const bool two = all_callers && is_ordered(hazard, false);
    if (by_caller && !several && !two && (exposing_ || all_callers)) return false;
    if (*earlier == *later && !in_turns(hazard, *earlier)) return true;
    // A thread of its own works for a call, while the call is made or when it is over: nobody else has waited in between.
    if (const auto caused = cause(hazard.later.site);
        caused && caused == cause(hazard.earlier.site) && !are_two_turns(hazard))
      return true;
    if (!of_object(*earlier) || !of_object(*later)) return false;
    if (two && is_ordered(hazard, true) && !waits_ && !gives_objects_ &&
        !cuda_.given_as(hazard.allocation.range.begin)) {
      orders_its_calls_ = true;
      return true;
    }
    // Another user would not wait for the first one's stream before the host goes on.
    const bool beside =
        several || (by_host(hazard.later) && hazard.earlier.on_stream && cuda_.is_given(hazard.earlier.stream));
    if (beside && several_)
      return !cuda_.given_as(hazard.allocation.range.begin) &&
             (!by_mutex_ || (locked(hazard.earlier) && locked(hazard.later)));
    if (several) return false;
    if (closed_ && is_own(hazard.earlier) && is_own(hazard.later)) return true;
    const bool guards = this->guards(hazard, *earlier, *later);
    guards_ |= guards;
    return guards;
  }

  /// To be asked at the end: is there a method of its own that makes the later stream wait? It is for callers to call it
  /// in between.
  [[nodiscard]] bool offers_order(const Follower::Sides& sides) const {
    const auto from = line(sides.earlier), to = line(sides.later);
    if (!from || !to || *from == *to || !of_object(*from) || !of_object(*to)) return false;
    const llvm::Function *const earlier = method(sides.earlier), *const later = method(sides.later);
    return std::ranges::any_of(cuda_.orders(), [&](const EventOrder& order) {
      const llvm::Function* const waiting = method(order.waited);
      return order.from == sides.from && order.to == sides.to && method(order.recorded) == earlier &&
             waiting != earlier && waiting != later;
    });
  }

  /// A call that throws has been asked for what it does not do: what it did shows nothing.
  [[nodiscard]] bool threw(const Follower::Sides& sides) const {
    return std::ranges::any_of(cuda_.threw(), [&](ordering::SiteId site) {
      const auto at = line(site);
      return at == line(sides.earlier) || at == line(sides.later);
    });
  }

 private:
  /// Of the caller's text; nullopt: another thread's.
  [[nodiscard]] std::optional<std::size_t> line(ordering::SiteId site) const {
    const Place& place = cuda_.place(site);
    return place.empty() || place.back() == nullptr ? std::nullopt : line(*place.back());
  }
  /// Does the program let one of the two streams wait for the other, as if they were two? `by_calls`: what does the later
  /// work in one call for what does the earlier in another, as if nobody else waited between calls.
  [[nodiscard]] bool is_ordered(const ordering::Hazard& hazard, bool by_calls) const {
    const ordering::StreamId earlier = hazard.earlier.stream, later = hazard.later.stream;
    return earlier != later && std::ranges::any_of(cuda_.orders(), [&](const EventOrder& order) {
             if (by_calls)
               return order.from == earlier && order.to == later && line(order.recorded) != line(order.waited);
             return (order.from == earlier && order.to == later) || (order.from == later && order.to == earlier);
           });
  }
  /// The line that makes the call for which it is done.
  [[nodiscard]] std::optional<std::size_t> cause(ordering::SiteId site) const {
    const llvm::Instruction* woken = cuda_.woken_at(site);
    return woken == nullptr ? line(site) : line(*woken);
  }
  [[nodiscard]] std::optional<std::size_t> line(const llvm::Instruction& instruction) const {
    if (instruction.getFunction() != &function_) return std::nullopt;
    const llvm::DebugLoc& at = instruction.getDebugLoc();
    if (!at || at.getLine() == 0 || at.getLine() > caller_.lines.size()) return std::nullopt;
    return at.getLine() - 1;
  }
  /// Before the access, the later call waits for an event that the earlier one recorded: who calls them need not. Where
  /// callers can wait, the event has to be of the stream in question: another one may be there for other memory.
  [[nodiscard]] bool guards(const ordering::Hazard& hazard, std::size_t earlier, std::size_t later) const {
    const ordering::Access& access = hazard.later;
    return std::ranges::any_of(cuda_.orders(), [&](const EventOrder& order) {
      const bool before =
          order.to ? access.on_stream && *order.to == access.stream : access.source == ordering::AccessSource::Host;
      const bool meant =
          !(waits_ || gives_objects_) || (hazard.earlier.on_stream && order.from == hazard.earlier.stream);
      return before && meant && line(order.recorded) == earlier && line(order.waited) == later;
    });
  }
  /// That the caller calls; nullptr: another thread's work.
  [[nodiscard]] const llvm::Function* method(ordering::SiteId site) const {
    const Place& place = cuda_.place(site);
    return line(site) && place.size() >= 2 ? place[place.size() - 2]->getFunction() : nullptr;
  }
  /// Two pieces of work of a thread, or the work of two.
  [[nodiscard]] bool are_two_turns(const ordering::Hazard& hazard) const {
    const Cuda::Turn &earlier = cuda_.turn(hazard.earlier.site), &later = cuda_.turn(hazard.later.site);
    if (earlier.thread == 0 || later.thread == 0) return false;
    return earlier.thread != later.thread || earlier.turns != later.turns;
  }
  /// The thread lives as long as the object: who asked for the second may have waited.
  [[nodiscard]] bool in_turns(const ordering::Hazard& hazard, std::size_t line_of_call) const {
    return caller_.lines[line_of_call] == Caller::Line::Construct && are_two_turns(hazard);
  }
  [[nodiscard]] bool locked(const ordering::Access& access) const { return cuda_.turn(access.site).locked; }
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
  [[nodiscard]] bool gives_objects(Symbols& symbols) const {
    return caller_.record != nullptr &&
           std::ranges::any_of(caller_.record->methods(), [&](const clang::CXXMethodDecl* method) {
             clang::QualType type = method->getReturnType().getNonReferenceType();
             if (symbols.kind(type) == ir::TypeKind::Stream) return false;  // exposing_
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
  bool gives_objects_, closed_, exposing_;
  bool several_;                   ///< what it calls serves several streams
  bool by_mutex_;                  ///< which says so by a mutex only
  bool waits_ = false;             ///< a method does
  bool orders_its_calls_ = false;  ///< the class does, and something counts for that
  bool guards_ = false;            ///< so does something for guards()
};

struct Conflict {
  Hazard hazard;
  bool of_array = false;  ///< Follower::Sides
};

/// What one caller showed.
struct Shown {
  std::vector<Conflict> conflicts;
  bool gave_up = false;   ///< the program itself ended it, or threw
  bool too_much = false;  ///< it asked for more steps or threads than there are
};

std::string way_of(const Caller& caller) {
  const std::string name = caller.record == nullptr ? "" : "'" + caller.record->getNameAsString() + "'";
  const std::string shows = " (--dump-ir shows how); that was followed to here";
  if (caller.record == nullptr)
    return "a call with arguments that were made up (--dump-ir shows them) was followed to here";
  if (caller.users == Caller::Users::Objects)
    return "two objects of " + name +
           " that share another one were made, and their public methods were called in turns" + shows;
  return "an object of " + name +
         " was made, and its public methods were called, each several times, in the order in " + "which they stand" +
         (caller.users == Caller::Users::Streams ? ", each time with another stream as it serves several" : "") + shows;
}

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
    Judgement judgement(caller, function, follower.cuda(), symbols, options);
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
    result.callers.push_back({caller.text, machine.stopped()});
    if (options.wants_runs && machine.stopped().empty()) result.runs.push_back(follower.run());
    Shown shown{.conflicts = {},
                .gave_up = machine.gave_up() || !follower.cuda().threw().empty(),
                .too_much = machine.asked_too_much()};
    for (std::size_t i = 0; i < followed.hazards.size(); ++i)
      if (const Follower::Sides& sides = follower.sides()[i]; !judgement.threw(sides) && !judgement.offers_order(sides))
        shown.conflicts.push_back({std::move(followed.hazards[i]), sides.of_array});
    return shown;
  }
  result.callers.push_back({caller.text, "no end: which memory is the host's was not found out"});
  return {};
}

auto place(const Where& where) { return std::tie(where.site.file, where.site.line, where.site.column); }

/// The same, on one side at least: flags choose between ways to do a thing.
bool are_alike(const Hazard& a, const Hazard& b) {
  if (a.check != b.check || a.earlier.has_value() != b.earlier.has_value()) return false;
  return place(a.later.where) == place(b.later.where) ||
         (a.earlier && place(a.earlier->where) == place(b.earlier->where));
}

bool is_among(const std::vector<Conflict>& conflicts, const Conflict& wanted) {
  return std::ranges::any_of(conflicts, [&](const Conflict& each) { return are_alike(each.hazard, wanted.hazard); });
}

/// Callers of one group.
struct Variants {
  std::vector<Conflict> conflicts;  ///< what all of them show: what depends on a flag that was made up is nothing
  bool any = false;
  bool ended = false;    ///< one of them ended, by no fault of its arguments
  bool refused = false;  ///< the program refused what one of them gave
  std::size_t of = 0;    ///< this and what follows: as of its callers
  bool alike = true;
  Caller::Users users = Caller::Users::One;

  /// One that gave up before it showed anything has no say.
  void add(Shown shown) {
    ended |= !shown.gave_up && !shown.too_much;
    refused |= shown.gave_up && !shown.too_much;
    if (shown.gave_up && shown.conflicts.empty()) return;
    if (any)
      std::erase_if(conflicts, [&](const Conflict& mine) { return !is_among(shown.conflicts, mine); });
    else
      conflicts = std::move(shown.conflicts);
    any = true;
  }
};

/// What all groups show. Who gives two numbers may have to give different ones: a conflict counts where they differ. One
/// of streams out of one array must be there where they are alike, too.
std::vector<Hazard> found_in(const std::map<std::size_t, Variants>& groups) {
  const auto shows = [&](const Variants& group, const Conflict& conflict) {
    bool any = false;
    for (const auto& [number, other] : groups) {
      if (other.of != group.of || other.users != group.users || other.alike == group.alike) continue;
      if (is_among(other.conflicts, conflict)) return true;
      any |= other.any || other.refused;
    }
    return !any;
  };
  std::vector<Hazard> result;
  for (const auto& [number, group] : groups)
    for (const Conflict& conflict : group.conflicts)
      if (!(conflict.of_array || group.alike) || shows(group, conflict)) result.push_back(conflict.hazard);
  return result;
}

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
    if (options.wants_runs && machine.stopped().empty()) result.runs.push_back(follower.run());
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
    std::size_t left_out = 0;
    std::vector<Caller> written = callers(symbols, left_out);  // not of what is parsed from here on
    if (left_out != 0)
      result.callers.push_back({std::to_string(left_out) + " functions and classes", "there are too many of them"});
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
      group.users = caller.users;
      group.add(follow_caller(caller, *entry, symbols, host, options, most_of_caller, result));
      last = caller.group;
    }
    result.hazards = found_in(groups);
  });
  diagnostics.setSuppressAllDiagnostics(suppressed);  // after a crash of the parser
  return result;
}

}  // namespace streamsan::analyzer
