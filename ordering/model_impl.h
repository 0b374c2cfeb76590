// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a Model is made of:
//   Progress  streams, events and host threads, and the order of what they did (progress.h)
//   Lives     memory, and what is remembered of the accesses to it (lives.h)
//   Checks    compares an access with those before it, by what Progress says, and reports hazards (checks.h)
//   Pieces    makes accesses of what copies and kernels touch (pieces.h)
// Each knows those above it only. The public calls put them together: model.cpp (what only orders), model_memory.cpp,
// model_blocks.cpp and model_operations.cpp.
//
// A call on a stream, event or address that the model does not know is not an error: the program may do anything, and
// the trace may start late. Such a call has no effect and gives no report.
#pragma once

#include "ordering/checks.h"
#include "ordering/lives.h"
#include "ordering/model.h"
#include "ordering/pieces.h"
#include "ordering/progress.h"

namespace streamsan::ordering {

struct Model::Impl {
  Impl(Options options, HazardSink& sink, const WhatIf* what_if)
      : progress(options, what_if), lives(progress.joined()), checks(sink, progress, lives), pieces(lives, checks) {}

  /// A kernel that its stream's clock holds for.
  void touch_kernel(Access access, const Actor& actor, std::span<const PointerArgument> pointers,
                    std::span<const KernelBytes> bytes);
  /// One that may overlap those in front of it, and is the last of its chain by now.
  struct Dependent {
    const Lane& lane;
    const Dependence& dependence;
    const Chain::Kernel& front;
  };
  void touch_dependent(const Access& access, const Actor& actor, const Dependent& dependent,
                       std::span<const PointerArgument> pointers, std::span<const KernelBytes> bytes);

  Progress progress;
  Lives lives;
  Checks checks;
  Pieces pieces;
};

}  // namespace streamsan::ordering
