// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A made-up caller (callers.h) is one of many, and a conflict may be its own fault: it may call in an order that no
// real caller would, wait for nothing, or pass one object where two are meant. So a conflict counts only if no caller
// could have avoided it: docs/streamsan-tidy.md has the list, under "Files without a main()". Some conditions are known
// only at the end of the run, or need a second run: see follow_caller() in follow.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "analyzer/interpreter/caller_text.h"
#include "analyzer/interpreter/callers.h"
#include "analyzer/interpreter/follow.h"
#include "analyzer/interpreter/follower.h"
#include "analyzer/interpreter/module.h"
#include "clang/AST/Decl.h"
#include "clang/AST/DeclCXX.h"
#include "llvm/IR/DebugLoc.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"

namespace streamsan::analyzer::interpreter {

/// Decides which conflicts of a made-up caller would be conflicts of any caller.
class Judgement {
 public:
  Judgement(const Caller& caller, const llvm::Function& function, const HostModule& host, const Cuda& cuda,
            Symbols& symbols, const FollowOptions& options)
      : caller_(caller),
        host_(host),
        function_(function),
        cuda_(cuda),
        gives_objects_(gives_objects(symbols)),
        share_(caller.users == Caller::Users::Objects),
        closed_((share_ ? caller.offer != WaysToWait::Offer::Anything : is_among(options.closed)) && !gives_objects_),
        serves_(caller.users == Caller::Users::Others),
        delivers_(serves_ && caller.offer == WaysToWait::Offer::Nothing && !gives_objects_),
        exposing_(is_among(options.exposing)),
        several_(caller.users == Caller::Users::Streams),
        by_mutex_(caller.record != nullptr && !keeps_for_each_stream(symbols, *caller.record)) {}

  [[nodiscard]] bool depends_on_waits() const {
    return closed_ || delivers_ || several_ || orders_its_calls_ || guards_;
  }
  /// A method waits, or queries: real callers may call it between two calls.
  void somebody_waits() {
    closed_ = delivers_ = several_ = false;
    waits_ = true;
  }
  [[nodiscard]] bool waited() const {
    return std::ranges::any_of(cuda_.waits(), [&](ordering::SiteId site) {
      const auto at = line(site);
      return at && (caller_.lines[*at] == Caller::Line::Call || caller_.lines[*at] == Caller::Line::Serve);
    });
  }

