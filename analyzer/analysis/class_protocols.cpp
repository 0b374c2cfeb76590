// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Short lives of an object: constructor, a few methods and destructor are joined to one function, which is closed and
// analysed like any other. So work that one method leaves in flight meets the next one's free, overwrite or host read.
//
// THE LIVES
//   (nothing)        members that end in the wrong order
//   a, b, a          for each pair of methods of which the first enqueues work
//   a, a, ... a      a method that goes through K slots, `next = (next + 1) % K`, comes back to the first one
//                    (ir/rings.h). If K is a field, two slots are supposed
// Parameters are unknown and differ from call to call, except streams: all calls of one method get the same one.
//
// WHAT IS REPORTED
// Between two calls the caller may have waited. So a conflict of two calls is reported only if no caller can wait:
//   * the work in flight is on a non-blocking stream that the class creates for itself and shows nobody;
//   * no public method waits, or could by its name or because its body is not in sight;
//   * no caller in sight, outside of the class, waits for anything.
// It is also reported if the class itself makes the one stream wait for the other somewhere: then it does not rely on
// its callers. A public method that does only that is one more way for callers to wait. The memory must be the
// object's: memory that a caller passes may have other owners. The level is at most Likely: that the one method is
// called after the other is itself a belief.
//
// A conflict inside of one call may be certain only with what the constructor or the call before has set: an index that
// is always 0, the stream of a library's handle. Such a conflict has to meet the same conditions, with two exceptions:
// the memory may be the caller's if no method sets the stream of a handle; and if one of the two streams is the
// caller's, methods and callers that wait do not excuse the conflict, because nobody waits within the call.
//
// Use after free, and handles used after they were destroyed, need no ordering to be wrong. They are reported if the
// end came from the constructor or the destructor: after `close()` a caller is to blame.
//
// A conflict on some paths only may always happen in objects of one mode: if a branch tests an integer of the object
// that only constructors write, the life is analysed again for each outcome.
//
// Findings that a function shows by itself are not reported again; see tidy/translation_unit.cpp. Cost: classes without
// an owned stream have no lives; the pairs of a class and the steps of all lives have limits.
#include "analyzer/analysis/class_protocols.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "analyzer/analysis/class_actions.h"
#include "analyzer/analysis/engine.h"
#include "analyzer/ir/graph_launches.h"
#include "analyzer/ir/hidden.h"
#include "analyzer/ir/paths.h"
#include "analyzer/ir/rings.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {
namespace {

using ir::ClassHarness;
using ir::Op;
using ir::Operand;
using ir::OpKind;
using ir::Place;

constexpr std::size_t kMostLives = 24;
constexpr std::uint64_t kMostWeight = 1500;  ///< ops of one life
constexpr std::int64_t kMostSlots = 8;
constexpr std::size_t kMostModes = 4;
constexpr const char* kUsr = "the life of an object";

class Lives {
 public:
  Lives(ir::Program& program, ir::Inliner& inliner, const Roles& roles, std::uint64_t& most_steps)
      : program_(program),
        inliner_(inliner),
        roles_(roles),
        most_steps_(most_steps),
        actions_(program),
        edges_(ordered_streams(program, [](const std::string&) { return true; })) {}

  void live(const ClassHarness& harness) {
    class_ = &harness;
    const ClassHarness::Member* constructor = nullptr;
    for (const auto& candidate : harness.constructors)
      if (constructor == nullptr || inliner_.weight(candidate.usr) > inliner_.weight(constructor->usr))
        constructor = &candidate;
    constructor_ = constructor;
    trusts_callers_ = harness.offers_wait || callers_wait() ||
                      std::ranges::any_of(harness.methods, [&](const auto& m) { return only_waits(m.usr); });
    offered_ = ordered_streams(program_, [&](const std::string& usr) {
      return !actions_.of(usr).enqueues &&
             std::ranges::any_of(harness.methods, [&](const auto& method) { return method.usr == usr; });
    });
    std::size_t left = kMostLives;
    // If no conflict of two calls could be reported, such lives are left out.
    const bool closed = !trusts_callers_ || orders_itself();
    bool lived = false;
    if (closed) {
      for (const auto& first : harness.methods) {
        const Actions& does = actions_.of(first.usr);
        if (!does.enqueues) continue;
        const std::int64_t slots = does.slots == 1 && does.supposes ? ir::kSupposedSlots : does.slots;
        std::vector<const ClassHarness::Member*> rounds(
            static_cast<std::size_t>(slots > 1 && slots <= kMostSlots ? slots + 1 : 2), &first);
        lived = live_once(rounds, left) || (rounds.size() > 2 && live_once({&first, &first}, left)) || lived;
        for (const auto& second : harness.methods)
          if (&first != &second && actions_.of(second.usr).meets)
            lived = live_once({&first, &second, &first}, left) || lived;
      }
    }
    // Conflicts inside of one call still count.
    if (!closed)
      for (const auto& method : harness.methods)
        if (actions_.of(method.usr).enqueues) lived = live_once({&method}, left) || lived;
    if (!lived) live_once({}, left);
  }

