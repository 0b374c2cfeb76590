// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See text.h for the shape that must stay stable.
#include "report/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "report/colors.h"
#include "report/groups.h"
#include "report/printable.h"
#include "report/short_name.h"

namespace streamsan::report {
namespace {

constexpr std::size_t kLibraryFramesShown = 3;
constexpr std::size_t kUserFramesShown = 12;

const char* color_of(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return color::kError;
    case Severity::Latent:
      return color::kLatent;
    case Severity::Possible:
      return color::kPossible;
    case Severity::Note:
      return color::kNote;
  }
  return "";
}

const char* headword(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return "ERROR";
    case Severity::Latent:
      return "LATENT";
    case Severity::Possible:
      return "POSSIBLE";
    case Severity::Note:
      return "NOTE";
  }
  return "";
}

std::string painted(const TextOptions& options, const char* color, std::string text) {
  return options.color ? color + std::move(text) + color::kReset : std::move(text);
}

std::string shown_path(const std::string& path, const TextOptions& options) {
  const std::string& prefix = options.strip_path_prefix;
  if (!prefix.empty() && path.starts_with(prefix)) {
    std::size_t at = prefix.size();
    while (at < path.size() && path[at] == '/') ++at;
    return path.substr(at);
  }
  return path;
}

const Frame* first_user_frame(const std::vector<Frame>& stack) {
  auto it = std::find_if(stack.begin(), stack.end(), [](const Frame& f) { return !f.library; });
  return it == stack.end() ? nullptr : &*it;
}

bool is_python(const Frame& frame) { return frame.language == Language::Python; }

/// A function of the C++ library's headers, between the program's: std::thread's call of the program's function and the
/// like. What people call themselves (std::vector's constructor) stands at the end of a stack.
bool is_plumbing(const Frame& frame) {
  const std::string_view function = without_result(frame.function);
  return function.starts_with("std::") || function.starts_with("__gnu_cxx::");
}

/// Those of the frames that are meant: the program's, or the first few of libraries.
template <typename Meant>
void append_frames(std::string& out, const std::vector<Frame>& stack, const TextOptions& options, Meant meant) {
  const bool only_library =
      std::none_of(stack.begin(), stack.end(), [&](const Frame& f) { return meant(f) && !f.library; });
  const std::size_t most = only_library ? kLibraryFramesShown : kUserFramesShown;
  const bool only_plumbing = std::all_of(stack.begin(), stack.end(), [&](const Frame& f) {
    return !meant(f) || (f.library && !only_library) || is_plumbing(f);
  });
  std::size_t number = 0;
  for (const Frame& frame : stack) {
    if (!meant(frame) || (frame.library && !only_library)) continue;
    if (is_plumbing(frame) && !only_plumbing) continue;
    if (number++ >= most) continue;
    out += "      #" + std::to_string(number - 1) + " ";
    if (!frame.function.empty()) out += short_name(frame.function) + " ";
    out += location(frame, options) + "\n";
  }
  if (!only_library && number > most)
    out += "      ... " + std::to_string(number - most) + " more, see the JSON report\n";
}

std::string stream_phrase(const Stream& stream) {
  if (stream.kind == StreamKind::Graph) return "in " + stream.name;
  std::string out = "on " + stream.name;
  // "the legacy default stream (legacy)" would say it twice.
  if (stream.kind == StreamKind::Blocking || stream.kind == StreamKind::NonBlocking) {
    out += std::string(" (") + name(stream.kind) + ")";
  }
  return out;
}

/// How a kernel's bytes are known; of all else it goes without saying.
std::string evidence_phrase(const AccessReport& access) {
  switch (access.evidence) {
    case Evidence::Exact:
      return access.kernel.empty() ? "" : " (exact bytes)";
    case Evidence::Learned:
      return " (bytes of an earlier launch with the same arguments)";
    case Evidence::Widened:
      return " (at most these bytes)";
    case Evidence::Inferred:
      return access.verb == Verb::Use ? " (a pointer argument; may read or write)" : " (a pointer argument)";
    case Evidence::Texture:
      return " (through a texture or surface)";
  }
  return "";
}

