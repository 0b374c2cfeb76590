// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/suppressions.h"

#include <algorithm>
#include <iterator>

namespace streamsan::report {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

/// Glob match of the whole name: * is any run of characters. Linear back-tracking to the last star only.
bool glob(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

enum Field : unsigned { kFunctions = 1, kFiles = 2, kModules = 4, kKernels = 8, kStreams = 16, kApis = 32 };

unsigned fields_of(SuppressionScope scope) {
  switch (scope) {
    case SuppressionScope::All:
      break;
    case SuppressionScope::Kernel:
      return kKernels;
    case SuppressionScope::Stream:
      return kStreams;
    case SuppressionScope::Function:
    case SuppressionScope::CalledFrom:
      return kFunctions;
    case SuppressionScope::Lib:
      return kModules;
    case SuppressionScope::Fingerprint:
      return 0;
  }
  return kFunctions | kFiles | kModules | kKernels | kApis;
}

bool in_stack(std::string_view pattern, unsigned fields, const std::vector<Frame>& stack) {
  return std::any_of(stack.begin(), stack.end(), [&](const Frame& frame) {
    auto hit = [&](unsigned field, const std::string& text) {
      return (fields & field) && !text.empty() && pattern_matches(pattern, text);
    };
    return hit(kFunctions, frame.function) || hit(kFiles, frame.file) || hit(kModules, frame.module);
  });
}

/// An access, an operation on an event, or a synchronising call.
template <typename Operation>
bool matches(std::string_view pattern, unsigned fields, const Operation& operation) {
  auto hit = [&](unsigned field, const std::string& text) {
    return (fields & field) && !text.empty() && pattern_matches(pattern, text);
  };
  if constexpr (requires { operation.kernel; }) {
    if (hit(kKernels, operation.kernel)) return true;
  }
  return hit(kStreams, operation.stream.name) || hit(kApis, operation.api) ||
         in_stack(pattern, fields, operation.stack);
}

/// Between the patterns of two sides. No function, file or kernel has it in its name.
constexpr std::string_view kBetweenSides = " <-> ";

bool matches(std::string_view pattern, unsigned fields, const Finding& finding) {
  auto hit = [&](const auto& operation) { return matches(pattern, fields, operation); };
  if (!finding.accesses.empty()) return std::any_of(finding.accesses.begin(), finding.accesses.end(), hit);
  if (finding.sync) return hit(*finding.sync);
  return std::any_of(finding.related.begin(), finding.related.end(), hit);
}

bool matches(const Suppressions::Entry& entry, const Finding& finding) {
  if (entry.kind && *entry.kind != finding.kind) return false;
  if (entry.scope == SuppressionScope::Fingerprint) return entry.pattern == finding.fingerprint;
  const unsigned fields = fields_of(entry.scope);
  const std::string_view pattern = entry.pattern;
  const std::size_t between = pattern.find(kBetweenSides);
  if (between == std::string_view::npos) return matches(pattern, fields, finding);
  // One pattern for each side, whichever comes first.
  if (finding.accesses.size() != 2) return false;
  const std::string_view one = trimmed(pattern.substr(0, between));
  const std::string_view other = trimmed(pattern.substr(between + kBetweenSides.size()));
  const auto sides = [&](const AccessReport& a, const AccessReport& b) {
    return matches(one, fields, a) && matches(other, fields, b);
  };
  return sides(finding.accesses[0], finding.accesses[1]) || sides(finding.accesses[1], finding.accesses[0]);
}

/// Everything that a program does is below it: a suppression by its name would hide all findings.
constexpr std::string_view kEntries[] = {"main", "<module>"};
bool is_entry(const Frame& frame) { return std::ranges::find(kEntries, frame.function) != std::end(kEntries); }

}  // namespace

bool pattern_matches(std::string_view pattern, std::string_view name) {
  bool front = pattern.starts_with('^');
  if (front) pattern.remove_prefix(1);
  bool back = pattern.ends_with('$');
  if (back) pattern.remove_suffix(1);
  std::string whole(pattern);
  if (!front) whole.insert(0, 1, '*');
  if (!back) whole += '*';
  return glob(whole, name);
}

std::string Suppressions::add(std::string_view text, const std::string& file_name) {
  for (std::uint64_t line = 1; !text.empty(); ++line) {
    std::size_t end = text.find('\n');
    std::string_view content = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (content.empty() || content.front() == '#') continue;
    std::string origin = file_name + ":" + std::to_string(line);
    std::size_t colon = content.find(':');
    const std::string_view type = trimmed(content.substr(0, colon));
    const std::optional<Kind> kind = find<Kind>(type);
    const std::optional<SuppressionScope> scope = find<SuppressionScope>(type);
    if (colon == std::string_view::npos || (!kind && !scope)) {
      return origin + ": '" + std::string(content) + "' is not a suppression (type:pattern)";
    }
    std::string_view pattern = trimmed(content.substr(colon + 1));
    const bool lacks_side = pattern.starts_with(trimmed(kBetweenSides)) || pattern.ends_with(trimmed(kBetweenSides));
    if (pattern.empty() || lacks_side) return origin + ": the pattern is empty";
    entries_.push_back({kind, scope.value_or(SuppressionScope::All), std::string(pattern), origin, 0});
  }
  return {};
}

bool Suppressions::suppresses(const Finding& finding) {
  for (Entry& entry : entries_) {
    if (!matches(entry, finding)) continue;
    entry.hits += finding.count;
    return true;
  }
  return false;
}

std::string suppression_for(const Finding& finding) {
  std::string type = name(finding.kind);
  for (const std::vector<Frame>* stack : stacks(finding)) {
    for (const Frame& frame : *stack) {
      if (!frame.library && !frame.function.empty() && !is_entry(frame)) return type + ":^" + frame.function + "$";
    }
  }
  for (const AccessReport& access : finding.accesses) {
    if (!access.kernel.empty()) return type + ":^" + access.kernel + "$";
  }
  if (!finding.fingerprint.empty()) return std::string(name(SuppressionScope::Fingerprint)) + ":" + finding.fingerprint;
  std::string api;
  if (!finding.related.empty()) api = finding.related.front().api;
  for (const AccessReport& access : finding.accesses) {
    if (!access.api.empty()) api = access.api;
  }
  return type + ":^" + (api.empty() ? "*" : api) + "$";
}

}  // namespace streamsan::report
