// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that the recorder passes through without understanding them. They are counted and named, so that a run without
// reports is not mistaken for a checked one: calls of rows with EffectKind::Later or Share, and calls of driver
// functions the table does not have.
//
// The signature of an unknown function is unknown too, so it cannot be wrapped in C++. The guest is given one of a
// fixed set of entry points that count and jump to the driver; when they are used up the driver's own address is handed
// out.
#pragma once

#include <cstddef>

namespace streamsan::recorder {

/// A call of a Later row.
void note_later(std::size_t row);

/// An entry point that counts calls and goes on to `address`, the driver's function `name`.
void* counting_entry(const char* name, void* address);

/// Final counts into the trace, at exit.
void write_unmodelled_counts();

}  // namespace streamsan::recorder