/// "Previous write by cudaMemcpyAsync on stream 1, op #15". `thread`: other host threads have to do with it, too.
std::string access_line(const AccessReport& access, bool earlier, bool thread, const TextOptions& options) {
  const std::string verb =
      earlier && access.verb != Verb::None ? "Previous " + in_lower_case(access.verb) : name(access.verb);
  std::string out = "  " + painted(options, color::kBold, verb + " by " + access.what);
  // "by the host on the host" would say it twice.
  if (access.stream.kind != StreamKind::Host || !access.api.empty()) out += " " + stream_phrase(access.stream);
  if (access.op) out += ", op #" + std::to_string(access.op);
  if (thread) out += ", " + host_thread(access.thread, access.thread_name, access.main_thread);
  if (!access.mark.empty()) out += ", in " + access.mark;
  return out + evidence_phrase(access);
}

bool is_of_several_threads(const Finding& finding) {
  return std::any_of(finding.accesses.begin(), finding.accesses.end(),
                     [&](const AccessReport& access) { return access.thread != finding.accesses.front().thread; });
}

bool has_exact_bytes(const Finding& finding) {
  return std::all_of(finding.accesses.begin(), finding.accesses.end(),
                     [](const AccessReport& access) { return access.evidence == Evidence::Exact; });
}

/// What was counted.
std::string times_line(const Finding& finding) {
  std::string out;
  if (finding.count > 1) {
    const bool pair = finding.kind != Kind::HiddenSync;
    out = "  Seen " + counted(finding.count, "time") + (pair ? " between these two places" : " at this place") +
          (has_exact_bytes(finding) ? ".\n" : ", going by the arguments of the calls.\n");
  }
  if (finding.weaker > 0) {
    out += "  Seen " + counted(finding.weaker, "more time") + ", with less certainty about bytes or order.\n";
  }
  return out;
}

std::string property_text(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return c == ' ' || c == ',' || c == '='; }, '-');
  std::erase(text, '"');
  return text;
}

std::string properties(const Finding& finding) {
  std::string streams, ops;
  const auto property_of = [](const Stream& stream) {
    if (stream.kind == StreamKind::Host) return std::string("host");
    if (stream.kind == StreamKind::Graph) return std::string("graph");
    return property_text(stream.name);
  };
  auto add = [&](const Stream& stream, std::uint64_t op) {
    streams += (streams.empty() ? "" : ",") + property_of(stream);
    ops += (ops.empty() ? "" : ",") + std::to_string(op);
  };
  for (auto it = finding.accesses.rbegin(); it != finding.accesses.rend(); ++it) add(it->stream, it->op);
  if (finding.accesses.empty()) {
    for (auto it = finding.related.rbegin(); it != finding.related.rend(); ++it) {
      if (!it->stream.name.empty()) add(it->stream, it->op);
    }
  }
  std::string out = "  [properties] kind=" + std::string(name(finding.kind)) + " hazard=" + finding.hazard.text() +
                    " severity=" + name(finding.severity) + " cause=" + finding.cause.text();
  if (!finding.rule.empty()) out += " rule=" + finding.rule;
  if (!streams.empty()) out += " streams=" + streams + " ops=" + ops;
  return out + " count=" + std::to_string(finding.count) + " fingerprint=" + finding.fingerprint + "\n";
}

/// "==4711== ERROR: streamsan: read-after-write race"
std::string head(const Finding& finding, const TextOptions& options) {
  return "==" + std::to_string(finding.pid) + "== " +
         painted(options, color_of(finding.severity),
                 std::string(headword(finding.severity)) + ": streamsan: " + title(finding));
}