  /// Does the conflict count? If both operations belong to one call, or only the class itself could wait for their
  /// streams.
  [[nodiscard]] bool counts(const ordering::Hazard& hazard) {
    const auto earlier = line(hazard.earlier.site), later = line(hazard.later.site);
    if (!earlier || !later) return false;
    // Whether the caller's memory is pinned is not known.
    const auto by_host = [](const ordering::Access& access) { return access.source == ordering::AccessSource::Host; };
    if ((by_host(hazard.earlier) || by_host(hazard.later)) && cuda_.given_as(hazard.allocation.range.begin))
      return false;
    // The arguments of two calls may be two different objects.
    if (caller_.again != 0 && std::max(*earlier, *later) >= caller_.again &&
        cuda_.given_as(hazard.allocation.range.begin))
      return false;
    // A caller that passes a tensor to be written still owns it.
    if (hazard.kind == ordering::HazardKind::ReuseWhileInUse && cuda_.given_as(hazard.allocation.range.begin) &&
        hazard.earlier.mode != ordering::AccessMode::Read)
      return false;
    // Two streams of the caller's may be one, and so may a stream that an object exposes. Those of one array differ.
    const bool by_caller = is_anybodys(hazard.earlier) || is_anybodys(hazard.later);
    const bool several = hazard.earlier.on_stream && hazard.later.on_stream &&
                         cuda_.are_several(hazard.earlier.stream, hazard.later.stream);
    const bool all_callers = is_anybodys(hazard.earlier) && is_anybodys(hazard.later);
    const bool two = all_callers && is_ordered(hazard, false);
    if (by_caller && !several && !two && (exposing_ || all_callers)) return false;
    if (*earlier == *later && !in_turns(hazard, *earlier)) return true;
    if (outgrows_graph(hazard)) return true;
    if (caller_.empty) return false;  // loops over empty lists have no rounds
    // A thread of the program works for the call, during the call or after it: no caller can wait in between.
    if (const auto caused = cause(hazard.later.site);
        caused && caused == cause(hazard.earlier.site) && !are_two_turns(hazard))
      return true;
    if (!of_object(*earlier) || !of_object(*later)) return false;
    if (two && is_ordered(hazard, true) && !waits_ && !gives_objects_ &&
        !cuda_.given_as(hazard.allocation.range.begin)) {
      orders_its_calls_ = true;
      return true;
    }
    // Another user does not wait for the first user's stream before the host goes on.
    const bool beside =
        several || (by_host(hazard.later) && hazard.earlier.on_stream && cuda_.is_given(hazard.earlier.stream));
    if (beside && several_)
      return !cuda_.given_as(hazard.allocation.range.begin) &&
             (!by_mutex_ || (locked(hazard.earlier) && locked(hazard.later)));
    if (several) return false;
    // Other users call when it is time for them. That they call at this point is the made-up caller's choice.
    if (serves_ && caller_.lines[*later] == Caller::Line::Serve) return false;
    // No caller has an event to order the two streams. But two objects that were both given the same memory may use it
    // in turn. That does not count; memory that one object has made was handed over to the other, and counts.
    const bool delivered = serves_ && caller_.lines[*earlier] == Caller::Line::Serve;
    if (delivered && !caller_.beside.empty()) {
      const auto made = line(hazard.allocation.site);
      if (!made || caller_.lines[*made] != Caller::Line::Serve) return false;
    }
    if (delivered && waited_before(hazard, *later)) return false;
    if ((delivered ? delivers_ : closed_ && !is_shown(hazard.earlier)) && is_own(hazard.earlier) &&
        (delivered || is_own(hazard.later)))
      return true;
    const bool guards = this->guards(hazard, *earlier, *later);
    guards_ |= guards;
    if (guards || !overtakes_itself(hazard)) return guards;
    overtaking_.emplace(hazard.earlier.site, hazard.later.site);
    return true;
  }

  /// Asked at the end: a separate method makes the later stream wait for the earlier one. Callers are expected to call
  /// it in between.
  [[nodiscard]] bool offers_order(const Follower::Sides& sides) const {
    const auto from = line(sides.earlier), to = line(sides.later);
    if (!from || !to || *from == *to || !of_object(*from) || !of_object(*to)) return false;
    const bool by_anybody = serves_ || share_;
    const llvm::Function *const earlier = method(sides.earlier), *const later = method(sides.later);
    return std::ranges::any_of(cuda_.orders(), [&](const EventOrder& order) {
      const llvm::Function* const waiting = method(order.waited);
      return order.from == sides.from && order.to == sides.to && (by_anybody || method(order.recorded) == earlier) &&
             waiting != earlier && waiting != later;
    });
  }

  /// Asked at the end: a call overtakes an earlier call of the same method, but another method waits and returns
  /// nothing (or a status), or waits for the work that its argument selects. Callers are expected to call it in
  /// between.
  [[nodiscard]] bool offers_wait(const Follower::Sides& sides) const {
    return overtaking_.contains({sides.earlier, sides.later}) &&
           std::ranges::any_of(cuda_.waits(), [&](ordering::SiteId site) {
             const auto at = line(site);
             const llvm::Function* const waiting = method(site);
             if (!at || caller_.lines[*at] != Caller::Line::Call || waiting == nullptr || cuda_.only_asks(site) ||
                 waiting == method(sides.later))
               return false;
             const bool by_memory = waiting->hasStructRetAttr();
             return (waiting->getReturnType()->isVoidTy() && !by_memory) || gives_status(*waiting) ||
                    waiting->arg_size() > 1 + static_cast<std::size_t>(by_memory);
           });
  }

