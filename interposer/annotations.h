// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the program tells by itself: the recorder's end of include/streamsan/annotate.h, and what it has in common with
// the one that listens to NVTX (nvtx.cpp).
//
// The one exported object is a table of functions, so that nothing has to be linked and a program finds all of them
// with one look-up. It is part of the interface to programs that were compiled long ago: it only grows, at its end.
//
// BEFORE CUINIT nothing is recorded, as everywhere. There is no GPU work then, so order that is told loses nothing, and
// no CUDA memory, so a block is at best part of something that will be registered later. Names may be lost. All that is
// counted, and told at verbosity 1 when recording begins: a pool that is annotated too early is to be found out.
//
// THE CALLS ARE CHEAP: a record each, with its stack, and one query of the driver for the current context if the stream
// is a default one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace streamsan::recorder {

/// Should an annotation be recorded? Counts those that come before CUDA is initialised.
bool wants_annotations();

/// A pool handed out a block, of which it does not tell for which stream or whether for all; and took it back. `frame`
/// is
/// __builtin_frame_address(0) of the function that the program called.
void block_began(std::uint64_t address, std::uint64_t bytes, const void* frame);
void block_ended(std::uint64_t address, const void* frame);

/// Names; ignored if empty, cut after 255 bytes.
void name_memory(std::uint64_t address, const char* name);
void name_stream(std::uint64_t handle, const char* name);

/// Recording begins: says how many annotations came too early.
void report_early_annotations();

}  // namespace streamsan::recorder
