// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/footprints.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string_view>
#include <system_error>

#include "cli/exit_codes.h"
#include "cli/trace_judge.h"
#include "judge/footprints.h"
#include "judge/hazards.h"
#include "judge/judge.h"
#include "judge/signature.h"
#include "report/common/utf8.h"
#include "report/log_path.h"
#include "report/output_file.h"
#include "report/text.h"
#include "trace/reader.h"

namespace streamsan::cli {
namespace {

using Json = nlohmann::ordered_json;
using judge::LaunchBytes;
using ordering::AccessMode;
using ordering::KernelBytes;

/// By judge::Known, in the order in which text names them.
constexpr std::array<const char*, 4> kKnownWords = {"measured", "learned", "computed", "inferred"};

const char* word(AccessMode mode) {
  switch (mode) {
    case AccessMode::Read:
      return "read";
    case AccessMode::Write:
      return "write";
    case AccessMode::Atomic:
      return "atomic";
    case AccessMode::Unknown:
    case AccessMode::Doubtful:
      break;
  }
  return "unknown";
}

constexpr std::string_view kStdout = "-";

/// Where the lines of JSON go: nowhere, stdout, one file, or with %p and %b a file for each process.
class JsonLines {
 public:
  JsonLines(std::string pattern, const std::vector<std::string>& traces) : pattern_(std::move(pattern)) {
    for (const std::string& path : traces) inputs_.insert(report::file_behind(path));
    if (!pattern_.empty() && !to_stdout() && !report::names_process(pattern_)) of({});
  }

  [[nodiscard]] bool to_stdout() const { return pattern_ == kStdout; }

  /// For the launches of that process; nullptr: nowhere.
  std::ostream* of(const report::LogNames& names) {
    if (pattern_.empty()) return nullptr;
    if (to_stdout()) return &std::cout;
    const std::string path = report::expand_log_path(pattern_, names);
    const auto [file, fresh] = files_.try_emplace(path);
    if (fresh) open(path, file->second);
    return &file->second;
  }

  /// What could not be written; empty: nothing. At the end.
  std::string fault() {
    if (to_stdout()) std::cout.flush();
    if (to_stdout() && !std::cout) return "cannot write to stdout";
    for (auto& [path, file] : files_) {
      errno = 0;
      file.flush();
      if (fault_.empty() && !file) {
        const int why = errno;
        fault_ = "cannot write " + path + (why ? ": " + std::generic_category().message(why) : "");
      }
    }
    return fault_;
  }

 private:
  void open(const std::string& path, std::ofstream& file) {
    std::string why;
    if (inputs_.contains(report::file_behind(path))) {
      why = "it is one of the traces";
      file.setstate(std::ios::failbit);
    } else {
      why = report::make_parents(path);
      errno = 0;
      file.open(path, std::ios::binary | std::ios::trunc);
      if (!file && why.empty()) why = std::generic_category().message(errno);
    }
    if (!file && fault_.empty()) fault_ = "cannot write " + path + ": " + why;
  }

  std::string pattern_;
  std::set<std::string> inputs_;
  std::map<std::string, std::ofstream> files_;
  std::string fault_;
};

/// One trace. The judge follows it for the allocations that are alive at each launch and for the names of kernels.
class Trace {
 public:
  explicit Trace(const Options& options) : options_(options), judge_({}, hazards_) {
    hazards_.take_names_from(judge_.handles());
  }

  /// Returns how the trace is damaged; empty: it is whole.
  std::string read(const std::string& path, JsonLines& json) {
    std::string error;
    auto reader = trace::Reader::open(path, {}, error);
    if (!reader) return "cannot read it: " + error;
    opened_ = true;
    const trace::FileHeader& header = reader->header();
    pid_ = header.pid;
    json_ = json.of({pid_, std::string(header.executable, ::strnlen(header.executable, sizeof header.executable))});
    judge_.code().enable(options_.kernel_code, header.start_time_ns);
    trace::Item item;
    while (reader->next(item) == trace::Step::Record) {
      judge_.consume(item);
      if (item.record->kind == trace::Kind::Launch) launch(item);
    }
    return judge::damage_of(*reader);
  }

  /// Of a file that is no trace: empty.
  [[nodiscard]] std::string text(const std::string& path) const {
    if (!opened_) return {};
    std::string out =
        report::one_line(path) + ": process " + std::to_string(pid_) + ", " + some_launches(launches_) + "\n";
    for (const auto& [key, block] : blocks_) {
      std::string how;
      for (std::size_t known = 0; known < block.launches.size(); ++known) {
        if (block.launches[known] == 0) continue;
        how += (how.empty() ? "" : ", ") + std::to_string(block.launches[known]) + " " + kKnownWords[known];
      }
      out += "\n" + key.name + ": " + some_launches(block.all()) + " (" + how + ")\n" + key.bytes;
    }
    return out;
  }

 private:
  struct Key {
    std::string name;     ///< short, as it is shown
    std::string mangled;  ///< instances of one template are kernels of their own
    std::string bytes;    ///< as text
    auto operator<=>(const Key&) const = default;
  };
  struct Block {
    std::array<std::uint64_t, kKnownWords.size()> launches{};  ///< by Known
    [[nodiscard]] std::uint64_t all() const {
      std::uint64_t sum = 0;
      for (std::uint64_t count : launches) sum += count;
      return sum;
    }
  };

  static std::string some_launches(std::uint64_t count) {
    return std::to_string(count) + (count == 1 ? " launch" : " launches");
  }

