// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stream that a function is given to work on, as far as its text shows.
#pragma once

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer {

bool is_default(const ir::Operand& stream);

/// The one stream parameter that there is, if it has a name, is used, and is not asked about on a way to `block`. Code
/// that asks later (`if (stream == nullptr) cudaDeviceSynchronize()`) has not chosen by it what goes where.
ir::PlaceId stream_parameter(const ir::Function& function, const ir::Block& block);

/// A branch depends on it.
bool asked_about(const ir::Function& function, ir::PlaceId place);

/// An event is recorded in the default stream, or that stream waits for one.
bool orders_default_stream(const ir::Function& function);

/// What the one value ever assigned to `memory` is.
ir::PlaceId source(const ir::Function& function, ir::PlaceId memory);

/// One of the two writes what the other uses. Which part of it, is not asked.
bool share_memory(const ir::Function& function, const ir::Op& one, const ir::Op& other);

}  // namespace streamsan::analyzer
