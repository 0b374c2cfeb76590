// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a function owes to its caller.
//
// A function that is given a stream is called between other work on that stream: what it is given is ready there, and
// what it leaves behind is used there. So is a function that is given tensors, on the current stream. Where it has work
// done on a stream of its own, it therefore owes two edges: its stream has to wait for the caller's (the fork) before
// it reads what the caller has made, and the caller's has to wait for its stream (the join) before it returns.
//
// Neither end is in the function. The begin gets a synthetic record on the caller's stream, of an event nobody else
// has: what it covers is all that the caller has done. Each piece of work leaves a mark (Pending with kWork), and each
// Return looks at those that the caller's stream has no order with.
//
// One edge without the other is what is reported: a function with neither may be meant to be synchronised by its
// callers, and code that makes one of the two edges knows of both streams. Reported is
//
//   not forked   private work reads memory of a parameter, its stream has waited for nothing of the caller's, and the
//                caller's stream waits for that work in this function. Memory of the object that owns
//                the private stream does not count: it is not known to be ready on the caller's stream
//   kept wrongly a tensor of a parameter is used by the private stream, which the caller's has not waited for at the
//                return, and record_stream() was called on it for the caller's stream alone: that stream uses it in
//                order anyway, and the call shows that the tensor is expected to end
//   not joined   the private stream has waited for the caller's, writes memory of a parameter, or a tensor that the
//                function makes and returns, and on no return has the caller's stream, or the host, waited for it
//
// Private is a stream that its class creates and does not give out, or one that the function creates for itself. Silent
// is all that could carry the order: an event recorded behind the work that is left to anybody, a wait for an event
// recorded elsewhere, a call of unknown code, another function of the translation unit that lets the private stream
// wait (fork), or records or synchronises it (join), itself or by a callee that is given it, destructors aside, or that
// synchronises the device.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyzer/analysis/beliefs.h"
#include "analyzer/analysis/hazard.h"
#include "analyzer/analysis/order.h"
#include "analyzer/analysis/roles.h"
#include "analyzer/analysis/store.h"
#include "analyzer/analysis/witness.h"

namespace streamsan::analyzer {

/// The caller of one closed function.
struct Duty {
  ir::PlaceId event = ir::kNoPlace;  ///< recorded at the begin, by nobody
  bool tensors = false;              ///< its stream is the current one: only tensors are known to be ready on it
  std::set<std::string> bodies;      ///< USRs of the function and of all that it calls
};

/// Puts the record at the begin. None: the function is given no stream and no tensor, or works on no other stream.
std::optional<Duty> owe(ir::Function& closed, const ir::Program& program);

class Duties {
 public:
  Duties(Values& values, Sets& sets, const Roles& roles, const Beliefs& beliefs, const Duty& duty)
      : values_(values), sets_(sets), roles_(roles), beliefs_(beliefs), duty_(duty), witness_(values) {}

  /// Each op with the state before it.
  void at(const Store& store, const Order& order, OpIndex index);
  std::vector<Hazard> take();

 private:
  struct Touched {
    OpIndex op = kNoOp;
    std::uint16_t access = 0;
    ValueId memory = kUnknown;
    ValueId stream = kUnknown;
  };
  /// `waiter` has waited for work of `worker`.
  struct Edge {
    ValueId waiter = kUnknown;
    ValueId worker = kUnknown;
    OpIndex op = kNoOp;
  };
  /// record_stream() of a tensor, for the caller's stream.
  struct Kept {
    ValueId memory = kUnknown;
    std::optional<Touched> used;  ///< by a stream that it is not kept for, at some return
    bool settled = false;         ///< at some return it is in order
  };
  void enqueue(const Store& store, const Order& order, OpIndex index);
  void keep(const Store& store, OpIndex index);
  void judge(const Order& order, Kept& kept) const;
  void leave(const Order& order);
  [[nodiscard]] const Pending* entry(const Order& order) const;
  /// The function's own, and not the caller's.
  [[nodiscard]] bool is_private(ValueId stream) const;
  /// Memory on the device that the function was given.
  [[nodiscard]] bool is_given(const ir::Op& op, const ir::Access& access, ValueId memory) const;
  [[nodiscard]] bool is_of_parameter(ValueId memory) const;
  /// Members of one object hold the two: it may be the stream that this memory is ready on.
  [[nodiscard]] bool is_kept_with(ValueId memory, ValueId stream) const;
  /// A tensor's memory, allocated by the function.
  [[nodiscard]] bool is_made_here(ValueId memory) const;
  /// Work on tensors made here counts as written if `result` is one of them.
  void find_results(const Store& store, ir::PlaceId result);
  [[nodiscard]] bool waits_for_unknown(const Order& order, ValueId stream) const;
  [[nodiscard]] bool is_left_to_others(const Order& order, const Pending& work) const;
  [[nodiscard]] Slot slot(ValueId stream) const;
  [[nodiscard]] const Edge* edge(ValueId waiter, ValueId worker) const;
  [[nodiscard]] Hazard hazard_of(const Touched& work, const Edge& other, CheckCase what) const;
  [[nodiscard]] std::optional<Hazard> hazard_of(OpIndex keep, const Kept& kept) const;

  Values& values_;
  Sets& sets_;
  const Roles& roles_;
  const Beliefs& beliefs_;
  const Duty& duty_;
  Witness witness_;
  OpIndex record_ = kNoOp;
  ValueId caller_ = kUnknown;
  ValueId event_ = kUnknown;
  std::vector<Edge> edges_;
  std::vector<Touched> not_forked_;
  std::vector<Touched> made_;  ///< what is written of tensors made here
  std::map<OpIndex, Touched> written_;
  std::set<OpIndex> owed_, settled_;
  std::map<OpIndex, Kept> kept_;
};

}  // namespace streamsan::analyzer