  /// Asked at the end: a launched graph uses memory that another call has freed, and a third method makes the graph
  /// anew or destroys it. Callers are expected to call it in between, unless it ends the object: then it frees memory
  /// and allocates none.
  [[nodiscard]] bool offers_graph(const Follower::Sides& sides) const {
    const auto known = outgrown_.find({sides.earlier, sides.later});
    if (known == outgrown_.end()) return false;
    const Word graph = cuda_.graph_of(sides.later);
    const auto any_in = [&](const std::vector<ordering::SiteId>& sites, const llvm::Function* of) {
      return std::ranges::any_of(sites, [&](ordering::SiteId site) { return method(site) == of; });
    };
    return std::ranges::any_of(cuda_.graph_changes(), [&](const Cuda::GraphChange& change) {
      const auto at = line(change.site);
      const llvm::Function* const by = method(change.site);
      return at && caller_.lines[*at] == Caller::Line::Call && by != method(sides.later) && by != known->second &&
             (change.graph == graph || change.graph == 0 || graph == 0) &&
             (any_in(cuda_.allocations(), by) || !any_in(cuda_.frees(), by));
    });
  }

  /// A call that threw did not do its work: conflicts with it do not count.
  [[nodiscard]] bool threw(const Follower::Sides& sides) const {
    return std::ranges::any_of(cuda_.threw(), [&](ordering::SiteId site) {
      const auto at = line(site);
      return at == line(sides.earlier) || at == line(sides.later);
    });
  }

  /// Lines of the caller's text, counted from 1, whose call has thrown.
  [[nodiscard]] std::set<std::size_t> thrown() const {
    std::set<std::size_t> result;
    for (const ordering::SiteId site : cuda_.threw())
      if (const auto at = line(site)) result.insert(*at + 1);
    return result;
  }

