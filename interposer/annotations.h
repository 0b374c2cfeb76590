// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Annotations: the recorder's side of include/streamsan/annotate.h, and what it shares with the listener to NVTX
// (nvtx.cpp).
//
// The recorder exports one object, a table of functions: a program links nothing and finds all functions with one
// look-up. Programs that were compiled long ago rely on it, so it only grows at its end.
//
// BEFORE CUINIT nothing is recorded, here as elsewhere. There is no GPU work then, so annotations of order are not
// needed. There is no CUDA memory, so a block can only be part of memory that is registered later. Names may be lost.
// The recorder counts all such calls and reports the count at verbosity 1 when recording begins, so that a user notices
// a pool that is annotated too early.
//
// A CALL IS CHEAP: one record with its stack, and for a default stream one query of the driver for the current context.
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

/// As streamsan_block_allocated(). And the end of a block whose pool has just recorded the events that it waits for
/// itself, on this thread (trace::kOwnEvents): streams that the pool waits for may still read it, so it is not
/// poisoned.
void block_handed_out(std::uint64_t address, std::uint64_t bytes, std::uint64_t stream, const void* frame);
/// `puts_off`: or records them later (trace::kPutsOff).
void block_given_back(std::uint64_t address, bool puts_off, const void* frame);

/// Names; ignored if empty, cut after 255 bytes.
void name_memory(std::uint64_t address, const char* name);
void name_stream(std::uint64_t handle, const char* name);

/// Recording begins: says how many annotations came too early.
void report_early_annotations();

}  // namespace streamsan::recorder
