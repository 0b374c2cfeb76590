// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One complete finding, as the judge makes them, for the tests of everything that prints findings.
#pragma once

#include <string>

#include "report/finding.h"
#include "report/formats.h"
#include "report/source_root.h"

namespace streamsan::report {

/// consume() on stream 2 reads what a copy on stream 1 has not finished writing; an event was recorded too early.
Finding sample_race();

/// A wait for an event that is never recorded: no accesses, no buffer.
Finding sample_misuse();

/// A cudaDeviceSynchronize that could be narrower; every field of its report is filled.
Finding sample_sync();

/// What a program's names may hold at worst: commands of CI services, line ends, escapes, bytes that are no UTF-8.
inline constexpr const char* kNastyName =
    "::error file=x::pwned\n::set-output name=a::b\r\x1b[31m\x01 <&\"'> ]]> 100%,\xff\xfe";

/// As sample_race(), with that name for the kernel, the stream, the function and the buffer.
Finding sample_nasty();

/// A hint, of which one like it was folded into it.
Finding sample_hint();

/// What formats are given that need no more than a root.
inline const FormatContext kContext{.root = SourceRoot("/src")};

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace streamsan::report
