// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one table of driver functions.
//
// Every export of libcuda has exactly one row in cuda_api.def: what its arguments mean for order and memory (an
// Effect), or why it is passed through. Everything else is derived from the rows:
//   * the interposer's wrappers decode arguments by the positions named here, at compile time (interposer/hooks.h);
//   * the judge and the reports take names and default-stream meaning from here;
//   * the null driver exports every symbol listed here;
//   * docs/api-coverage.md is printed from here, and a test compares the rows with the toolkit's exports.
// Signatures are never typed by hand: users take `decltype(&::symbol)` from cuda.h with __CUDA_API_VERSION_INTERNAL
// defined, which declares every version and every _ptds/_ptsz variant.
//
// HOW TO ADD A FUNCTION
//   1. Add one SS_API row to cuda_api.def, in alphabetical order of the symbol. Traces carry the names of the rows:
//      those that exist are read as before.
//   2. Pick the effect builder below. If none fits, decide first whether the semantics are new: a new EffectKind needs
//      a decoder in interposer/, a record kind in trace/records.def, and a rule in ordering/. What code outside of this
//      folder asks of one function (does it prefetch? which context ends?) is a field of Effect, never its name.
//   3. A function that orders or touches memory but is not modelled yet gets `later("...")`: it is forwarded, counted
//      and named at the end of a run. If it may order work in a way that is then not seen, it gets
//      `later_order("...")`: once it was called, findings are at most possible. A function without order and memory
//      gets `pass("why")`.
//
// Positions are argument indices from 0; kAbsent means the function has no such argument.
// This header is free of CUDA headers on purpose; the analyzer reads it too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ordering/api/builders.h"
#include "ordering/api/effect.h"

namespace streamsan::api {

struct Row {
  std::string_view symbol;  ///< the export, with version and _ptds/_ptsz suffix
  std::string_view base;    ///< the name a program writes and cuGetProcAddress is asked for
  std::string_view group;   ///< heading in the coverage page
  DefaultStream default_stream = DefaultStream::Legacy;
  Effect effect;
};

// ---- the table ------------------------------------------------------------------------------------------------------

inline constexpr Row kRows[] = {
#define SS_API(symbol_, base_, group_, default_stream_, ...) \
  Row{.symbol = #symbol_,                                    \
      .base = #base_,                                        \
      .group = group_,                                       \
      .default_stream = DefaultStream::default_stream_,      \
      .effect = __VA_ARGS__},
#include "ordering/api/cuda_api.def"
#undef SS_API
};
inline constexpr std::size_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

/// A name for each row's index, as it stands in trace records: Index::cuLaunchKernel.
struct Index {
  enum : std::uint16_t {
#define SS_API(symbol_, ...) symbol_,
#include "ordering/api/cuda_api.def"
#undef SS_API
  };
};

/// The symbols in table order, each ended by a NUL: what a trace carries, so that its row numbers have a meaning for a
/// reader with other rows.
inline constexpr char kSymbols[] =
#define SS_API(symbol_, ...) #symbol_ "\0"
#include "ordering/api/cuda_api.def"
#undef SS_API
    ;
inline constexpr std::size_t kSymbolBytes = sizeof kSymbols - 1;  // without the NUL of the literal itself

/// FNV-1a over such symbols.
constexpr std::uint64_t table_hash(std::string_view symbols) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : symbols) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}
constexpr std::uint64_t api_table_hash() { return table_hash({kSymbols, kSymbolBytes}); }

/// The enumerator's name, for the coverage page and messages.
std::string_view name(EffectKind kind);

/// Does the function make or change graphs? Answered by the name, so also for one without a row.
bool is_of_graphs(std::string_view symbol);

/// Row of an export, or nullptr. Binary search: the table is sorted by symbol (checked by a static_assert in row.cpp).
const Row* find_row(std::string_view symbol);

}  // namespace streamsan::api