 private:
  /// The line of the caller's text that the site belongs to. nullopt: another thread's work.
  [[nodiscard]] std::optional<std::size_t> line(ordering::SiteId site) const {
    const Place& place = cuda_.place(site);
    return place.empty() || place.back() == nullptr ? std::nullopt : line(*place.back());
  }
  /// The object has waited for the stream in an earlier call: perhaps other users only work before that. Or its
  /// constructor has waited, for work that should have been done by then.
  [[nodiscard]] bool waited_before(const ordering::Hazard& hazard, std::size_t later) const {
    bool result = std::ranges::any_of(cuda_.orders(), [&](const EventOrder& order) {
      return hazard.earlier.on_stream && order.from == hazard.earlier.stream && hazard.later.on_stream &&
             order.to == hazard.later.stream && line(order.waited) < later;
    });
    cuda_.waits_for_nothing().for_each_empty([&](ordering::SiteId site) {
      const auto at = line(site);
      result |= at && caller_.lines[*at] == Caller::Line::Construct;
    });
    return result;
  }
  /// Does the program make one of the two streams wait for the other, as if they could differ? `by_calls`: the later
  /// stream waits, in one call, for the earlier stream of another call, as if callers did not wait between calls.
  [[nodiscard]] bool is_ordered(const ordering::Hazard& hazard, bool by_calls) const {
    const ordering::StreamId earlier = hazard.earlier.stream, later = hazard.later.stream;
    return earlier != later && std::ranges::any_of(cuda_.orders(), [&](const EventOrder& order) {
             if (by_calls)
               return order.from == earlier && order.to == later && line(order.recorded) != line(order.waited);
             return (order.from == earlier && order.to == later) || (order.from == later && order.to == earlier);
           });
  }
  /// The line with the call that the work of a thread is for.
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
  /// Before the access, the later call waits for an event that the earlier call recorded, so callers need not wait. If
  /// callers can wait, the event has to be of the stream in question: another event may be for other memory.
  [[nodiscard]] bool guards(const ordering::Hazard& hazard, std::size_t earlier, std::size_t later) const {
    const ordering::Access& access = hazard.later;
    return std::ranges::any_of(cuda_.orders(), [&](const EventOrder& order) {
      const bool before =
          order.to ? access.on_stream && *order.to == access.stream : access.source == ordering::AccessSource::Host;
      const bool offered = (serves_ || share_) && caller_.offer != WaysToWait::Offer::Nothing;
      const bool meant =
          !(waits_ || gives_objects_ || offered) || (hazard.earlier.on_stream && order.from == hazard.earlier.stream);
      return before && meant && line(order.recorded) == earlier && line(order.waited) == later;
    });
  }
  /// A call frees memory that a graph uses, and allocates other memory: the object lives on, and no wait helps. Callers
  /// cannot capture again either: the method that launches the graph captures it, or the constructor does.
  [[nodiscard]] bool outgrows_graph(const ordering::Hazard& hazard) {
    const auto captured = cuda_.captured(hazard.later.site);
    if (hazard.kind != ordering::HazardKind::UseAfterFree || !captured || cuda_.given_as(hazard.allocation.range.begin))
      return false;
    const auto freed = line(hazard.freed), launched = line(hazard.later.site), made = line(*captured);
    if (!freed || !launched || !made || !of_object(*freed) || !of_object(*launched) || *freed == *launched)
      return false;
    const bool captures = caller_.lines[*made] == Caller::Line::Construct ||
                          (method(*captured) != nullptr && method(*captured) == method(hazard.later.site));
    const bool found = captures && std::ranges::any_of(cuda_.allocations(), [&](ordering::SiteId allocated) {
                         return line(allocated) == freed;
                       });
    if (found) outgrown_.emplace(std::pair(hazard.earlier.site, hazard.later.site), method(hazard.freed));
    return found;
  }
  /// The two are calls of one method. It waits for its own work of an earlier call, which orders that work with the
  /// earlier access. If callers had to wait in between, this wait would be useless: so callers need not wait.
  [[nodiscard]] bool overtakes_itself(const ordering::Hazard& hazard) const {
    const llvm::Function* const own = method(hazard.earlier.site);
    if (own == nullptr || own != method(hazard.later.site) || gives_objects_ || !hazard.earlier.on_stream ||
        is_anybodys(hazard.earlier) || is_anybodys(hazard.later) || cuda_.given_as(hazard.allocation.range.begin))
      return false;
    const auto is_own = [&](const EventOrder& order) {
      return method(order.recorded) == own && method(order.waited) == own;
    };
    return std::ranges::any_of(cuda_.orders(), [&](const EventOrder& again) {
      return is_own(again) && line(again.recorded) < line(again.waited) &&
             std::ranges::any_of(
                 cuda_.orders(),
                 [&](const EventOrder& once) {
                   return is_own(once) && line(once.recorded) == line(once.waited) && once.from == again.from &&
                          once.to == hazard.earlier.stream;
                 });
    });
  }
  /// The method that the caller calls at the site. nullptr: another thread's work.
  [[nodiscard]] const llvm::Function* method(ordering::SiteId site) const {
    const Place& place = cuda_.place(site);
    return line(site) && place.size() >= 2 ? place[place.size() - 2]->getFunction() : nullptr;
  }
  /// The two belong to two pieces of work of a thread, or to two threads.
  [[nodiscard]] bool are_two_turns(const ordering::Hazard& hazard) const {
    const Cuda::Turn &earlier = cuda_.turn(hazard.earlier.site), &later = cuda_.turn(hazard.later.site);
    if (earlier.thread == 0 || later.thread == 0) return false;
    return earlier.thread != later.thread || earlier.turns != later.turns;
  }
  /// The thread lives as long as the object. The caller that asked for the second piece of work may have waited.
  [[nodiscard]] bool in_turns(const ordering::Hazard& hazard, std::size_t line_of_call) const {
    return caller_.lines[line_of_call] == Caller::Line::Construct && are_two_turns(hazard);
  }
  [[nodiscard]] bool locked(const ordering::Access& access) const { return cuda_.turn(access.site).locked; }
  [[nodiscard]] bool of_object(std::size_t line) const { return caller_.lines[line] != Caller::Line::Other; }
  [[nodiscard]] bool is_own(const ordering::Access& access) const {
    return !access.on_stream || !cuda_.is_given(access.stream);
  }
  /// Of objects that share another one, each lets callers wait for its own stream. They cannot expose the streams of
  /// the shared object.
  [[nodiscard]] bool is_shown(const ordering::Access& access) const {
    if (!share_ || caller_.offer == WaysToWait::Offer::Nothing || !access.on_stream) return false;
    const auto site = cuda_.made(access.stream);
    const auto at = site ? line(*site) : std::nullopt;
    return !at || caller_.lines[*at] != Caller::Line::Other;
  }
  [[nodiscard]] bool is_anybodys(const ordering::Access& access) const {
    if (!access.on_stream) return false;
    const ordering::StreamKind kind = cuda_.kind(access.stream);
    return cuda_.is_given(access.stream) || kind == ordering::StreamKind::Legacy ||
           kind == ordering::StreamKind::PerThread;
  }

