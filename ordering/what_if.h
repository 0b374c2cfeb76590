// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What if a program synchronised less? The order of many programs that differ a little, kept at once.
//
// To find out which synchronisation is needed, one could leave one out, judge the trace again, and repeat that for
// each: five hundred calls, five hundred replays. Here one replay answers for all. A VARIANT is the run with some of
// its waits cut out, and perhaps some narrower order put in instead. All variants do the same operations, so all have
// the same epochs; they differ only in what is known to be complete where. A vector clock therefore holds one number
// for each lane, as without variants, and a few DEVIATIONS: "in variant v this lane is known up to epoch e only"
// (vector_clock.h).
//
// They are few, because a deviation lasts only while the cut wait is the only source of the knowledge. If the host
// waits for a lane at site A and then at B, the variant "without A" catches up at B. So a lane has deviations for about
// the last site that waited for it, however many sites there are.
//
// EXACTNESS. Clock[lane] of a variant is what a replay of the variant would have. A remembered access is forgotten only
// when it is ordered in every variant before what takes its place; otherwise the pair that prevented it was reported.
// So for each variant, whether it has a pair that its base has not is exact (with what model.h loses on purpose, and
// with the host's own actions as they were: what it would have read otherwise cannot be replayed).
//
// Two cases are no pairs of accesses and are reported as an EXPOSURE. If a cut call was the first to let the host know
// that an operation on host memory, a graph or a host function is complete, the host may have acted on that, unseen.
// And if an operation that may touch anything (a graph, a host function, or a kernel that reaches more than its
// arguments lead to) is after fewer operations than in the base, it may need one that is missing.
//
// Every variant of a plan is compared with the plan's base. The base is either the run (nothing cut), or the run with a
// set of waits cut, each of whose variants puts one wait back. Variants are numbered from 1; 0 is the base.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ordering/hazard.h"
#include "ordering/types.h"
#include "ordering/vector_clock.h"

namespace streamsan::ordering {

inline constexpr VariantId kBase = 0;

/// The two ways in which a call makes order that the program might do without.
enum class Effect : std::uint8_t {
  Wait,     ///< the host waits: synchronisations, copies and fills that wait, frees
  Barrier,  ///< an action in the legacy stream is after and before the work of all blocking streams (R-STR-10)
};

struct Cut {
  SiteId site{};
  Effect effect = Effect::Wait;
  friend auto operator<=>(const Cut&, const Cut&) = default;
};

/// Order that is put in where a cut call is made.
struct Instead {
  enum class Kind : std::uint8_t {
    EventWait,   ///< an event is recorded in `from`, and `to` waits for it
    StreamSync,  ///< the host waits for `from` only
    EventSync,   ///< the host waits for an event recorded in `from` behind its last operation of site `other`
    Move,        ///< the host waits for the same as before, but not until some thread makes a call of site `other`
  };
  Kind kind{};
  SiteId at{};
  StreamId from{};
  StreamId to{};
  SiteId other{};
};

/// The base: what is cut out of the run and put in. A variant: what is cut in it and not in the base, or the other way
/// round; and what is put in besides.
struct World {
  std::vector<Cut> cuts;
  std::vector<Instead> instead;
};

struct Plan {
  World base;
  std::vector<World> variants;
  /// For each call with such an effect that is met and that no variant above cuts, one more variant, which cuts it.
  bool each = false;
};

/// How two conflicting accesses are ordered in a variant. Greater is worse.
enum class PairOrder : std::uint8_t { Ordered, Latent, Unordered };

struct InVariant {
  VariantId variant = kBase;
  PairOrder order = PairOrder::Ordered;
};

/// Two conflicting accesses that are not ordered in every program.
struct Pair {
  HazardKind kind{};
  Certainty certainty = Certainty::Certain;  ///< Possible also where a host function may have made order between them
  const Access& earlier;
  const Access& later;
  Range overlap;
  const AllocationInfo& allocation;
  PairOrder base = PairOrder::Ordered;
  std::span<const InVariant> variants;  ///< those in which it is not as in the base
};

/// The host may have gone on, unseen, because it knew that an operation was complete, and in the variant it would not
/// have known.
struct Exposure {
  enum class Why : std::uint8_t {
    HostRead,      ///< the operation wrote host memory: the host may read it
    HostWrite,     ///< the operation read host memory: the host may overwrite or free it
    Graph,         ///< what a graph did is not known
    HostFunction,  ///< a host function may have signalled anything to the host
    Kernel,        ///< the kernel may use memory that its pointers and bytes do not lead to
    Print,         ///< the kernel prints; that comes out where the host waits
    Action,  ///< the operation changes what the host may do, or shows it something: an attachment, a written value
    End,     ///< nothing waits for the operation any more before the trace ends
  };
  VariantId variant = kBase;
  Why why{};
  OpId op{};
  SiteId site{};  ///< of the operation
  StreamId stream{};
  bool also_assumed = true;  ///< false: today's driver lets the host know all the same, though nothing promises it
  bool comes_after = false;  ///< the operation is not waited for: it comes after the wait, and may need what is before
  Range range;               ///< of host memory; empty: none
  MemoryKind memory = MemoryKind::Pageable;
};

/// Receives what a replay of a plan finds. References are valid during the call only.
class WhatIfSink {
 public:
  virtual ~WhatIfSink() = default;
  /// With Plan::each: the variant cuts this. Called before everything else about the variant.
  virtual void variant(VariantId variant, const Cut& cut) = 0;
  /// A call that the variant has cut and the base has not (or the other way round) taught the host something, or the
  /// barrier ordered something, that it would not have otherwise. `call`: number of the operation, kNoOp for a wait.
  virtual void mattered(VariantId variant, OpId call) = 0;
  virtual void pair(const Pair& pair) = 0;
  virtual void exposed(const Exposure& exposure) = 0;
  /// Enough is known: the variant need not be kept any longer, which saves its cost.
  [[nodiscard]] virtual bool settled(VariantId variant) const = 0;
};

struct WhatIf {
  const Plan& plan;
  WhatIfSink& sink;
};

}  // namespace streamsan::ordering
