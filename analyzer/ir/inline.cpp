// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inlining instead of summaries.
//
// The IR of a function is small (most have no op at all), so the most precise summary is affordable: the IR itself, put
// in the place of each call. The blocks of the callee are copied into the caller; a call splits its block in two, and
// the callee's last blocks go on to the second half.
//
//   by-value parameter    a fresh local of the caller, assigned the argument; what a pointer parameter points to stays
//                         a dereference of that local, which the analysis follows. A temporary object is the parameter
//   reference parameter   the caller's place itself
//   this                  the place the function was called on
//   local, temporary      one of the caller for each call in the text, under its own name and a free number
//   global                itself
//   return                an assignment to the target of the call; what follows in its block (destructors) is kept
//
// A loop around a call is a loop around the copy. A default stream means what the callee's translation unit says.
//
// A call of an inert function (inert.cpp) is nothing but a new value for its target. A callee that is unknown,
// incomplete, recursive, or too deep or big may have done anything: its arguments escape, and it may have synchronised.
// Both lose findings and never make one.
//
// A block that ends its function without a Return is one that aborts or throws: it ends the closed function, too. In a
// function without any Return, as people write them, all such blocks return.
//
// Cost: proportional to the closed function. Places, expressions and sites of a callee are copied when first used, and
// a parameter that is not used is not assigned.
//
// A callee that is called a second time is closed for itself, what nothing in it reads is dropped, and from then on
// that is copied: a table that hundreds of stores make, and the layers of a library, are walked through once. It is
// what would be copied call by call, as long as none of the limits is met, and no function on the way to the call is
// in it.
#include "analyzer/ir/inline.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analyzer/ir/lambdas.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer::ir {
namespace {

constexpr BlockId kNoBlock{UINT32_MAX};

bool has_return(const Block& block) {
  return std::ranges::any_of(block.ops, [](const Op& op) { return op.kind == OpKind::Return; });
}

/// One copy of a function's body: what its ids mean in the result.
struct Frame {
  explicit Frame(const Function& function)
      : from(function),
        blocks(function.blocks.size()),
        places(function.places.size(), kNoPlace),
        exprs(function.exprs.size(), kNoExpr),
        sites(function.sites.size(), kNoSite) {}

  const Function& from;
  std::size_t blocks;  ///< that it takes where it is copied call by call
  const Frame* caller = nullptr;
  SiteId call = kNoSite;      ///< in the result
  PlaceId result = kNoPlace;  ///< in the result: target of the call
  BlockId continuation = kNoBlock;
  std::vector<PlaceId> places;  ///< none: not used yet
  std::vector<ExprId> exprs;
  std::vector<SiteId> sites;
  std::vector<std::pair<std::size_t, Op>> bindings;  ///< place of a by-value parameter, the op that gives it its value

  [[nodiscard]] std::uint32_t depth() const { return caller == nullptr ? 0 : caller->depth() + 1; }
  [[nodiscard]] bool is_active(const std::string& usr) const {
    return from.usr == usr || (caller != nullptr && caller->is_active(usr));
  }
};

class Splicer {
 public:
  Splicer(const Program& program, const InlineOptions& options, Inliner& inliner, Function& out)
      : program_(program), options_(options), inliner_(inliner), out_(out) {
    for (const Place& place : out.places) {
      std::uint32_t& next = next_number_[place.name];
      next = std::max(next, place.number + 1);
    }
  }

  [[nodiscard]] bool was_cut() const { return cut_; }
  [[nodiscard]] std::uint32_t levels() const { return levels_; }
  [[nodiscard]] std::size_t blocks() const { return blocks_; }
  std::unordered_set<std::string> take_inlined() { return std::move(inlined_); }

  /// Copies the body; its first block.
  BlockId splice(Frame& frame) {
    const auto first = static_cast<std::uint32_t>(out_.blocks.size());
    out_.blocks.resize(first + frame.from.blocks.size());
    blocks_ += frame.blocks;
    const bool returns = std::ranges::any_of(frame.from.blocks, has_return);
    const auto here = [first](BlockId id) { return BlockId{first + static_cast<std::uint32_t>(id)}; };
    for (std::uint32_t number = 0; number < frame.from.blocks.size(); ++number) {
      const Block& block = frame.from.blocks[number];
      BlockId current = here(BlockId{number});
      at(current).loop_head = block.loop_head;
      for (const Op& op : block.ops) {
        copy(frame, op, current);
      }
      for (const BlockId successor : block.successors) {
        at(current).successors.push_back(here(successor));
      }
      if (block.condition != kNoExpr) {
        const ExprId condition = expr(frame, block.condition);
        at(current).condition = condition;
      }
      if (frame.continuation != kNoBlock && block.successors.empty() && (has_return(block) || !returns)) {
        at(current).successors = {frame.continuation};
      }
    }
    return here(BlockId{0});
  }

