// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omitted-stream: a call that leaves its stream argument out, where the function has a stream to work on.
//
// A function that takes a stream promises to work on it. A launch without a stream goes to the default stream. That is
// the same stream only for callers that pass 0; for all others the launch runs beside the work around it. This is
// certain enough to be reported because the argument is left out: an author who writes 0 has chosen. The evidence that
// the function has a stream is one of these:
//   * a stream parameter;
//   * work of the same function on a stream that it got elsewhere (the current stream of a framework, the stream of an
//     object which it is given), if that work shares memory with the call;
//   * a tensor that the function makes and gives to the call: it was filled on the current stream, and its memory goes
//     back there. That counts only where tensors come from the caller or go to it: in a whole program of one function
//     the current stream is the default one;
//   * a tensor that the function is given: its caller has filled it on the current stream, and goes on there.
//
// A stream field that nobody sets counts as left out (unset_stream.cpp) if the variable is made here and
//   * its class is the file's own and initialises the field to null; or
//   * all fields but the stream are filled in here, as those of a cudaLaunchConfig_t.
//
// An algorithm of Thrust whose policy names no stream leaves it out, too. But the host waits for it. So it can only
// conflict with work on the stream that was enqueued before it, uses the same memory, and was not waited for.
//
// Silent:
//   * a parameter that has no name, or no other use; that is a reference which is set or only passed on; or that the
//     function asks about (`if (stream == nullptr)`);
//   * a stream that this function creates: the engine knows its kind and what follows;
//   * event records, which are mostly for timing;
//   * a call after which the host waits for everything before other work is enqueued;
//   * a function that orders the default stream with an event;
//   * a call of a function of the project, if no body that enqueues on its stream is in sight, or if the body waits for
//     that stream.
#include "analyzer/analysis/omitted_stream.h"

#include <algorithm>

#include "analyzer/analysis/given_stream.h"
#include "analyzer/analysis/unset_stream.h"
#include "analyzer/ir/hidden.h"
#include "analyzer/ir/unnamed.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {
namespace {

using ir::Op;
using ir::Operand;
using ir::OpKind;
using ir::Place;

class Omitted {
 public:
  Omitted(const ir::Function& function, const ir::Program& program) : function_(function), program_(program) {}

  std::vector<Hazard> find() {
    if (orders_default_stream(function_)) return {};
    for (const ir::Block& block : function_.blocks)
      for (const Op& op : block.ops) {
        if (!leaves_out(op) || (op.kind == OpKind::Call && !enqueues_on_parameter(program_, op.callee))) continue;
        if (waited_for(block, op)) continue;
        const bool waits = host_waits_for(block, op);
        if (waits && host_may_wait()) continue;
        if (const ir::PlaceId parameter = stream_parameter(function_, block); parameter != ir::kNoPlace) {
          if (waits && !follows_work(block, op, parameter)) continue;
          raise(op, parameter, function_.site, "is what '" + function_.name + "' is given to work on");
        } else if (const Op* other = waits ? nullptr : companion(op)) {
          raise(op, other->stream.place, other->site, "is what the work on the same memory here goes to");
        } else if (const Op* made = waits ? nullptr : tensor_given(op)) {
          raise(op, made->stream.place, made->site, "is what the tensor that it is given was made for");
        } else if (!waits && uses_tensor_of_caller(op)) {
          raise(op, ir::kNoPlace, function_.site,
                "is what callers of '" + function_.name + "' work on with their tensors");
        }
      }
    return std::move(hazards_);
  }

 private:
  [[nodiscard]] bool leaves_out(const Op& op) const {
    if (op.site == ir::kNoSite) return false;
    return op.kind == OpKind::Enqueue ? op.implicit_stream || is_unset(op.stream)
                                      : op.implicit_stream && op.kind == OpKind::Call;
  }

  [[nodiscard]] bool is_unset(const Operand& stream) const {
    return stream.kind == Operand::Kind::Value && is_never_set(function_, stream.place, program_);
  }

