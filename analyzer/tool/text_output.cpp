// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text that clang-tidy prints is kept: editors and people know it. It is taken apart into blocks, a warning or
// error with its notes and source lines, and whole blocks are left out. What is in no block is kept.
#include "analyzer/tool/text_output.h"

#include <cerrno>
#include <cstdio>
#include <optional>
#include <regex>
#include <sstream>
#include <tuple>

#include "analyzer/tool/files.h"

namespace streamsan::analyzer {
namespace {

std::string without_colors(const std::string& line) {
  static const std::regex kEscape("\x1b\\[[0-9;]*m");
  return line.find('\x1b') == std::string::npos ? line : std::regex_replace(line, kEscape, "");
}

/// The first line of a block.
struct Head {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string check;
};

std::optional<Head> read_head(const std::string& colored) {
  const std::string line = without_colors(colored);
  // "FILE:LINE:COLUMN: warning: MESSAGE [CHECK,...]" or, without a place, "error: MESSAGE [CHECK]".
  static const std::regex kHead(R"(^(?:(.+):(\d+):(\d+): )?(?:warning|error): .*\[([^\],]+)(?:,[^\]]*)?\]$)");
  if (line.find("warning: ") == std::string::npos && line.find("error: ") == std::string::npos) {
    return std::nullopt;
  }
  std::smatch found;
  if (!std::regex_match(line, found, kHead)) {
    return std::nullopt;
  }
  Head head;
  head.check = found[4];
  if (found[1].matched) {
    head.file = found[1];
    head.line = static_cast<std::uint32_t>(std::stoul(found[2]));
    head.column = static_cast<std::uint32_t>(std::stoul(found[3]));
  }
  return head;
}

/// Shows lines of repaired texts as they are in the file. " 12 | code": the line number tells which.
class OriginalLines {
 public:
  explicit OriginalLines(const std::map<std::string, std::string>& repaired) {
    for (const auto& [file, text] : repaired) {
      std::string original;
      if (!read_file(file, original)) {
        continue;
      }
      std::istringstream before(original);
      std::istringstream after(text);
      std::string was;
      std::string is;
      for (std::uint32_t number = 1; std::getline(before, was) && std::getline(after, is); ++number) {
        if (was != is) {
          lines_.emplace(std::pair(number, is), was);
        }
      }
    }
  }

  void restore(std::string& line) const {
    const std::size_t bar = lines_.empty() ? std::string::npos : line.find(" | ");
    if (bar == std::string::npos) {
      return;
    }
    const std::uint32_t number = static_cast<std::uint32_t>(std::strtoul(line.c_str(), nullptr, 10));
    if (const auto found = lines_.find({number, line.substr(bar + 3)}); found != lines_.end()) {
      line.replace(bar + 3, std::string::npos, found->second);
    }
  }

 private:
  std::map<std::pair<std::uint32_t, std::string>, std::string> lines_;
};

}  // namespace

std::string shown_text(const std::string& output, const FileResults& results,
                       const std::map<std::string, std::string>& repaired, bool all_errors) {
  std::multimap<std::tuple<std::string, std::uint32_t, std::uint32_t>, const Result*> hidden;
  for (const Result& result : results.results) {
    if (result.known || result.repeated) {
      hidden.emplace(std::tuple(result.check, result.site.place.line, result.site.place.column), &result);
    }
  }
  const OriginalLines originals(repaired);
  std::string text;
  std::size_t compile_errors = 0;
  bool keep = true;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (const std::optional<Head> head = read_head(line)) {
      if (head->check == "clang-diagnostic-error") {
        keep = all_errors || compile_errors++ == 0;
      } else {
        const auto range = hidden.equal_range({head->check, head->line, head->column});
        keep = true;
        for (auto entry = range.first; entry != range.second; ++entry) {
          if (without_colors(line).find(entry->second->site.message) != std::string::npos) {
            keep = false;
          }
        }
      }
    }
    if (keep) {
      originals.restore(line);
      text += line + "\n";
    }
  }
  return text;
}

std::string plural(std::size_t count, const std::string& word) {
  return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

std::string shown_path(const std::string& file) {
  std::error_code ignored;
  return relative_to(file, std::filesystem::current_path(ignored).string());
}

namespace {
int g_print_failure = 0;
}

void print(const std::string& text) {
  const bool done = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (!done && g_print_failure == 0) {
    g_print_failure = errno;
  }
}
int print_failure() { return g_print_failure; }

void say_error(const std::string& what) { std::fprintf(stderr, "streamsan-tidy: error: %s\n", what.c_str()); }
void say(const std::string& what) { std::fprintf(stderr, "streamsan-tidy: %s\n", what.c_str()); }

}  // namespace streamsan::analyzer
