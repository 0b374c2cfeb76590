// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text that clang-tidy prints is kept: editors and people know it. It is taken apart into blocks, a warning or
// error with its notes and source lines, and whole blocks are left out. What is in no block is kept.
#include "analyzer/tool/text_output.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <tuple>

#include "analyzer/tool/check_selection.h"
#include "analyzer/tool/files.h"
#include "analyzer/tool/signals.h"

namespace streamsan::analyzer {
namespace {

// By hand: a std::regex needs stack for each character, and the message of a static_assert may be one very long line.
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string without_colors(const std::string& line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line.compare(i, 2, "\x1b[") == 0) {
      const std::size_t end = line.find_first_not_of("0123456789;", i + 2);
      if (end != std::string::npos && line[end] == 'm') {
        i = end;
        continue;
      }
    }
    text += line[i];
  }
  return text;
}

/// The first line of a block.
struct Head {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string check;
};

/// Takes ":NUMBER" from the end of a text.
std::optional<std::uint32_t> take_number(std::string& text) {
  std::size_t start = text.size();
  while (start > 0 && is_digit(text[start - 1])) --start;
  if (start == text.size() || start == 0 || text[start - 1] != ':') {
    return std::nullopt;
  }
  const auto number = static_cast<std::uint32_t>(std::strtoul(text.c_str() + start, nullptr, 10));
  text.resize(start - 1);
  return number;
}

/// Reads "FILE:LINE:COLUMN: " or nothing.
bool read_place(std::string text, Head& head) {
  if (text.empty()) {
    return true;
  }
  if (!text.ends_with(": ")) {
    return false;
  }
  text.resize(text.size() - 2);
  const std::optional<std::uint32_t> column = take_number(text);
  const std::optional<std::uint32_t> line = column ? take_number(text) : std::nullopt;
  if (!line || text.empty()) {
    return false;
  }
  head.file = text;
  head.line = *line;
  head.column = *column;
  return true;
}

/// "FILE:LINE:COLUMN: warning: MESSAGE [CHECK,...]" or, without a place, "error: MESSAGE [CHECK]".
std::optional<Head> read_head(const std::string& colored) {
  const std::string line = without_colors(colored);
  const std::size_t open = line.rfind('[');
  if (open == std::string::npos || line.find(']', open) != line.size() - 1) {
    return std::nullopt;
  }
  Head head;
  head.check = line.substr(open + 1, line.find_first_of(",]", open) - open - 1);
  if (head.check.empty()) {
    return std::nullopt;
  }
  for (std::size_t end = line.find(": "); end < open; end = line.find(": ", end + 1)) {
    for (const std::string word : {"warning", "error"}) {
      const bool here = end >= word.size() && line.compare(end - word.size(), word.size(), word) == 0;
      if (here && read_place(line.substr(0, end - word.size()), head)) {
        return head;
      }
    }
  }
  return std::nullopt;
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
      if (head->check == kCompileError) {
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
  if (noted_signal() != 0) {  // the next write might wait for a reader as the one that it ended did
    return;
  }
  const bool done = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (!done && g_print_failure == 0) {
    g_print_failure = errno;
  }
}
int print_failure() { return g_print_failure; }

void say_error(const std::string& what) { std::fprintf(stderr, "streamsan-tidy: error: %s\n", what.c_str()); }
void say(const std::string& what) { std::fprintf(stderr, "streamsan-tidy: %s\n", what.c_str()); }

}  // namespace streamsan::analyzer