  void launch(const trace::Item& item) {
    const std::uint32_t index = judge_.places().kernel_index(item.record->as<trace::Kind::Launch>().function);
    const judge::Kernel& kernel = judge_.places().kernel(index);
    const LaunchBytes& launch = judge_.bytes_of(item);
    if (json_) *json_ << json_of(kernel, launch).dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
    std::string body;
    for (const KernelBytes& bytes : launch.exact.bytes) body += line_of(bytes);
    if (!launch.exact.complete || launch.through_textures) body += pointers_of(launch);
    if (launch.exact.complete && body.empty()) body = "  touches no memory\n";
    std::string name = report::one_line(judge::plain_name(kernel.demangled));
    Key key{name.empty() ? "a kernel without a name" : name, kernel.mangled, body};
    ++blocks_[key].launches[static_cast<std::size_t>(launch.known)];
    ++launches_;
  }

  Json json_of(const judge::Kernel& kernel, const LaunchBytes& launch) const {
    Json pieces = Json::array();
    for (const KernelBytes& bytes : launch.exact.bytes) {
      const ordering::Footprint& shape = bytes.bytes;
      pieces.push_back({{"mode", word(bytes.mode)},
                        {"address", shape.base},
                        {"width", shape.width},
                        {"rows", shape.rows},
                        {"pitch", shape.pitch},
                        {"slices", shape.slices},
                        {"slice_pitch", shape.slice_pitch},
                        {"widened", bytes.widened}});
    }
    return {{"launch", launches_},
            {"pid", pid_},
            {"kernel", kernel.mangled},
            {"demangled", kernel.demangled},
            {"known", kKnownWords[static_cast<std::size_t>(launch.known)]},
            {"complete", launch.exact.complete},
            {"pieces", std::move(pieces)}};
  }

  /// "[0,4096) of 8192 bytes", relative to its allocation if there is one.
  [[nodiscard]] std::string range_of(ordering::Address begin, std::uint64_t width, std::string* size) const {
    const ordering::AllocationInfo* allocation = judge_.model().find_allocation(begin);
    ordering::Address base = allocation ? allocation->range.begin : 0;
    auto number = [&](ordering::Address at) { return allocation ? std::to_string(at - base) : report::hex(at); };
    *size = allocation ? " of " + report::counted(allocation->range.size(), "byte") : " in no known allocation";
    return "[" + number(begin) + "," + number(begin + width) + ")";
  }

  [[nodiscard]] std::string line_of(const KernelBytes& bytes) const {
    const ordering::Footprint& shape = bytes.bytes;
    std::string size;
    std::string out = "  " + std::string(word(bytes.mode)) + " " + range_of(shape.base, shape.width, &size);
    auto repeated = [&out](std::uint64_t count, const char* what, std::uint64_t pitch) {
      if (count <= 1) return;
      out += " x " + std::to_string(count) + " " + what + ", " + std::to_string(pitch) + " apart";
    };
    repeated(shape.rows, "rows", shape.pitch);
    repeated(shape.slices, "slices", shape.slice_pitch);
    return out + size + (bytes.widened ? ", not all of them" : "") + "\n";
  }

  /// Where a launch of which not all is known may have gone.
  [[nodiscard]] std::string pointers_of(const LaunchBytes& launch) const {
    std::string out;
    for (const ordering::PointerArgument& pointer : launch.pointers) {
      const ordering::AllocationInfo* allocation = judge_.model().find_allocation(pointer.address);
      if (!allocation) continue;
      std::string size;
      const std::uint64_t most = allocation->range.end - pointer.address;
      std::string range = range_of(pointer.address, pointer.reach ? std::min(pointer.reach, most) : most, &size);
      const char* what = pointer.mode == AccessMode::Read     ? "may read "
                         : pointer.mode == AccessMode::Atomic ? "may update atomically "
                                                              : "may read or write ";
      out += "  " + std::string(what) + range + size + (pointer.reach ? ", through a texture or surface\n" : "\n");
    }
    if (!out.empty()) return out;
    return launch.exact.bytes.empty() ? "  its memory is not known\n" : "  and perhaps more\n";
  }

  const Options& options_;
  std::ostream* json_ = nullptr;
  judge::Hazards hazards_{0};  ///< nobody asks for them here
  judge::Judge judge_;
  bool opened_ = false;
  std::uint32_t pid_ = 0;
  std::uint64_t launches_ = 0;
  std::map<Key, Block> blocks_;
};

void complain(const std::string& text) { std::fprintf(stderr, "streamsan: %s\n", report::one_line(text).c_str()); }

}  // namespace

int footprints(const Options& options, const std::vector<std::string>& traces, const std::string& json_path) {
  JsonLines json(json_path, traces);
  bool failed = false;
  bool first = true;
  for (const std::string& path : traces) {
    Trace trace(options);
    const std::string damage = trace.read(path, json);
    const std::string text = trace.text(path);
    if (!json.to_stdout() && !text.empty()) {
      std::printf("%s%s", first ? "" : "\n", text.c_str());
      std::fflush(stdout);
      first = false;
    }
    if (damage.empty()) continue;
    failed = true;
    complain("WARNING: " + path + ": " + damage);
  }
  if (const std::string fault = json.fault(); !fault.empty()) {
    failed = true;
    complain(fault);
  }
  return failed ? kOwnFailure : 0;
}

}  // namespace streamsan::cli