/// " on device memory 0x7f000000a000 [up to 4096 bytes overlap]", or nothing.
std::string overlap_text(const Finding& finding) {
  if (finding.overlap_end <= finding.overlap_begin) return "";
  const std::uint64_t bytes = finding.overlap ? finding.overlap->bytes : finding.overlap_end - finding.overlap_begin;
  const bool array = finding.buffer && finding.buffer->address == 0;
  std::string out = (finding.buffer ? " on " + finding.buffer->memory : "") +
                    (array ? "" : " " + hex(finding.overlap_begin)) + " [" +
                    (has_exact_bytes(finding) ? "" : "up to ") + counted(bytes, "byte") + " overlap";
  if (finding.overlap) {
    const OverlapReport& all = *finding.overlap;
    out += all.width != 0 ? ": " + counted(all.runs, "row") + " of " + counted(all.width, "byte") + ", " +
                                std::to_string(all.pitch) + " apart"
                          : ": " + counted(all.runs, "range") +
                                (array ? " up to byte " + std::to_string(all.end) : " up to " + hex(all.end));
    if (all.more) out += ", and more";
  }
  return out + "]";
}

}  // namespace

std::string in_lower_case(Verb verb) {
  std::string out = name(verb);
  if (!out.empty()) out[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(out[0])));
  return out;
}

std::string location(const Frame& frame, const TextOptions& options) {
  if (!frame.file.empty()) {
    std::string out = shown_path(frame.file, options);
    if (frame.line) out += ":" + std::to_string(frame.line);
    if (frame.line && frame.column) out += ":" + std::to_string(frame.column);
    return out;
  }
  if (!frame.module.empty()) return "(" + std::string(base_name(frame.module)) + "+" + hex(frame.offset) + ")";
  return "(" + hex(frame.address) + ")";
}

void append_stack(std::string& out, const std::vector<Frame>& stack, const TextOptions& options) {
  const auto is_forward = [](const Frame& frame) { return frame.forward; };
  const auto is_here = [](const Frame& frame) { return is_python(frame) && !frame.forward; };
  const bool under_python = std::any_of(stack.begin(), stack.end(), is_python);
  // Where Python's frames tell where it is, a library's that have no name tell nothing.
  append_frames(out, stack, options,
                [&](const Frame& f) { return !is_python(f) && !(under_python && f.library && f.function.empty()); });
  if (std::any_of(stack.begin(), stack.end(), is_here)) {
    out += "      Python:\n";
    append_frames(out, stack, options, is_here);
  }
  if (std::any_of(stack.begin(), stack.end(), is_forward)) {
    out += "      Python, where the forward operation was called:\n";
    append_frames(out, stack, options, is_forward);
  }
}

