// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omitted-stream: a call that leaves its stream argument out, where the function has a stream to work on.
//
// A function that takes a stream promises to work on it. One launch in it without a stream goes to the default stream,
// which is the same only for callers that pass 0; for all others it runs beside the work around it. What makes this
// certain enough to be told is that the argument is left out: who writes 0 has chosen. Evidence is the parameter, or
// the work of the same function on a stream that it got elsewhere (the current stream of a framework), if it shares
// memory with the call.
//
// Silent: a parameter without a name, or that the function asks about (`if (stream == nullptr)`); a stream that this
// function creates, since the engine knows what kind it is and what follows; event records, which are mostly for
// timing; a call before which, and after which, the host waits for everything.
#include "analyzer/analysis/omitted_stream.h"

#include <algorithm>

namespace streamsan::analyzer {
namespace {

using ir::Op;
using ir::Operand;
using ir::OpKind;
using ir::Place;

class Omitted {
 public:
  explicit Omitted(const ir::Function& function) : function_(function) {}

  std::vector<Hazard> find() {
    for (const ir::Block& block : function_.blocks)
      for (const Op& op : block.ops) {
        if (!leaves_out(op)) continue;
        if (const ir::PlaceId parameter = stream_parameter(); parameter != ir::kNoPlace) {
          raise(op, parameter, function_.site, "is what '" + function_.name + "' is given to work on");
        } else if (const Op* other = companion(op)) {
          raise(op, other->stream.place, other->site, "is what the work on the same memory here goes to");
        }
      }
    return std::move(hazards_);
  }

 private:
  static bool leaves_out(const Op& op) {
    return op.implicit_stream && (op.kind == OpKind::Enqueue || op.kind == OpKind::Call) && op.site != ir::kNoSite;
  }

  [[nodiscard]] bool asked_about(ir::PlaceId place) const {
    return std::ranges::any_of(function_.blocks, [&](const ir::Block& block) {
      return block.condition != ir::kNoExpr &&
             std::ranges::find(function_[block.condition].uses, place) != function_[block.condition].uses.end();
    });
  }

  /// The one that there is.
  [[nodiscard]] ir::PlaceId stream_parameter() const {
    ir::PlaceId only = ir::kNoPlace;
    for (const ir::PlaceId place : function_.parameters) {
      if (function_[place].type != ir::TypeKind::Stream) continue;
      if (only != ir::kNoPlace || function_[place].name.starts_with("parameter ") || asked_about(place))
        return ir::kNoPlace;
      only = place;
    }
    return only;
  }

  [[nodiscard]] bool created_here(ir::PlaceId place) const {
    for (const ir::Block& block : function_.blocks)
      for (const Op& op : block.ops)
        if (op.target == place && op.kind == OpKind::CreateStream) return true;
    return false;
  }

  /// Got from elsewhere by this function itself. Of a member its class knows what kind it is, and what order it lacks.
  [[nodiscard]] bool is_at_hand(ir::PlaceId place) const {
    const Place::Kind kind = function_[place].kind;
    return kind == Place::Kind::Local || kind == Place::Kind::Temporary || kind == Place::Kind::Global;
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
        if (is_at_hand(stream) && !created_here(stream) && !asked_about(stream)) return &other;
      }
    return nullptr;
  }

  void raise(const Op& op, ir::PlaceId stream, ir::SiteId where, const std::string& why) {
    Hazard& hazard = hazards_.emplace_back();
    hazard.check = Check::OmittedStream;
    hazard.level = Level::Likely;
    hazard.function = function_.name;
    hazard.usr = function_.usr;
    hazard.later.work = op.work;
    hazard.later.where.site = function_[op.site];
    hazard.later.what = function_[op.site].text.empty() ? op.name : function_[op.site].text;
    hazard.later.stream.name = "the default stream";
    hazard.detail = function_.spell(stream);
    const bool shown = hazard.detail.find('$') == std::string::npos;
    if (where != ir::kNoSite)
      hazard.evidence.push_back(
          {(shown ? "stream '" + hazard.detail + "' " : "the current stream ") + why, Where{function_[where], {}}});
  }

  const ir::Function& function_;
  std::vector<Hazard> hazards_;
};

}  // namespace

std::vector<Hazard> omitted_streams(const ir::Function& function) {
  return function.incomplete.empty() ? Omitted(function).find() : std::vector<Hazard>();
}

}  // namespace streamsan::analyzer
