// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testsuite/nulldriver/agent/script.h"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace streamsan::script {
namespace {

bool number(std::string_view text, std::uint64_t& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

/// #P, #P+OFFSET or #P-OFFSET
bool place(std::string_view text, std::size_t& pointer, std::int64_t& offset) {
  if (!text.starts_with('#')) return false;
  text.remove_prefix(1);
  std::size_t sign = std::min(text.find_first_of("+-"), text.size());
  std::uint64_t index = 0, distance = 0;
  if (!number(text.substr(0, sign), index)) return false;
  if (sign < text.size() && !number(text.substr(sign + 1), distance)) return false;
  pointer = index;
  offset = static_cast<std::int64_t>(distance) * (sign < text.size() && text[sign] == '-' ? -1 : 1);
  return true;
}

bool outcome(std::string_view text, StreamSanOutcome& out) {
  constexpr std::pair<std::string_view, StreamSanOutcome> kWords[] = {
      {"incomplete", kStreamSanIncomplete}, {"busy", kStreamSanBusy},     {"late", kStreamSanLate},
      {"too-large", kStreamSanTooLarge},    {"failed", kStreamSanFailed}, {"dead", kStreamSanDead}};
  for (auto [word, value] : kWords) {
    if (word != text) continue;
    out = value;
    return true;
  }
  return false;
}

std::string join(const std::vector<std::string>& words, std::size_t first) {
  std::string out;
  for (std::size_t i = first; i < words.size(); ++i) out += (out.empty() ? "" : " ") + words[i];
  return out;
}

/// Sorts, and makes one of those of a mode that overlap or touch.
std::vector<StreamSanRange> normal(std::vector<StreamSanRange> ranges) {
  std::vector<StreamSanRange> out;
  for (std::uint32_t mode : {kStreamSanRead, kStreamSanWrite, kStreamSanAtomic}) {
    std::vector<StreamSanRange> of_mode;
    for (const StreamSanRange& range : ranges) {
      if (range.modes == mode && range.begin < range.end) of_mode.push_back(range);
    }
    auto before = [](const StreamSanRange& a, const StreamSanRange& b) { return a.begin < b.begin; };
    std::sort(of_mode.begin(), of_mode.end(), before);
    std::size_t first = out.size();
    for (const StreamSanRange& range : of_mode) {
      if (out.size() > first && range.begin <= out.back().end) {
        out.back().end = std::max(out.back().end, range.end);
      } else {
        out.push_back(range);
      }
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const StreamSanRange& a, const StreamSanRange& b) { return a.begin < b.begin; });
  return out;
}

constexpr std::uint64_t kAddressBits = (std::uint64_t{1} << 52) - 1;  // of a pointer word, see trace::pointer_word()

}  // namespace

std::string Script::parse(const std::vector<std::string>& words, Statement& out) {
  if (words.size() < 2) return "a kernel and what it does are expected";
  std::size_t at = words[0].find('@');
  out.kernel = words[0].substr(0, at);
  std::uint64_t value = 0;
  if (at != std::string::npos) {
    if (!number(std::string_view(words[0]).substr(at + 1), value) || value == 0) return "@ and a number from 1";
    out.number = static_cast<unsigned>(value);
  }
  const std::string& what = words[1];
  if (what == "nothing" || what == "waits") {
    out.waits = what == "waits";
    return words.size() == 2 ? "" : what + " takes no more words";
  }
  if (what == "outcome" || what == "begin") {
    bool begin = what == "begin";
    StreamSanOutcome& target = begin ? out.at_begin : out.at_end;
    if (words.size() < 3 || !outcome(words[2], target)) return "no such outcome";
    if (begin && target == kStreamSanIncomplete) return "a launch is not refused as incomplete";
    if (!begin && target == kStreamSanBusy) return "only begin can be busy";
    out.reason = join(words, 3);
    return {};
  }
  out.mode = what == "read"     ? kStreamSanRead
             : what == "write"  ? kStreamSanWrite
             : what == "atomic" ? kStreamSanAtomic
                                : 0;
  if (out.mode == 0) return "no such statement: " + what;
  if (words.size() != 4 && words.size() != 6 && words.size() != 8) return "PLACE WIDTH [ROWS PITCH [SLICES PITCH]]";
  if (!place(words[2], out.pointer, out.offset)) return "a place is #P+OFFSET";
  std::uint64_t* const numbers[] = {&out.width, &out.rows, &out.pitch, &out.slices, &out.slice_pitch};
  for (std::size_t i = 3; i < words.size(); ++i) {
    if (!number(words[i], *numbers[i - 3])) return words[i] + " is no number";
  }
  return {};
}

std::string Script::read(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string line;
  for (unsigned count = 1; std::getline(lines, line); ++count) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    if (words.empty() || words[0].starts_with('#')) continue;
    if (words[0] == "start") {
      refusal_ = words.size() > 1 ? join(words, 1) : "the script says so";
      continue;
    }
    if (words.size() > 1 && words[1] == "code") {
      Code& code = codes_.emplace_back(Code{.kernel = words[0]});
      if (words.size() != 3 || !number(words[2], code.number)) return "line " + std::to_string(count) + ": code NUMBER";
      continue;
    }
    Statement statement;
    std::string fault = parse(words, statement);
    if (!fault.empty()) return "line " + std::to_string(count) + ": " + fault;
    statements_.push_back(std::move(statement));
  }
  return {};
}

std::uint64_t Script::code(std::string_view kernel) const {
  constexpr std::uint64_t kUnnumbered = ~std::uint64_t{0};
  for (const Code& code : codes_) {
    if (kernel.find(code.kernel) != std::string_view::npos) return code.number;
  }
  return kUnnumbered;
}

Answer Script::answer(std::string_view kernel, unsigned count, const std::uint64_t* pointer_words,
                      std::size_t pointer_count) const {
  auto about = [&](const Statement& statement, unsigned which) {
    return statement.number == which && kernel.find(statement.kernel) != std::string_view::npos;
  };
  bool own =
      std::any_of(statements_.begin(), statements_.end(), [&](const Statement& each) { return about(each, count); });
  Answer out;
  std::vector<StreamSanRange> ranges;
  for (const Statement& statement : statements_) {
    if (!about(statement, own ? count : 0)) continue;
    out.known = true;
    if (statement.at_begin != kStreamSanMeasured) out.at_begin = statement.at_begin;
    if (statement.at_end != kStreamSanMeasured) out.at_end = statement.at_end;
    if (!statement.reason.empty()) out.reason = statement.reason;
    out.waits |= statement.waits;
    if (statement.mode == 0) continue;
    if (statement.pointer >= pointer_count) {
      out.at_end = kStreamSanFailed;
      out.reason = "the script names a pointer that the launch does not have";
      continue;
    }
    std::uint64_t start =
        (pointer_words[statement.pointer] & kAddressBits) + static_cast<std::uint64_t>(statement.offset);
    for (std::uint64_t slice = 0; slice < statement.slices; ++slice) {
      for (std::uint64_t row = 0; row < statement.rows; ++row) {
        std::uint64_t begin = start + slice * statement.slice_pitch + row * statement.pitch;
        ranges.push_back({begin, begin + statement.width, statement.mode, 0});
      }
    }
  }
  out.ranges = normal(std::move(ranges));
  return out;
}

}  // namespace streamsan::script
