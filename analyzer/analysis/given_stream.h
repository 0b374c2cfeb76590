// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stream that a function is given to work on, or got elsewhere, as far as its text shows.
#pragma once

#include <string>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer {

bool is_default(const ir::Operand& stream);

/// The one stream parameter that there is, if it has a name, is used, and is not asked about on a way to `block`. A
/// reference counts if the function itself works on it and never sets it. Code
/// that asks later (`if (stream == nullptr) cudaDeviceSynchronize()`) has not chosen by it what goes where.
ir::PlaceId stream_parameter(const ir::Function& function, const ir::Block& block);

/// A branch depends on it.
bool asked_about(const ir::Function& function, ir::PlaceId place);

/// This function makes it.
bool created_here(const ir::Function& function, ir::PlaceId place);

/// This function makes it a default stream, or one of which nothing is known.
bool perhaps_default(const ir::Function& function, ir::PlaceId stream);

/// Got from elsewhere by this function: the result of a call, a global one, one that is kept in an object which it is
/// given. Of a member of its own object, and of one that is created in sight, the class knows the kind, and what order
/// it lacks.
bool is_at_hand(const ir::Function& function, const ir::Program& program, ir::PlaceId stream);

/// Tensors come from callers or from the object, or go there.
bool trades_tensors(const ir::Function& function);

/// A body in sight works on a stream parameter of its own, and does not wait for it.
bool enqueues_on_parameter(const ir::Program& program, const std::string& callee);

/// An event is recorded in the default stream, or that stream waits for one.
bool orders_default_stream(const ir::Function& function);

/// What the one value ever assigned to `memory` is.
ir::PlaceId source(const ir::Function& function, ir::PlaceId memory);

/// One of the two writes what the other uses. Which part of it, is not asked.
bool share_memory(const ir::Function& function, const ir::Op& one, const ir::Op& other);

}  // namespace streamsan::analyzer