  std::vector<Hazard> take() { return std::move(hazards_); }

 private:
  /// The method exists to be called between two others.
  bool only_waits(const std::string& usr) { return actions_.of(usr).waits && !actions_.of(usr).enqueues; }

  /// Code outside of the class calls its methods, and waits.
  bool callers_wait() {
    std::set<std::string> members;
    for (const auto& member : class_->methods) members.insert(member.usr);
    std::set<std::string> inside = members;
    for (const auto& member : class_->constructors) inside.insert(member.usr);
    for (const Op& op : class_->end) inside.insert(op.callee);
    for (const auto& [usr, function] : program_.functions) {
      if (inside.contains(usr)) continue;
      bool calls = false, waits = false;
      for (const ir::Block& block : function.blocks)
        for (const Op& op : block.ops) {
          if (op.kind == OpKind::Call) calls = calls || members.contains(op.callee);
          const bool here = op.kind == OpKind::SyncStream || op.kind == OpKind::SyncEvent ||
                            op.kind == OpKind::SyncDevice || op.kind == OpKind::Complete || op.kind == OpKind::MaySync;
          waits =
              waits || here || (op.kind == OpKind::Call && !inside.contains(op.callee) && actions_.of(op.callee).waits);
        }
      if (calls && waits) return true;
    }
    return false;
  }

  bool orders_itself() const {
    return std::ranges::any_of(edges_, [&](const auto& edge) {
      return class_->streams.contains(edge.first) && class_->streams.contains(edge.second);
    });
  }

  // One life.

  ir::SiteId leg_site(ir::Function& life, const ir::Site& place, std::size_t leg) {
    ir::Site site = place;
    site.text.clear();
    site.leg = static_cast<std::uint32_t>(leg);
    return life.add(std::move(site));
  }

  Op call(ir::Function& life, const ClassHarness::Member& member, ir::SiteId site) {
    Op op{.kind = OpKind::Call, .site = site, .name = member.name};
    op.callee = member.usr;
    op.object = {.kind = Operand::Kind::Address, .place = class_->object};
    for (std::size_t i = 0; i < member.parameters.size(); ++i) {
      Place place = member.parameters[i];
      if (place.name.empty()) place.name = "argument";
      ir::PlaceId& stream = streams_.try_emplace({member.usr, i}, ir::kNoPlace).first->second;
      const bool is_stream = place.type == ir::TypeKind::Stream;
      place.number = static_cast<std::uint32_t>(life.parameters.size());
      const bool known = is_stream && stream != ir::kNoPlace;
      const ir::PlaceId id = known ? stream : life.add(place);
      if (!known) life.parameters.push_back(id);
      if (is_stream) stream = id;
      if (place.reference) {
        op.arguments.push_back({.kind = Operand::Kind::Address, .place = id});
      } else if (place.type == ir::TypeKind::Other) {
        op.arguments.push_back({.kind = Operand::Kind::Unknown});
      } else {
        op.arguments.push_back({.kind = Operand::Kind::Value, .place = id});
      }
    }
    return op;
  }

