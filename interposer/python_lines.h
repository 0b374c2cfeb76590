// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From an instruction of Python to its line: CPython's three formats of that table.
//
//   Increments (3.9, co_lnotab)        pairs: bytes of code, then lines (signed): "from here on, so many lines further"
//   Ranges (3.10, co_linetable)        pairs: bytes of code, lines (signed; -128: these bytes have no line): the lines
//                                      are added first, then the range is as long as said
//   Locations (3.11+, co_linetable)    entries that begin with a byte whose highest bit is set: kind and number of code
//                                      units; then, by kind, the line's difference and columns in 6-bit pieces
//
// All begin at the first line of the function. The tables are trusted as little as everything else that is read from
// the guest's memory: no byte beyond `length` is looked at, and nonsense yields some line or none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interposer/python_layout.h"

namespace streamsan::recorder {

/// The line of the instruction that begins `offset` bytes into the code; 0: it has none.
std::uint32_t python_line(PythonLines kind, const unsigned char* table, std::size_t length, std::int32_t first_line,
                          std::uint32_t offset);

}  // namespace streamsan::recorder