  /// The library waits for its own work.
  static bool host_waits_for(const ir::Block& block, const Op& op) {
    const auto next = static_cast<std::size_t>(&op - block.ops.data()) + 1;
    return op.kind == OpKind::Enqueue && next < block.ops.size() && block.ops[next].kind == OpKind::SyncStream &&
           block.ops[next].work == ir::Work::Library && block.ops[next].site == op.site;
  }

  /// For more than a library's own work.
  [[nodiscard]] bool host_may_wait() const {
    return std::ranges::any_of(function_.blocks, [](const ir::Block& block) {
      return std::ranges::any_of(block.ops, [](const Op& op) {
        if (op.kind == OpKind::SyncStream) return op.work != ir::Work::Library;
        return op.kind == OpKind::SyncDevice || op.kind == OpKind::SyncEvent || op.kind == OpKind::QueryStream ||
               op.kind == OpKind::QueryEvent || op.kind == OpKind::MaySync || op.kind == OpKind::Call;
      });
    });
  }

  [[nodiscard]] bool follows_work(const ir::Block& block, const Op& op, ir::PlaceId stream) const {
    const auto conflicts = [&](const Op& before) {
      return before.kind == OpKind::Enqueue && before.stream.place == stream && share_memory(function_, op, before);
    };
    const auto here = block.ops.begin() + (&op - block.ops.data());
    if (std::any_of(block.ops.begin(), here, conflicts)) return true;
    // Blocks that lead here.
    std::vector<std::vector<std::size_t>> before(function_.blocks.size());
    for (std::size_t i = 0; i < function_.blocks.size(); ++i)
      for (const ir::BlockId next : function_.blocks[i].successors) before[static_cast<std::size_t>(next)].push_back(i);
    std::vector<bool> seen(function_.blocks.size());
    std::vector<std::size_t> ways = before[static_cast<std::size_t>(&block - function_.blocks.data())];
    while (!ways.empty()) {
      const std::size_t at = ways.back();
      ways.pop_back();
      if (seen[at]) continue;
      seen[at] = true;
      if (std::ranges::any_of(function_.blocks[at].ops, conflicts)) return true;
      ways.insert(ways.end(), before[at].begin(), before[at].end());
    }
    return false;
  }

  /// On some path from here, the host waits for everything before other work is enqueued.
  [[nodiscard]] bool waited_for(const ir::Block& block, const Op& op) const {
    enum class Met : std::uint8_t { Nothing, Sync, Work };
    const auto meet = [this](const Op& later) {
      if (later.kind == OpKind::SyncDevice) return Met::Sync;
      const bool work = later.kind == OpKind::Enqueue || later.kind == OpKind::Call;
      return work && !leaves_out(later) && !is_default(later.stream) ? Met::Work : Met::Nothing;
    };
    const auto meet_in = [&](auto from, auto end) {
      for (; from != end; ++from)
        if (const Met met = meet(*from); met != Met::Nothing) return met;
      return Met::Nothing;
    };
    const Met here = meet_in(block.ops.begin() + (&op - block.ops.data()) + 1, block.ops.end());
    if (here != Met::Nothing) return here == Met::Sync;
    std::vector<bool> seen(function_.blocks.size());
    std::vector<ir::BlockId> ways = block.successors;
    while (!ways.empty()) {
      const auto next = static_cast<std::size_t>(ways.back());
      ways.pop_back();
      if (seen[next]) continue;
      seen[next] = true;
      const ir::Block& on = function_.blocks[next];
      const Met met = meet_in(on.ops.begin(), on.ops.end());
      if (met == Met::Sync) return true;
      if (met == Met::Nothing) ways.insert(ways.end(), on.successors.begin(), on.successors.end());
    }
    return false;
  }

