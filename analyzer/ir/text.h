// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stream IR as text: what --dump-ir prints, what tests of the analysis are written in, and what summaries of other
// translation units are kept as. Printing and parsing are inverse: parse(print(f)) equals f. See text.cpp for the
// grammar.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

/// Readable by a person who knows CUDA, one op on a line: `  enqueue kernel scale on s1 writes d_a  ; a.cu:12:3`.
std::string print(const Function& function);

/// Reads what print() wrote, many functions one after the other. On bad text: `error` says line and reason, false.
bool parse(std::string_view text, Program& program, std::string& error);

/// A summary file: JSON, {"version": 2, "streamsan": "...", "functions": [{"usr": ..., "ir": "..."}], "fields": {...}}.
/// Written with simplify()d functions; raw source locations are dropped. Reading adds to `program`; functions that it
/// has already are kept. A file that cannot be read: false and one line in `error`. `wanted`: the only functions that
/// are read, by USR; nullptr: all are.
std::string print_summaries(const Program& program);
bool read_summaries(std::string_view json, Program& program, std::string& error,
                    const std::set<std::string>* wanted = nullptr);

}  // namespace streamsan::analyzer::ir