 private:
  Block& at(BlockId id) { return out_.blocks[static_cast<std::size_t>(id)]; }

  void copy(Frame& frame, const Op& from, BlockId& current) {
    Op op = from;
    op.site = site(frame, from.site);
    if (from.target != kNoPlace) {
      op.target = place(frame, from.target);
    }
    for_each_operand(op, [&](Operand& operand) { rename(frame, operand); });
    for (Access& access : op.accesses) {
      if (access.bytes != kNoExpr) {
        access.bytes = expr(frame, access.bytes);
      }
      if (access.early_site != kNoSite) {
        access.early_site = site(frame, access.early_site);
      }
    }
    if (op.kind == OpKind::Call && (!options_.only_lambdas || calls_lambda(program_, op))) {
      call(frame, op, current);
      return;
    }
    if (op.kind == OpKind::Return && frame.caller != nullptr) {
      if (frame.result == kNoPlace || op.source.kind == Operand::Kind::None) {
        return;
      }
      assign(op, frame.result, op.source);
    }
    at(current).ops.push_back(std::move(op));
  }

  /// Makes `op` an assignment, or the end of what was known of the target.
  static void assign(Op& op, PlaceId target, const Operand& source) {
    const bool known = source.kind != Operand::Kind::None && source.kind != Operand::Kind::Unknown;
    op.kind = known ? OpKind::Assign : OpKind::Fresh;
    op.target = target;
    op.source = known ? source : Operand{};
  }

  void call(const Frame& frame, const Op& op, BlockId& current) {
    const auto found = program_.functions.find(op.callee);
    const Function* callee = found == program_.functions.end() ? nullptr : &found->second;
    if (callee != nullptr && inliner_.is_inert(op.callee)) {
      forget(op.target, op, current);
      return;
    }
    const bool known = callee != nullptr && callee->incomplete.empty() && !callee->blocks.empty();
    const bool fits =
        known && frame.depth() < options_.deepest && !frame.is_active(op.callee) && has_room_for(callee->blocks.size());
    if (!fits) {
      cut_ = cut_ || known;
      give_up(op, current);
      return;
    }
    const ClosedCallee* closed = options_.only_lambdas ? nullptr : inliner_.closed(op.callee);
    if (closed != nullptr && !suits(*closed, frame)) closed = nullptr;
    levels_ = std::max(levels_, frame.depth() + 1 + (closed == nullptr ? 0 : closed->levels));
    inlined_.insert(op.callee);
    if (closed != nullptr) inlined_.insert(closed->inlined.begin(), closed->inlined.end());
    Frame inner(closed == nullptr ? *callee : closed->function);
    if (closed != nullptr) inner.blocks = closed->blocks;
    inner.caller = &frame;
    inner.call = op.site;
    inner.result = op.target;
    bind(inner, op);
    inner.continuation = BlockId{static_cast<std::uint32_t>(out_.blocks.size())};
    out_.blocks.emplace_back();
    ++blocks_;
    const BlockId entry = splice(inner);
    for (auto& [parameter, binding] : inner.bindings) {
      if (inner.places[parameter] != kNoPlace) {
        binding.target = inner.places[parameter];
        at(current).ops.push_back(std::move(binding));
      }
    }
    at(current).successors = {entry};
    current = inner.continuation;
  }

  [[nodiscard]] bool has_room_for(std::size_t blocks) const { return blocks_ + blocks < options_.most_blocks; }
  /// Called from `frame`, its own callees would all be inlined.
  [[nodiscard]] bool suits(const ClosedCallee& closed, const Frame& frame) const {
    if (frame.depth() + 1 + closed.levels > options_.deepest || !has_room_for(closed.blocks)) return false;
    for (const Frame* at = &frame; at != nullptr; at = at->caller)
      if (closed.inlined.contains(at->from.usr)) return false;
    return true;
  }

  void forget(PlaceId target, const Op& call, BlockId current) {
    if (target != kNoPlace) {
      at(current).ops.push_back({.kind = OpKind::Fresh, .site = call.site, .target = target, .name = call.name});
    }
  }

