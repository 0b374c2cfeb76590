// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/footprints.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "cli/exit_codes.h"
#include "cli/trace_judge.h"
#include "judge/footprints.h"
#include "judge/hazards.h"
#include "judge/judge.h"
#include "judge/signature.h"
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

/// One trace. The judge follows it for the allocations that are alive at each launch and for the names of kernels.
class Trace {
 public:
  Trace(const Options& options, std::ostream* json) : options_(options), json_(json), judge_({}, hazards_) {
    hazards_.take_names_from(judge_.handles());
  }

  /// Returns how the trace is damaged; empty: it is whole.
  std::string read(const std::string& path) {
    std::string error;
    auto reader = trace::Reader::open(path, {}, error);
    if (!reader) return "cannot read it: " + error;
    pid_ = reader->header().pid;
    judge_.code().enable(options_.kernel_code, reader->header().start_time_ns);
    trace::Item item;
    while (reader->next(item) == trace::Step::Record) {
      judge_.consume(item);
      if (item.record->kind == trace::Kind::Launch) launch(item);
    }
    return judge::damage_of(*reader);
  }

  [[nodiscard]] std::string text(const std::string& path) const {
    std::string out = path + ": process " + std::to_string(pid_) + ", " + some_launches(launches_) + "\n";
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
    if (launch.exact.complete && body.empty()) body = "  touches no memory\n";
    if (!launch.exact.complete) body += pointers_of(launch);
    std::string name(judge::plain_name(kernel.demangled));
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
      std::string range = range_of(pointer.address, allocation->range.end - pointer.address, &size);
      const char* what = pointer.mode == AccessMode::Read     ? "may read "
                         : pointer.mode == AccessMode::Atomic ? "may update atomically "
                                                              : "may read or write ";
      out += "  " + std::string(what) + range + size + "\n";
    }
    if (!out.empty()) return out;
    return launch.exact.bytes.empty() ? "  its memory is not known\n" : "  and perhaps more\n";
  }

  const Options& options_;
  std::ostream* json_;
  judge::Hazards hazards_{0};  ///< nobody asks for them here
  judge::Judge judge_;
  std::uint32_t pid_ = 0;
  std::uint64_t launches_ = 0;
  std::map<Key, Block> blocks_;
};

constexpr std::string_view kStdout = "-";

}  // namespace

int footprints(const Options& options, const std::vector<std::string>& traces, const std::string& json_path) {
  const bool to_stdout = json_path == kStdout;
  std::ofstream file;
  if (!json_path.empty() && !to_stdout) file.open(json_path, std::ios::binary | std::ios::trunc);
  std::ostream& json = to_stdout ? std::cout : file;
  bool failed = false;
  bool first = true;
  for (const std::string& path : traces) {
    Trace trace(options, json_path.empty() ? nullptr : &json);
    std::string damage = trace.read(path);
    const std::string text = trace.text(path);
    if (!to_stdout) std::printf("%s%s", first ? "" : "\n", text.c_str());
    std::fflush(stdout);
    first = false;
    if (damage.empty()) continue;
    failed = true;
    std::fprintf(stderr, "streamsan: WARNING: %s: %s\n", path.c_str(), damage.c_str());
  }
  json.flush();
  if (!json_path.empty() && !json) {
    failed = true;
    std::fprintf(stderr, "streamsan: cannot write %s\n", to_stdout ? "to stdout" : json_path.c_str());
  }
  return failed ? kOwnFailure : 0;
}

}  // namespace streamsan::cli