std::string hex(std::uint64_t value) {
  std::array<char, 16> digits{};
  auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
  return "0x" + std::string(digits.data(), end);
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string title(const Finding& finding) {
  if (finding.kind == Kind::Race) return finding.hazard.text() + " race";
  if (finding.kind == Kind::HostRace) return finding.hazard.text() + " host race";
  if (finding.kind == Kind::UnneededSync) return "sync " + finding.hazard.text();
  return finding.hazard.text();
}

std::string origin(const BufferReport& buffer) {
  if (buffer.variable) return buffer.allocator.empty() ? "" : " looked up by " + buffer.allocator;
  return buffer.allocator.empty() ? "" : " allocated by " + buffer.allocator;
}

std::string again_text(const Finding& raw, std::uint32_t whole_of, const TextOptions& options) {
  const Finding finding = printable(raw);
  return head(finding, options) + ": the same places as in the report of process " + std::to_string(whole_of) + "\n" +
         properties(finding);
}

std::string text(const Finding& raw, const TextOptions& options) {
  const Finding finding = printable(raw);
  std::string out = head(finding, options) + overlap_text(finding);
  if (finding.accesses.empty()) out += ": " + finding.message;
  out += "\n";
  const bool threads = is_of_several_threads(finding);
  for (std::size_t i = 0; i < finding.accesses.size(); ++i) {
    out += access_line(finding.accesses[i], i > 0, threads, options) + "\n";
    append_stack(out, finding.accesses[i].stack, options);
  }
  if (finding.buffer) {
    const BufferReport& buffer = *finding.buffer;
    out += (buffer.variable ? "  Variable " : "  Buffer ") + (buffer.name.empty() ? "" : "\"" + buffer.name + "\" ") +
           (buffer.address == 0 ? buffer.memory : hex(buffer.address)) + " [" + counted(buffer.bytes, "byte") + "]" +
           origin(buffer) + "\n";
    append_stack(out, buffer.stack, options);
  }
  const bool hint = finding.kind == Kind::Hint;
  out += std::string("  ") +
         (hint                               ? "Evidence: "
          : finding.kind == Kind::HiddenSync ? "Cause: "
          : finding.rule.empty()             ? "No ordering: "
                                             : "Not promised: ") +
         finding.explanation + "\n";
  for (const RelatedOp& related : finding.related) {
    const bool in_stream = related.stream.kind != StreamKind::Host;
    out += "    " + related.what + (in_stream ? " " + stream_phrase(related.stream) : "") +
           (related.op ? ", op #" + std::to_string(related.op) : "") + "\n";
    append_stack(out, related.stack, options);
  }
  out += "  Fix: " + finding.fix + "\n";
  if (!hint) out += times_line(finding);
  if (!finding.mark.empty()) out += "  First seen in " + finding.mark + ".\n";
  for (const std::string& test : finding.tests) out += "  Test: " + test + "\n";
  return out + properties(finding);
}

std::string follower_text(const Finding& raw, const TextOptions& options) {
  const Finding finding = printable(raw);
  std::string out = head(finding, options) + overlap_text(finding) + "\n";
  const bool threads = is_of_several_threads(finding);
  for (std::size_t i = 0; i < finding.accesses.size(); ++i) {
    const AccessReport& access = finding.accesses[i];
    out += access_line(access, i > 0, threads, options);
    if (const Frame* frame = first_user_frame(access.stack)) {
      out += ", at " + location(*frame, options);
      if (!frame->function.empty()) out += " in " + short_name(frame->function);
    }
    out += "\n";
  }
  return out + times_line(finding) + properties(finding);
}

std::string place(const Finding& finding, const TextOptions& options) {
  for (const std::vector<Frame>* stack : stacks(finding)) {
    const Frame* frame = first_user_frame(*stack);
    if (!frame) continue;
    return location(*frame, options) + (frame->function.empty() ? "" : " in " + short_name(frame->function));
  }
  if (!finding.accesses.empty()) return finding.accesses.front().what;
  return finding.related.empty() ? "" : finding.related.front().what;
}

bool lacks_lines(const Finding& finding) {
  bool has_user_frame = false;
  for (const std::vector<Frame>* stack : stacks(finding)) {
    for (const Frame& frame : *stack) {
      if (frame.library || !frame.symbolised) continue;
      if (!frame.file.empty()) return false;
      has_user_frame = true;
    }
  }
  return has_user_frame;
}

const char* line_hint() {
  return "Hint: compile with -g (nvcc -g; it does not change device code) to see file and line.";
}

bool leads(const Finding& finding, const Finding* first) {
  return !finding.suppressed && finding.severity <= Severity::Latent && (!first || finding.severity < first->severity);
}

std::string summary_line(const Summary& summary, const Finding* first, const TextOptions& options) {
  std::string out = "SUMMARY: streamsan: ";
  std::string counts;
  auto add = [&counts](const std::string& part) { counts += (counts.empty() ? "" : ", ") + part; };
  if (summary.errors) add(counted(summary.errors, "error"));
  if (summary.latent) add(std::to_string(summary.latent) + " latent");
  if (summary.possible) add(std::to_string(summary.possible) + " possible (shown with min_severity=possible)");
  if (summary.notes) add(counted(summary.notes, "note"));
  if (summary.suppressed) add(std::to_string(summary.suppressed) + " suppressed");
  if (counts.empty() || !(summary.errors || summary.latent))
    counts = "no errors" + (counts.empty() ? "" : ", " + counts);
  out += counts;
  if (first) {
    out += summary.errors + summary.latent > 1 ? "; first: " : ": ";
    out += title(*first) + " " + place(*first, options);
  } else {
    out += "; " + counted(summary.operations, "operation") + " in " + std::to_string(summary.processes) +
           (summary.processes == 1 ? " process" : " processes");
  }
  return one_line(out);
}

}  // namespace streamsan::report