  /// Work on a stream with a name, and on memory that `op` is given, too.
  [[nodiscard]] const Op* companion(const Op& op) const {
    const auto shares = [&](const Op& other) {
      return std::ranges::any_of(op.accesses, [&](const ir::Access& mine) {
        return mine.memory.place != ir::kNoPlace && std::ranges::any_of(other.accesses, [&](const ir::Access& its) {
                 const bool reads = mine.mode == ir::Mode::Read && its.mode == ir::Mode::Read;
                 return its.memory == mine.memory && !reads;
               });
      });
    };
    for (const ir::Block& block : function_.blocks)
      for (const Op& other : block.ops) {
        const ir::PlaceId stream = other.stream.place;
        if (other.kind != OpKind::Enqueue || other.stream.kind != Operand::Kind::Value || !shares(other)) continue;
        if (function_[stream].name == ir::name(ir::Hidden::CurrentStream) && !trades_tensors(function_)) continue;
        if (is_at_hand(function_, program_, stream)) return &other;
      }
    return nullptr;
  }

  /// The allocation of a tensor that `op` uses, on a stream that this function got elsewhere.
  [[nodiscard]] const Op* tensor_given(const Op& op) const {
    if (op.kind != OpKind::Enqueue || !trades_tensors(function_)) return nullptr;
    for (const ir::Block& block : function_.blocks)
      for (const Op& made : block.ops) {
        if (made.kind != OpKind::Allocate || !made.tensor || made.stream.kind != Operand::Kind::Value) continue;
        if (!is_at_hand(function_, program_, made.stream.place)) continue;
        if (perhaps_default(function_, made.stream.place)) continue;
        const bool given = std::ranges::any_of(op.accesses, [&](const ir::Access& access) {
          return access.memory.kind == Operand::Kind::Value && access.memory.place != ir::kNoPlace &&
                 source(function_, access.memory.place) == made.target;
        });
        if (given) return &made;
      }
    return nullptr;
  }

  [[nodiscard]] bool sets_current_stream() const {
    return std::ranges::any_of(function_.blocks, [&](const ir::Block& block) {
      return std::ranges::any_of(block.ops, [&](const Op& op) {
        return op.target != ir::kNoPlace && function_[op.target].name == ir::name(ir::Hidden::CurrentStream);
      });
    });
  }

  /// Its memory is that of a tensor which this function is given.
  [[nodiscard]] bool uses_tensor_of_caller(const Op& op) const {
    if (op.kind != OpKind::Enqueue || sets_current_stream()) return false;
    return std::ranges::any_of(op.accesses, [&](const ir::Access& access) {
      if (access.memory.kind != Operand::Kind::Value || access.memory.place == ir::kNoPlace) return false;
      const ir::PlaceId memory = source(function_, access.memory.place);
      if (!ir::is_tensor_class(function_[memory].owner)) return false;
      const ir::PlaceId root = ir::root(function_, memory).place;
      return root != ir::kNoPlace && function_[root].kind == Place::Kind::Parameter;
    });
  }

  /// The result of a call has no name.
  static std::string described(const std::string& stream) {
    if (stream.empty()) return "another stream ";
    return ir::hidden_part(stream) ? "the current stream " : "stream '" + stream + "' ";
  }

  /// No `stream`: the current one.
  void raise(const Op& op, ir::PlaceId stream, ir::SiteId where, const std::string& why) {
    Hazard& hazard = hazards_.emplace_back();
    hazard.check = Check::OmittedStream;
    hazard.level = Level::Likely;
    hazard.function = function_.name;
    hazard.usr = function_.usr;
    hazard.later.work = op.work;
    hazard.later.where.site = function_[op.site];
    hazard.later.what = name_of(function_, op);
    hazard.later.stream = unnamed(UnnamedStream::Default);
    if (!op.implicit_stream) {
      hazard.which = CheckCase::NeverSet;
      hazard.later.stream.name = function_.spell(op.stream.place);
    }
    hazard.detail = stream == ir::kNoPlace ? std::string(ir::name(ir::Hidden::CurrentStream)) : function_.spell(stream);
    if (where != ir::kNoSite) hazard.evidence.push_back({described(hazard.detail) + why, Where{function_[where], {}}});
  }

  const ir::Function& function_;
  const ir::Program& program_;
  std::vector<Hazard> hazards_;
};

}  // namespace

std::vector<Hazard> omitted_streams(const ir::Function& function, const ir::Program& program) {
  return function.incomplete.empty() ? Omitted(function, program).find() : std::vector<Hazard>();
}

}  // namespace streamsan::analyzer