  void give_up(const Op& call, BlockId current) {
    const auto escape = [&](const Operand& operand) {
      const bool reaches = operand.kind == Operand::Kind::Address ||
                           (operand.kind == Operand::Kind::Value && out_[operand.place].type != TypeKind::Integer);
      if (reaches) {
        at(current).ops.push_back({.kind = OpKind::Escape, .site = call.site, .source = operand, .name = call.name});
      }
    };
    std::ranges::for_each(call.arguments, escape);
    escape(call.object);
    at(current).ops.push_back({.kind = OpKind::MaySync, .site = call.site, .name = call.name});
    forget(call.target, call, current);
  }

  /// Gives the callee's parameters and `this` their meaning.
  void bind(Frame& inner, const Op& call) {
    for (std::size_t id = 0; id < inner.from.places.size(); ++id) {
      const Place& place = inner.from.places[id];
      if (place.kind == Place::Kind::This) {
        inner.places[id] = object(call.object, place);
      } else if (place.kind == Place::Kind::Parameter) {
        bind(inner, id, place.number < call.arguments.size() ? call.arguments[place.number] : Operand{}, call.site);
      }
    }
  }

  void bind(Frame& inner, std::size_t id, Operand argument, SiteId site) {
    const Place& parameter = inner.from.places[id];
    if (argument.kind == Operand::Kind::Address) {
      if (parameter.reference && argument.offset == kNoExpr) {
        inner.places[id] = argument.place;
        return;
      }
      if (parameter.reference) {
        argument = {};  // an element that has no place: nothing is known of it
      } else if (parameter.type == TypeKind::Object) {
        argument.kind = Operand::Kind::Value;  // an object by value arrives as the address of what is copied
      }
    }
    // A temporary is not copied, it is the parameter: what the callee makes of it is what its destructor finds.
    if (argument.kind == Operand::Kind::Value && parameter.type == TypeKind::Object && argument.offset == kNoExpr &&
        out_[argument.place].kind == Place::Kind::Temporary) {
      inner.places[id] = argument.place;
      return;
    }
    Op op{.site = site};
    assign(op, kNoPlace, argument);
    inner.bindings.emplace_back(id, std::move(op));
  }

  PlaceId object(const Operand& operand, const Place& self) {
    if (operand.kind == Operand::Kind::Address && operand.offset == kNoExpr) {
      return operand.place;
    }
    if (operand.kind == Operand::Kind::Value && operand.offset == kNoExpr) {
      return out_.add(Place{.kind = Place::Kind::Deref, .type = TypeKind::Object, .base = operand.place});
    }
    return fresh(self);
  }

  /// A variable of the caller that no other op uses.
  PlaceId fresh(Place place) {
    if (place.kind != Place::Kind::Temporary) {
      place.kind = Place::Kind::Local;
    }
    if (place.name.empty()) {
      place.name = "this";
    }
    place.reference = false;
    place.inlined = true;
    place.number = next_number_[place.name]++;
    return out_.add(std::move(place));
  }

  PlaceId place(Frame& frame, PlaceId id) {
    const auto index = static_cast<std::size_t>(id);
    if (frame.places[index] == kNoPlace) {
      Place copy = frame.from[id];
      const bool variable = copy.base == kNoPlace && copy.kind != Place::Kind::Global;
      if (variable && frame.caller != nullptr) {
        frame.places[index] = fresh(std::move(copy));
      } else {
        copy.base = copy.base == kNoPlace ? kNoPlace : place(frame, copy.base);
        copy.index = copy.index == kNoExpr ? kNoExpr : expr(frame, copy.index);
        frame.places[index] = out_.add(std::move(copy));
      }
    }
    return frame.places[index];
  }

  ExprId expr(Frame& frame, ExprId id) {
    const auto index = static_cast<std::size_t>(id);
    if (frame.exprs[index] == kNoExpr) {
      Expr copy = frame.from[id];
      for (PlaceId& use : copy.uses) {
        use = place(frame, use);
      }
      frame.exprs[index] = out_.add(std::move(copy));
    }
    return frame.exprs[index];
  }

  SiteId site(Frame& frame, SiteId id) {
    if (id == kNoSite) {
      return frame.call;
    }
    const auto index = static_cast<std::size_t>(id);
    if (frame.sites[index] == kNoSite) {
      Site copy = frame.from[id];
      copy.call = site(frame, copy.call);
      frame.sites[index] = out_.add(std::move(copy));
    }
    return frame.sites[index];
  }