  /// False: it would take too many steps.
  bool live_once(const std::vector<const ClassHarness::Member*>& methods, std::size_t& left) {
    std::uint64_t weight = inliner_.weight(constructor_->usr);
    for (const auto* method : methods) weight += inliner_.weight(method->usr);
    for (const Op& op : class_->end) weight += inliner_.weight(op.callee);
    if (left == 0 || weight > kMostWeight || most_steps_ == 0) return false;
    --left;

    ir::Function life = class_->frame;
    life.usr = kUsr;
    streams_.clear();
    members_ = {constructor_};
    members_.insert(members_.end(), methods.begin(), methods.end());
    ir::Block block;
    for (std::size_t leg = 0; leg < members_.size(); ++leg)
      block.ops.push_back(call(life, *members_[leg], leg_site(life, members_[leg]->site, leg)));
    block.ops.insert(block.ops.end(), class_->end.begin(), class_->end.end());
    block.ops.push_back({.kind = OpKind::Return, .site = life.site});
    life.blocks.push_back(std::move(block));

    program_.functions[kUsr] = std::move(life);
    ir::Function closed = inliner_.close(kUsr);
    program_.functions.erase(kUsr);
    mode_.clear();
    suppose_slots(closed);
    if (!analyze_once(closed)) return true;
    // The outcome depends on how the object was made: analyse both kinds of objects.
    for (const auto& [text, place] : modes(closed))
      for (const bool holds : {true, false}) {
        mode_ = ", where '" + text + "' " + (holds ? "holds" : "does not hold");
        analyze_once(decided(closed, text, place, holds));
      }
    mode_.clear();
    return true;
  }

  /// Supposes two slots if a field of the object has their number and only constructors write it; unless these show
  /// that there are more.
  void suppose_slots(ir::Function& closed) {
    supposed_.clear();
    for (const ir::PlaceId number : ir::rings_of(closed).numbers) {
      if (!supposed_.empty() || ir::root(closed, number).place != class_->object) continue;
      const std::string key = ir::field_key(closed, number);
      if (key.empty() || changes(key) || !ir::may_be(closed, number, ir::kSupposedSlots)) continue;
      std::string name = ir::as_written(closed, number);
      if (ir::first_of(closed, number) == class_->object) name = of_this(name);
      supposed_ = " and '" + name + "' is " + std::to_string(ir::kSupposedSlots);
      ir::suppose(closed, number, ir::kSupposedSlots);
    }
  }

  /// True if a hazard is on some paths only, and would be reported otherwise.
  bool analyze_once(ir::Function closed) {
    ir::expand_graph_launches(closed);
    ir::tell_paths_apart(closed);
    EngineOptions options;
    options.most_steps = most_steps_;
    Verdict verdict = analyze(closed, program_, options, &roles_);
    most_steps_ -= std::min(most_steps_, verdict.steps);
    bool undecided = false;
    if (verdict.gave_up.empty())
      for (Hazard& hazard : verdict.hazards) undecided = consider(std::move(hazard)) || undecided;
    return undecided;
  }

  /// Conditions on one integer of the object that only constructors write: the mode of the object.
  std::vector<std::pair<std::string, ir::PlaceId>> modes(const ir::Function& closed) {
    std::vector<std::pair<std::string, ir::PlaceId>> result;
    for (const ir::Block& block : closed.blocks) {
      if (block.condition == ir::kNoExpr || block.successors.size() != 2 || result.size() == kMostModes) continue;
      const ir::Expr& condition = closed[block.condition];
      if (condition.uses.size() != 1 || ir::root(closed, condition.uses[0]).place != class_->object) continue;
      const std::string key = ir::field_key(closed, condition.uses[0]);
      if (key.empty() || closed[condition.uses[0]].type != ir::TypeKind::Integer || changes(key)) continue;
      const std::pair<std::string, ir::PlaceId> mode{condition.text, condition.uses[0]};
      if (std::ranges::find(result, mode) == result.end()) result.push_back(mode);
    }
    return result;
  }

  /// Some op of a function that is not a constructor satisfies `is_like`.
  template <typename IsLike>
  [[nodiscard]] bool outside_constructors(const IsLike& is_like) const {
    const auto builds = [&](const std::string& usr) {
      return std::ranges::any_of(class_->constructors, [&](const auto& constructor) { return constructor.usr == usr; });
    };
    return std::ranges::any_of(program_.functions, [&](const auto& known) {
      const auto in_block = [&](const ir::Block& block) {
        return std::ranges::any_of(block.ops, [&](const Op& op) { return is_like(known.second, op); });
      };
      return !builds(known.first) && std::ranges::any_of(known.second.blocks, in_block);
    });
  }

