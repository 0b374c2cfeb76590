// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers a small source against the mock headers, and writes its ops as the text of ir/text.h without sites.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "analyzer/ir/inline.h"
#include "analyzer/ir/text.h"
#include "analyzer/lowering/lowering.h"
#include "analyzer/lowering/tests/parse.h"

namespace streamsan::analyzer {

inline const std::string kKernel =
    "#include <cuda_runtime.h>\n"
    "__global__ void k(float* out, const float* in, int n) { if (n > 0) out[threadIdx.x] = in[threadIdx.x]; }\n";

inline Lowered lower_source(const std::string& source, const std::vector<std::string>& more = {}) {
  std::vector<std::string> flags = {"-x",
                                    "cuda",
                                    "--cuda-host-only",
                                    "-nocudainc",
                                    "-nocudalib",
                                    "-std=c++17",
                                    "-Wno-unknown-cuda-version",
                                    "-Wno-everything",
                                    "-fsyntax-only",
                                    "-isystem",
                                    STREAMSAN_MOCK_HEADERS};
  flags.insert(flags.end(), more.begin(), more.end());
  const auto unit = parse(source, flags, "test.cu");
  EXPECT_NE(unit, nullptr);
  static const Models models;
  return lower(*unit, models, {});
}

inline const ir::Function* find(const Lowered& lowered, const std::string& name) {
  for (const auto& [usr, function] : lowered.program.functions)
    if (function.name == name) return &function;
  return nullptr;
}

/// The ops of the function `f`, one on a line: no sites, no names of calls, no blocks that only pass on.
inline std::string ops(ir::Function function) {
  ir::simplify(function);
  std::istringstream text(ir::print(function));
  std::string result;
  for (std::string line; std::getline(text, line);) {
    if (const std::size_t site = line.find("  ; "); site != std::string::npos) line.resize(site);
    if (line.starts_with("bb0:") || line.starts_with("function") || line.empty()) continue;
    std::istringstream words(line);
    std::string kept, first;
    words >> first;
    if (first == "local" || first == "parameter" || first == "temporary" || first == "place" || first == "global" ||
        first == "expr")
      continue;
    words.seekg(0);
    for (std::string word; words >> word;) {
      if (word == "unchecked") continue;
      if (word == "api") {
        words >> word;
        if (word.starts_with('"'))
          while (!word.ends_with('"') && words >> word) continue;
        continue;
      }
      kept += (kept.empty() ? "" : " ") + word;
    }
    result += kept + "\n";
  }
  return result;
}

inline std::string ops_of(const std::string& source, const std::string& name = "f") {
  const Lowered lowered = lower_source(kKernel + source);
  const ir::Function* function = find(lowered, name);
  if (function == nullptr) return "none";
  if (!function->incomplete.empty()) return "incomplete: " + function->incomplete;
  return ops(*function);
}

/// With the callees inlined.
inline std::string closed(const std::string& source) {
  const Lowered lowered = lower_source(kKernel + source);
  const ir::Function* function = find(lowered, "f");
  return function == nullptr ? "none" : ops(ir::close(lowered.program, function->usr));
}

}  // namespace streamsan::analyzer