  /// The function returns a status, and no computed value.
  [[nodiscard]] bool gives_status(const llvm::Function& function) const {
    const auto* declared = llvm::dyn_cast_or_null<clang::FunctionDecl>(host_.declaration(function.getName()));
    return declared != nullptr &&
           (declared->getReturnType()->isEnumeralType() || declared->getReturnType()->isBooleanType());
  }
  /// A method returns an object by which callers can wait: a ticket, a future.
  [[nodiscard]] bool gives_objects(Symbols& symbols) const {
    return caller_.record != nullptr &&
           std::ranges::any_of(caller_.record->methods(), [&](const clang::CXXMethodDecl* method) {
             const clang::QualType type = method->getReturnType();
             if (symbols.kind(type.getNonReferenceType()) == ir::TypeKind::Stream) return false;  // exposing_
             return method->getAccess() == clang::AS_public && !method->isOverloadedOperator() &&
                    may_wait(symbols, type);
           });
  }
  [[nodiscard]] bool is_among(const std::set<std::string>& constructors) const {
    return caller_.record != nullptr &&
           std::ranges::any_of(caller_.record->ctors(), [&](const clang::CXXConstructorDecl* each) {
             return constructors.contains(Symbols::usr(*each));
           });
  }

  const Caller& caller_;
  const HostModule& host_;
  const llvm::Function& function_;
  const Cuda& cuda_;
  bool gives_objects_;
  bool share_;  ///< two objects share a third one
  bool closed_;
  bool serves_;    ///< other users call methods of the objects that were lent
  bool delivers_;  ///< and no caller can wait for the work of these calls
  bool exposing_;
  bool several_;                   ///< the called function or class serves several streams
  bool by_mutex_;                  ///< the only sign of that is a mutex
  bool waits_ = false;             ///< a method waits
  bool orders_its_calls_ = false;  ///< a conflict counts because the class orders its calls itself
  bool guards_ = false;            ///< a conflict counts because of guards()
  std::set<std::pair<ordering::SiteId, ordering::SiteId>> overtaking_;  ///< for overtakes_itself(): (earlier, later)
  /// For outgrows_graph(): (earlier, later), and the method that freed the memory.
  std::map<std::pair<ordering::SiteId, ordering::SiteId>, const llvm::Function*> outgrown_;
};

}  // namespace streamsan::analyzer::interpreter