  void rename(Frame& frame, Operand& operand) {
    if (operand.place != kNoPlace) {
      operand.place = place(frame, operand.place);
    }
    if (operand.offset != kNoExpr) {
      operand.offset = expr(frame, operand.offset);
    }
    if (operand.kind == Operand::Kind::DefaultStream &&
        frame.from.per_thread_default_stream != out_.per_thread_default_stream) {
      operand.kind =
          frame.from.per_thread_default_stream ? Operand::Kind::PerThreadStream : Operand::Kind::LegacyStream;
    }
  }

  const Program& program_;
  const InlineOptions& options_;
  Inliner& inliner_;
  Function& out_;
  std::unordered_map<std::string, std::uint32_t> next_number_;  ///< by name: free from here on
  bool cut_ = false;                                            ///< a limit kept a callee out
  std::uint32_t levels_ = 0;                                    ///< of calls within calls
  std::size_t blocks_ = 0;                                      ///< copied, closed callees call by call
  std::unordered_set<std::string> inlined_;
};

}  // namespace

Function Inliner::close(const std::string& usr) {
  const auto found = program_.functions.find(usr);
  if (found == program_.functions.end()) {
    return {.usr = usr, .name = usr, .incomplete = "the function is not known"};
  }
  return close(found->second).function;
}

ClosedCallee Inliner::close(const Function& root) {
  // The root's own ids stay what they are.
  Function closed = root;
  closed.blocks.clear();
  Frame frame(root);
  for (std::uint32_t id = 0; id < root.places.size(); ++id) {
    frame.places[id] = PlaceId{id};
  }
  for (std::uint32_t id = 0; id < root.exprs.size(); ++id) {
    frame.exprs[id] = ExprId{id};
  }
  for (std::uint32_t id = 0; id < root.sites.size(); ++id) {
    frame.sites[id] = SiteId{id};
  }
  Splicer splicer(program_, options_, *this, closed);
  splicer.splice(frame);
  join_blocks(closed);
  return {.function = std::move(closed),
          .inlined = splicer.take_inlined(),
          .blocks = splicer.blocks(),
          .levels = splicer.levels(),
          .cut = splicer.was_cut()};
}

const ClosedCallee* Inliner::closed(const std::string& usr) {
  const auto [known, is_new] = callees_.try_emplace(usr);
  Callee& callee = known->second;
  if (is_new || callee.tried) return callee.closed.get();
  callee.tried = true;
  const Function& function = program_.functions.find(usr)->second;
  // Without a Return, nothing would distinguish its own ends from those of its callees.
  if (levels(usr) >= options_.deepest || std::ranges::none_of(function.blocks, has_return)) return nullptr;
  ClosedCallee made = close(function);
  if (made.cut) return nullptr;
  simplify_callee(made.function);
  callee.closed = std::make_unique<ClosedCallee>(std::move(made));
  return callee.closed.get();
}

bool Inliner::is_copied(const std::string& usr) {
  const auto found = program_.functions.find(usr);
  return found != program_.functions.end() && found->second.incomplete.empty() && !found->second.blocks.empty() &&
         !is_inert(usr);
}

std::uint32_t Inliner::levels(const std::string& usr) {
  // Of a circle of calls it would have no end.
  const auto [known, is_new] = levels_.emplace(usr, options_.deepest);
  if (!is_new) return known->second;
  std::uint32_t most = 0;
  for (const Block& block : program_.functions.find(usr)->second.blocks)
    for (const Op& op : block.ops)
      if (op.kind == OpKind::Call && is_copied(op.callee)) most = std::max(most, 1 + levels(op.callee));
  return levels_[usr] = std::min(most, options_.deepest);
}

std::uint64_t Inliner::weight(const std::string& usr) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40U;
  const auto found = program_.functions.find(usr);
  if (found == program_.functions.end() || is_inert(usr)) {
    return 1;
  }
  // A call in a circle of calls is one op: what close() does there depends on where it began.
  if (const auto [known, is_new] = weights_.emplace(usr, 1); !is_new) {
    return known->second;
  }
  std::uint64_t all = 0;
  for (const Block& block : found->second.blocks) {
    for (const Op& op : block.ops) {
      all = std::min(kMost, all + (op.kind == OpKind::Call ? weight(op.callee) : 1));
    }
  }
  return weights_[usr] = all;
}

Function close(const Program& program, const std::string& usr, const InlineOptions& options) {
  return Inliner(program, options).close(usr);
}

}  // namespace streamsan::analyzer::ir
