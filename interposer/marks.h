// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a program says of its own run, beside its pools and names (annotations.h): which part of it this is, that a
// thread must not wait for the GPU here, and that it wants to know what was found so far. The Python module `streamsan`
// and its plugin for pytest are made of these (docs/python.md).
//
// BEFORE CUINIT there is no trace. A test that is the first to use CUDA is marked before it does, and a region without
// waits is mostly entered before the first step. So the last mark of each level is kept and written when recording
// begins, and so is the state of the thread that begins it. What other threads had said by then is lost: a wait of
// theirs may be missed.
//
// A QUESTION has its place among the records. The judge that reads the trace answers it in a file of its own when it
// gets there: what happened before the question is in the answer, what other threads do meanwhile need not be.
#pragma once

#include <cstddef>
#include <cstdint>

namespace streamsan::recorder {

/// The run is in this part of it from here on; an empty name or null: in none. `level`: trace::MarkLevel.
void mark(unsigned level, const char* name);

/// May the calling thread wait for the GPU? `state`: trace::HostWaitsState.
void say_host_waits(unsigned state);

/// Asks for the findings up to here. 0: nothing is recorded. 1: they will be in the file that is named in `path`, which
/// appears when it is whole. 2: nobody reads the trace now; `path` is the trace itself. A path that is longer than
/// `room` counts as 0.
int ask(char* path, std::size_t room);

/// Slots of the trace that are taken: grows with everything that is recorded. 0: nothing is.
std::uint64_t position();

/// Recording begins: what was said before.
void write_early_marks();

}  // namespace streamsan::recorder