  [[nodiscard]] bool changes(const std::string& key) const {
    return outside_constructors([&](const ir::Function& function, const Op& op) {
      bool written = op.target != ir::kNoPlace && ir::field_key(function, op.target) == key;
      ir::for_each_operand(op, [&](const Operand& operand) {
        written = written || (operand.kind == Operand::Kind::Address && op.kind != OpKind::HostAccess &&
                              operand.place != ir::kNoPlace && ir::field_key(function, operand.place) == key);
      });
      return written;
    });
  }

  /// A function that is not a constructor sets the stream of a library's handle.
  [[nodiscard]] bool sets_handles() const {
    return outside_constructors([](const ir::Function& function, const Op& op) {
      return op.target != ir::kNoPlace && ir::is(function[op.target], ir::Hidden::Stream) &&
             function[function[op.target].base].kind == Place::Kind::Deref;
    });
  }

  static ir::Function decided(ir::Function closed, const std::string& text, ir::PlaceId place, bool holds) {
    for (ir::Block& block : closed.blocks) {
      if (block.condition == ir::kNoExpr || block.successors.size() != 2) continue;
      const ir::Expr& condition = closed[block.condition];
      if (condition.text != text || condition.uses != std::vector{place}) continue;
      block.successors = {block.successors[holds ? 0 : 1]};
      block.condition = ir::kNoExpr;
    }
    ir::join_blocks(closed);
    return closed;
  }

  // What is reported.

  /// The number of the call of the life that `where` is in; the number of all calls: the end of the object. Removes
  /// that call from `where`.
  std::size_t leg_of(Where& where) const {
    const ir::Site& outermost = where.calls.empty() ? where.site : where.calls.back();
    if (outermost.leg == ir::Site::kNoLeg) return members_.size();
    const std::size_t leg = outermost.leg;
    if (!where.calls.empty()) where.calls.pop_back();
    return leg;
  }

  [[nodiscard]] std::string leg_name(std::size_t leg) const {
    return leg == members_.size() ? "the end of the object" : "'" + members_[leg]->name + "'";
  }

  /// "if 'a' is followed by 'b'"
  [[nodiscard]] std::string order_of(std::size_t earlier, std::size_t later) const {
    if (earlier == later && later < members_.size())
      return "in " + leg_name(later) + (later <= 1 ? " of a new object" : " after " + leg_name(later - 1));
    if (earlier == members_.size()) return "whenever an object of '" + class_->name + "' ends";
    if (later == members_.size() || members_[later] != members_[earlier])
      return "if " + leg_name(earlier) + " is followed by " + leg_name(later);
    const std::size_t rounds = later - earlier + 1;
    if (rounds == 2) return "if " + leg_name(earlier) + " is called twice";
    if (members_[earlier + 1] == members_[earlier])
      return "if " + leg_name(earlier) + " is called " + std::to_string(rounds) + " times";
    return "if " + leg_name(earlier) + " is followed by " + leg_name(earlier + 1) + " and called again";
  }

  /// The stream is non-blocking: work of a caller on the default stream does not wait for it.
  [[nodiscard]] bool non_blocking(const std::string& field) const {
    const auto known = program_.fields.find(field);
    return known != program_.fields.end() && known->second.stream_kind == ordering::StreamKind::NonBlocking;
  }

  /// The field of the object that holds the stream; empty: none.
  [[nodiscard]] std::string field_of(const Thing& stream) const {
    if (!stream.origin) return {};
    const ir::Site& made = stream.origin->site;
    for (const std::string& key : class_->streams) {
      const auto field = program_.fields.find(key);
      if (field == program_.fields.end() || !field->second.owned || field->second.copied) continue;
      const ir::Site& site = field->second.made;
      if (site.file == made.file && site.line == made.line && site.column == made.column) return key;
    }
    return {};
  }

  /// The length of "object.", with which the names of its parts begin.
  [[nodiscard]] std::size_t prefix() const { return class_->frame[class_->object].name.size() + 1; }
  /// A part of the object that has a name.
  [[nodiscard]] bool is_of_this(const Thing& thing) const {
    return thing.part_of == class_->object && thing.name.size() > prefix();
  }
  /// The name of such a part, as methods write it.
  [[nodiscard]] std::string of_this(const std::string& name) const { return "this->" + name.substr(prefix()); }

