// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Findings as JSON for programs: {"schema":3,"tool":{...},"findings":[...],"waits":[...],"summary":{...}}.
//
// Every field of Finding is there under its own name, also of suppressed and `possible` findings. Addresses are strings
// ("0x7f12"), because JSON numbers lose 64-bit values in many readers; sizes, lines and op numbers are numbers.
// docs/reports.md describes the schema; fields may be added, never renamed. read_json.h reads it back.
#pragma once

#include <span>
#include <string>

#include "report/finding.h"
#include "report/formats.h"

namespace streamsan::report {

/// Goes up when a field is added that a reader may want to ask for: 2 has "sync", 3 has "waits" (the synchronising
/// calls that are to stay, which were findings before). A file without a number is of 1.
inline constexpr std::uint32_t kJsonSchema = 3;

std::string json(std::span<const Finding> findings, const Summary& summary);
std::string json(const Results& results, const FormatContext& context);

}  // namespace streamsan::report
