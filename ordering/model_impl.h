// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a Model is made of:
//   Progress  streams, events and host threads, and the order of what they did (progress.h)
//   Lives     memory, and what is remembered of the accesses to it (lives.h)
//   Checks    compares an access with those before it, by what Progress says, and reports hazards (checks.h)
//   Pieces    makes accesses of what copies and kernels touch (pieces.h)
//   Blocks    memory that the program's own pools hand out and take back (blocks.h)
// Each knows those above it only. The public calls put them together: model.cpp (what only orders), model_memory.cpp,
// model_operations.cpp and model_graphs.cpp.
//
// A call on a stream, event or address that the model does not know is not an error: the program may do anything, and
// the trace may start late. Such a call has no effect and gives no report.
#pragma once

#include "ordering/blocks.h"
#include "ordering/checks.h"
#include "ordering/graph.h"
#include "ordering/lives.h"
#include "ordering/model.h"
#include "ordering/pieces.h"
#include "ordering/progress.h"

namespace streamsan::ordering {

struct Model::Impl {
  Impl(Options options, HazardSink& sink, const WhatIf* what_if)
      : progress(options, what_if),
        lives(progress.joined()),
        checks(sink, progress, lives),
        pieces(lives, checks),
        blocks(progress, lives, checks) {}

  /// Makes it the access of a kernel of this shape, by a pointer.
  static void by_kernel(Access& access, const LaunchShape& shape) {
    access.source = AccessSource::Kernel;
    access.exact = false;
    access.signalled = shape.signalled;
    access.atomic_for_host = shape.atomic_for_host;
    access.function = shape.function;
    access.device_threads = shape.threads;
    access.arguments_hash = shape.arguments_hash;
  }
  /// A kernel that its stream's clock holds for. `learned`: its bytes are.
  void touch_kernel(const Access& inferred, bool learned, const Actor& actor, std::span<const PointerArgument> pointers,
                    std::span<const KernelBytes> bytes) {
    if (!pointers.empty()) checks.touch_pointers(inferred, pointers, actor);
    if (!bytes.empty()) touch_bytes(inferred, learned, actor, bytes);
  }
  void touch_bytes(const Access& inferred, bool learned, const Actor& actor, std::span<const KernelBytes> bytes);
  /// One that may overlap those in front of it, and is the last of its chain by now.
  struct Dependent {
    const Lane& lane;
    const LaunchShape& shape;
    const Chain::Kernel& front;
  };
  void touch_dependent(const Access& access, const Actor& actor, const Dependent& dependent,
                       std::span<const PointerArgument> pointers, std::span<const KernelBytes> bytes);

  /// Stream-ordered memory begins, or ends, in the lane's present operation.
  AllocationId begin_life(Call call, const Lane& lane, OpId op, Range range, bool on_its_device);
  void end_life(Access access, const Actor& actor, Address base);
  /// The host itself touches the bytes now, or a call does so for it. Where it must be remembered, the host's lane goes
  /// on by begin_touch() before.
  void begin_touch(HostClock& host);
  void touch_by_host(const Access& access, Range range, const HostClock& host);
  /// The copies of a batch that read their sources before the call returns.
  void read_during_call(std::span<const BatchPart> parts, Access access, HostClock& host);
  /// Pageable memory is lent to `actor`, a copy, until the copy is complete.
  void lend(const Footprint& side, Access access, const Actor& actor);
  /// What a node of a graph touches, in the lane's present operation.
  void touch_node(const GraphNode& node, Access access, const Actor& actor);

  Progress progress;
  FlatMap<GraphCount> graphs_made;  ///< by the key of the executable graph: the count when it had its present nodes
  std::uint64_t device_waits = 0;
  std::uint64_t idle_device_waits = 0;
  Lives lives;
  Checks checks;
  Pieces pieces;
  Blocks blocks;
};

}  // namespace streamsan::ordering
