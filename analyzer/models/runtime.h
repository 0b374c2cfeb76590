// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows of runtime.def, for the catalogue and for the test that compares them with driver and headers.
#pragma once

#include <span>
#include <string_view>

#include "analyzer/models/catalog.h"

namespace streamsan::analyzer {

struct RuntimeRow {
  std::string_view function;
  int arguments = kAnyArguments;
  std::string_view driver;  ///< the name a program writes; empty: none
  Facts facts;
};

std::span<const RuntimeRow> runtime_rows();

/// The functions that the headers may call by another name where per-thread default streams are asked for, and some
/// more: a name that no header has costs nothing.
bool has_per_thread_spelling(const RuntimeRow& row);

}  // namespace streamsan::analyzer
