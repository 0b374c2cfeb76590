// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a function owes to its caller.
//
// A function that takes a stream is called between other work on that stream: its arguments are ready there, and its
// results are used there. The same holds for a function that takes tensors, and the current stream. If such a function
// enqueues work on a stream of its own, it therefore owes two edges to its caller: the fork, by which its own stream
// waits for the caller's stream before it reads what the caller has made; and the join, by which the caller's stream
// waits for its own before it returns.
//
// The caller's work is not in the function. So owe() puts a synthetic record at the begin, on the caller's stream, of
// an event that nobody else has: it covers all that the caller has done. Each piece of work leaves a mark (Pending with
// kWork), and each Return looks at the marks that are not ordered before the caller's stream.
//
// A function is reported if it makes one edge and not the other. A function that makes neither may expect its callers
// to synchronise; code that makes one of the two knows of both streams. There are three reports:
//
//   not forked     private work reads memory of a parameter; its stream has waited for nothing of the caller's; and the
//                  caller's stream waits for that work in this function. Memory of the object that owns the private
//                  stream does not count: it is not known to be ready on the caller's stream
//   kept wrongly   the private stream uses a tensor of a parameter; the caller's stream has not waited for it at the
//                  return; and record_stream() was called on the tensor for the caller's stream only. That stream uses
//                  the tensor in order anyway, and the call shows that the tensor is expected to end
//   not joined     the private stream has waited for the caller's; it writes memory of a parameter, or a tensor that
//                  the function makes and returns; and at no return has the caller's stream, or the host, waited for it
//
// A stream is private if its class creates it and does not give it out, or if the function creates it for itself.
// Nothing is reported if any of these could make the order:
//   * an event that is recorded behind the work and left to others;
//   * a wait for an event that was recorded elsewhere;
//   * a call of unknown code;
//   * another function of the translation unit, destructors aside, that makes the private stream wait (fork), or
//     records an event in it or synchronises it (join), itself or by a callee; or one that synchronises the device.
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

/// What is known about the caller of one closed function.
struct Duty {
  ir::PlaceId event = ir::kNoPlace;  ///< the event of the synthetic record at the begin
  bool tensors = false;              ///< the caller's stream is the current one: only tensors are surely ready on it
  std::set<std::string> bodies;      ///< USRs of the function and of all that it calls
};

/// Puts the record at the begin. nullopt: the function takes no stream and no tensor, or works on no other stream.
std::optional<Duty> owe(ir::Function& closed, const ir::Program& program);

class Duties {
 public:
  Duties(Values& values, Sets& sets, const Roles& roles, const Beliefs& beliefs, const Duty& duty)
      : values_(values), sets_(sets), roles_(roles), beliefs_(beliefs), duty_(duty), witness_(values) {}

  /// Must be called for each op, with the state before it.
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
    std::optional<Touched> used;  ///< at some return: its use by a stream that it is not kept for
    bool settled = false;         ///< at some return all its uses are in order
  };
  void enqueue(const Store& store, const Order& order, OpIndex index);
  void keep(const Store& store, OpIndex index);
  void judge(const Order& order, Kept& kept) const;
  void leave(const Order& order);
  [[nodiscard]] const Pending* entry(const Order& order) const;
  /// The stream is the function's or its class's own.
  [[nodiscard]] bool is_private(ValueId stream) const;
  /// Memory on the device that the function was given.
  [[nodiscard]] bool is_given(const ir::Op& op, const ir::Access& access, ValueId memory) const;
  [[nodiscard]] bool is_of_parameter(ValueId memory) const;
  /// Members of one object hold the memory and the stream: the memory may be ready on this stream.
  [[nodiscard]] bool is_kept_with(ValueId memory, ValueId stream) const;
  /// It is the memory of a tensor that the function allocated.
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
  std::vector<Touched> made_;  ///< writes of tensors made here
  std::map<OpIndex, Touched> written_;
  std::set<OpIndex> owed_, settled_;
  std::map<OpIndex, Kept> kept_;
};

}  // namespace streamsan::analyzer
