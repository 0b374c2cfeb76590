// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Findings as text for people. Prints what a Finding says and adds nothing: what a hazard means, why nothing orders it
// and how to repair it was decided in judge/.
//
// The shape, which tests and users' scripts rely on:
//   * the first line of a report holds "ERROR: streamsan:", "LATENT: streamsan:", "POSSIBLE: streamsan:" or
//     "NOTE: streamsan:" after "==PID==";
//   * both accesses look alike: verb, kernel or call, stream with its kind, op number, stack;
//   * "[properties] key=value ..." is for programs: keys are never renamed, wording elsewhere may change;
//   * the last line of all begins with "SUMMARY: streamsan:".
// Frames of CUDA's libraries and of the C start-up code are left out; a stack of nothing else shows its first three.
#pragma once

#include <string>
#include <vector>

#include "report/finding.h"

namespace streamsan::report {

struct TextOptions {
  bool color = false;
  std::string strip_path_prefix;  ///< removed from the start of file names
};

/// One report, several lines, each ended by a newline.
std::string text(const Finding& finding, const TextOptions& options);

/// In a few lines: both accesses with their innermost places, and properties.
std::string follower_text(const Finding& finding, const TextOptions& options);

/// The same of another process, whose report was printed: two lines.
std::string again_text(const Finding& finding, std::uint32_t whole_of, const TextOptions& options);

/// The place of the later access: "src/train.cu:88:5 in step()", or the best there is.
std::string place(const Finding& finding, const TextOptions& options);

/// "read-after-write race", "free-while-in-use", ...
std::string title(const Finding& finding);

/// True when the finding has call stacks of the program itself but not one source line in them.
bool lacks_lines(const Finding& finding);

/// The hint to print, once, when all reports lack lines.
const char* line_hint();

/// Is `finding` named in the last line instead of `first`, which was named so far (nullptr: none)? Of the errors and
/// latent findings that are not suppressed, it names the first of the worst.
bool leads(const Finding& finding, const Finding* first);

/// The last line: counts, and the place of `first`, chosen by leads(); nullptr: no finding is named.
std::string summary_line(const Summary& summary, const Finding* first, const TextOptions& options);

/// " allocated by cudaMalloc", " looked up by cudaMemcpyToSymbol"; or nothing.
std::string origin(const BufferReport& buffer);

/// "src/train.cu:88:5", or the module and offset.
std::string location(const Frame& frame, const TextOptions& options);

/// The frames of the program, one a line. If a stack has none of these: its first three. Frames of Python are a block
/// of their own behind the others.
void append_stack(std::string& out, const std::vector<Frame>& stack, const TextOptions& options);

/// "read": inside of a sentence.
std::string in_lower_case(Verb verb);

/// "0x7f12"
std::string hex(std::uint64_t value);

/// "1 error", "2 errors"
std::string counted(std::uint64_t count, std::string_view noun);

}  // namespace streamsan::report
