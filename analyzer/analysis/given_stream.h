// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stream that a function is passed to work on, or gets elsewhere, as far as its text shows.
#pragma once

#include <string>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer {

bool is_default(const ir::Operand& stream);

/// The only stream parameter, if it has a name, is used, and no branch on a path to `block` depends on it. A reference
/// counts if the function itself works on it and never sets it. A branch behind `block`
/// (`if (stream == nullptr) cudaDeviceSynchronize()`) does not decide where the work goes.
ir::PlaceId stream_parameter(const ir::Function& function, const ir::Block& block);

/// A branch depends on the place.
bool asked_about(const ir::Function& function, ir::PlaceId place);

/// The function creates the stream.
bool created_here(const ir::Function& function, ir::PlaceId place);

/// The function sets the variable to a default stream, or to an unknown one.
bool perhaps_default(const ir::Function& function, ir::PlaceId stream);

/// The function got the stream elsewhere: it is the result of a call, a global variable, or kept in an object that the
/// function is passed. Not a member of its own object, nor a stream that is created in sight: the class knows the kind
/// of such a stream, and which order it lacks. Nor what a member that is no pointer returns: it may be a blocking one.
bool is_at_hand(const ir::Function& function, const ir::Program& program, ir::PlaceId stream);

/// The function gets tensors from its callers or its object, or gives tensors to them.
bool trades_tensors(const ir::Function& function);

/// A body in sight works on a stream parameter of its own, and does not wait for it.
bool enqueues_on_parameter(const ir::Program& program, const std::string& callee);

/// An event is recorded in the default stream, or that stream waits for one.
bool orders_default_stream(const ir::Function& function);

/// The place that `memory` is assigned from, if it is assigned once.
ir::PlaceId source(const ir::Function& function, ir::PlaceId memory);

/// One of the two writes memory that the other uses, in whatever part of it.
bool share_memory(const ir::Function& function, const ir::Op& one, const ir::Op& other);

}  // namespace streamsan::analyzer