  /// Reports the hazard if it meets the conditions. True if only its level keeps it from being reported.
  bool consider(Hazard hazard) {
    if (hazard.level == Level::Latent || !hazard.earlier) return false;
    const bool of_the_object = is_of_this(hazard.buffer) || hazard.buffer.origin;
    const std::size_t later = leg_of(hazard.later.where), earlier = leg_of(hazard.earlier->where);
    const std::string before = field_of(hazard.earlier->stream), after = field_of(hazard.later.stream);
    const bool one_call = earlier == later && later < members_.size();
    const std::string& own = one_call && before.empty() ? after : before;
    // Within one call they cannot wait, if the other stream is the caller's: it is none that the class keeps to itself.
    const bool callers_may_wait = trusts_callers_ && !(one_call && before.empty() != after.empty());
    for (Thing* thing : {&hazard.buffer, &hazard.event, &hazard.later.stream, &hazard.earlier->stream}) {
      if (is_of_this(*thing)) thing->name = of_this(thing->name);
      if (thing->origin) leg_of(*thing->origin);
    }
    if (hazard.edge) leg_of(*hazard.edge);
    for (Evidence& evidence : hazard.evidence) leg_of(evidence.where);
    const std::string order = order_of(earlier, later);
    switch (hazard.check) {
      case Check::HandleUseAfterDestroy:
        if (earlier != 0 && earlier != members_.size()) return false;
        break;
      case Check::PrematureFree:
        if (hazard.which == CheckCase::UseAfterFree) {
          if (earlier != 0 && earlier != members_.size()) return false;
          break;
        }
        [[fallthrough]];
      case Check::CrossStreamRace:
      case Check::NonblockingVsDefault:
      case Check::HostReadBeforeDone:
      case Check::HostWriteBeforeDone:
      case Check::AsyncCopyLifetime:
        if (hazard.which == CheckCase::Captured || (!of_the_object && (!one_call || sets_handles()))) return false;
        if (own.empty() || class_->exposed.contains(own)) return false;
        if ((callers_may_wait || !non_blocking(own)) && !edges_.contains({before, after})) return false;
        if (!one_call && offered_.contains({before, after})) return false;
        break;
      default:
        return false;
    }
    const auto place = [](const ir::Site& site) { return std::tie(site.file, site.line, site.column, site.begin); };
    if (std::ranges::any_of(hazards_, [&](const Hazard& known) {
          return known.check == hazard.check && place(known.later.where.site) == place(hazard.later.where.site);
        }))
      return false;
    if (hazard.level == Level::Maybe) return true;
    hazard.function = class_->name;
    hazard.of_calls = !one_call && later < members_.size();
    hazard.level = later == members_.size() && earlier == members_.size() ? Level::Definite : Level::Likely;
    std::string story = order + mode_ + supposed_;
    if (!one_call && hazard.check != Check::HandleUseAfterDestroy && hazard.which != CheckCase::UseAfterFree) {
      story += edges_.contains({before, after})
                   ? ": the class makes the one stream wait for the other elsewhere, but not for this work"
                   : ": no method of the class waits in between, and no other code has the stream";
    }
    const ir::Site& where = later < members_.size() ? members_[later]->site : class_->site;
    hazard.evidence.insert(hazard.evidence.begin(), Evidence{story, Where{where, {}}});
    hazards_.push_back(std::move(hazard));
    return false;
  }

  ir::Program& program_;
  ir::Inliner& inliner_;
  const Roles& roles_;
  std::uint64_t& most_steps_;
  AllActions actions_;
  StreamOrders edges_;
  StreamOrders offered_;  ///< orders that a public method makes and does nothing else: callers are to call it
  const ClassHarness* class_ = nullptr;
  const ClassHarness::Member* constructor_ = nullptr;
  bool trusts_callers_ = false;
  std::string mode_, supposed_;                       ///< clauses of a message: what this life supposes
  std::vector<const ClassHarness::Member*> members_;  ///< the methods of this life, in the order of the calls
  std::map<std::pair<std::string, std::size_t>, ir::PlaceId> streams_;
  std::vector<Hazard> hazards_;
};

}  // namespace

std::vector<Hazard> class_protocols(const std::vector<ClassHarness>& classes, ir::Program& program,
                                    ir::Inliner& inliner, const Roles& roles, std::uint64_t& most_steps) {
  if (classes.empty()) return {};
  Lives lives(program, inliner, roles, most_steps);
  for (const ClassHarness& harness : classes) lives.live(harness);
  return lives.take();
}

}  // namespace streamsan::analyzer
