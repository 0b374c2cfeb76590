// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/sync_text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>

#include "report/colors.h"
#include "report/printable.h"

namespace streamsan::report {
namespace {

constexpr std::size_t kPairsShown = 3;
constexpr std::size_t kReasonsShown = 3;

std::string milliseconds(double ms) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), ms < 10 ? "%.3f ms" : "%.1f ms", ms);
  return text.data();
}

bool never_waited(const SyncReport& sync) { return sync.calls != 0 && sync.idle_calls == sync.calls; }

/// What can be won stands first.
int rank(const Finding& finding) {
  const SyncReport& sync = *finding.sync;
  switch (sync.verdict) {
    case Verdict::Unneeded:
      return !never_waited(sync) ? 0 : sync.group != 0 ? 1 : 5;
    case Verdict::Narrower:
      return 1;
    case Verdict::Timing:
      return 2;
    case Verdict::Unknown:
      return 3;
    case Verdict::Needed:
      break;
  }
  return 4;
}

/// Is it shown only when everything is? There are many copies that the host waits for because it needs the data.
/// `stands_for_others`: what could go in its place does.
bool folded(const Finding& finding, bool stands_for_others) {
  const SyncReport& sync = *finding.sync;
  if (sync.verdict == Verdict::Needed || stands_for_others) return true;
  if (sync.verdict == Verdict::Unneeded) return never_waited(sync) && sync.group == 0;
  return sync.verdict == Verdict::Unknown &&
         (sync.waits == Waits::Copy || sync.waits == Waits::Fill || sync.waits == Waits::Free);
}

std::string in_stream(const AccessReport& access) {
  return access.stream.kind == StreamKind::Host ? "" : " on " + access.stream.name;
}

std::string line_of(const std::vector<Frame>& stack, const TextOptions& options) {
  for (const Frame& frame : stack) {
    if (!frame.library) return frame.file.empty() ? "" : " " + location(frame, options);
  }
  return "";
}

std::string access_phrase(const AccessReport& access, const TextOptions& options) {
  return in_lower_case(access.verb) + " by " + access.what + in_stream(access) +
         (access.op ? ", op #" + std::to_string(access.op) : std::string()) + line_of(access.stack, options);
}

std::string numbers(const SyncReport& sync) {
  std::string out = counted(sync.calls, "call");
  if (sync.idle_calls) out += ", " + std::to_string(sync.idle_calls) + " of them with nothing to wait for";
  if (sync.blocked_ms) out += ", the host was blocked for " + milliseconds(*sync.blocked_ms);
  if (sync.gpu_idle_ms) out += ", the GPU had nothing to do for " + milliseconds(*sync.gpu_idle_ms);
  if (sync.overlap_ms) out += ", overlap lost " + milliseconds(*sync.overlap_ms);
  return out;
}

std::string sync_properties(const Finding& finding) {
  const SyncReport& sync = *finding.sync;
  std::string out = "  [properties] kind=" + std::string(name(finding.kind)) + " verdict=" + name(sync.verdict) +
                    " waits=" + name(sync.waits) + " calls=" + std::to_string(sync.calls) +
                    " idle=" + std::to_string(sync.idle_calls) + " pairs=" + std::to_string(sync.orders.size()) +
                    " evidence=" + name(sync.evidence);
  if (sync.group) out += " group=" + std::to_string(sync.group);
  if (sync.verdict == Verdict::Unneeded) out += sync.removable ? " removable=1" : " removable=0";
  return out + " fingerprint=" + finding.fingerprint + "\n";
}

}  // namespace

double winnable_ms(const SyncReport& sync) {
  if (!is_improvable(sync.verdict) || never_waited(sync)) return 0;
  if (sync.gpu_idle_ms || sync.overlap_ms) return sync.gpu_idle_ms.value_or(0) + sync.overlap_ms.value_or(0);
  return sync.blocked_ms.value_or(0);
}

std::string sync_text(const Finding& raw, const TextOptions& options) {
  const Finding finding = printable(raw);
  const SyncReport& sync = *finding.sync;
  const std::string head = "NOTE: streamsan: " + title(finding);
  std::string out = "==" + std::to_string(finding.pid) +
                    "== " + (options.color ? color::kNote + head + color::kReset : head) + ": " + finding.message +
                    "\n";
  out += "  " + numbers(sync) + (sync.library.empty() ? "" : ", made inside of " + sync.library) + "\n";
  append_stack(out, sync.stack, options);
  std::size_t shown = 0;
  for (const OrderedPair& pair : sync.orders) {
    if (shown++ == kPairsShown) break;
    out += "  It alone orders " + access_phrase(pair.later, options) + "\n";
    out += "            after " + access_phrase(pair.earlier, options) + "\n";
    if (pair.buffer) {
      out += "            on " + pair.buffer->memory +
             (pair.buffer->allocator.empty() ? "" : " allocated by " + pair.buffer->allocator) +
             line_of(pair.buffer->stack, options) +
             (pair.count > 1 ? ", " + counted(pair.count, "time") : std::string()) + "\n";
    }
    if (!pair.rule.empty())
      out += "            (today's driver orders the two all the same; no document promises it)\n";
  }
  if (sync.orders.size() > kPairsShown) {
    out += "  ... and " + counted(sync.orders.size() - kPairsShown, "more pair") + ", see the JSON report\n";
  }
  const bool tells_reasons = is_improvable(sync.verdict);
  if (tells_reasons) {
    out += "  Why: " + finding.explanation + "\n";
  } else {
    for (std::size_t i = 0; i < sync.reasons.size() && i < kReasonsShown; ++i)
      out += "  Why: " + sync.reasons[i] + "\n";
    if (sync.reasons.size() > kReasonsShown) {
      out += "  ... and " + counted(sync.reasons.size() - kReasonsShown, "more reason") + ", see the JSON report\n";
    }
  }
  if (!finding.fix.empty()) out += "  Fix: " + finding.fix + "\n";
  return out + sync_properties(finding);
}

std::string idle_waits_line(std::uint64_t waits, std::uint64_t idle) {
  // Many programs wait once more before they end, to be sure.
  constexpr std::uint64_t kWorthALine = 3;
  if (idle < kWorthALine) return {};
  return std::to_string(idle) + " of " + counted(waits, "wait") +
         " for the whole device (cudaDeviceSynchronize) had nothing to wait for, as the host had waited for all work "
         "already: --syncs --verbosity=1 shows them";
}

std::string sync_section(const std::vector<Finding>& findings, const TextOptions& options, bool all) {
  std::vector<const Finding*> order;
  std::uint64_t suppressed = 0;
  std::uint32_t pid = 0;
  for (const Finding& finding : findings) {
    if (!finding.sync) continue;
    pid = finding.pid;
    if (finding.suppressed) {
      ++suppressed;
    } else {
      order.push_back(&finding);
    }
  }
  if (order.empty() && suppressed == 0) return "";
  std::stable_sort(order.begin(), order.end(), [](const Finding* a, const Finding* b) {
    const double x = winnable_ms(*a->sync), y = winnable_ms(*b->sync);
    return x != y ? x > y : rank(*a) < rank(*b);
  });
  std::string out;
  std::map<Verdict, std::uint64_t> counts;
  std::uint64_t idle = 0, hidden = 0, changes = 0, kept = 0;
  std::set<std::uint32_t> thinned;  // groups of which some can go
  for (const Finding* finding : order) {
    if (finding->sync->removable && finding->sync->verdict == Verdict::Unneeded) thinned.insert(finding->sync->group);
  }
  double win = 0;
  for (const Finding* finding : order) {
    const SyncReport& sync = *finding->sync;
    const bool never = rank(*finding) == 5;
    const bool stands =
        sync.verdict == Verdict::Unneeded && !sync.removable && sync.group != 0 && thinned.contains(sync.group);
    stands ? ++kept : never ? ++idle : ++counts[sync.verdict];
    changes += sync.removable && !never;
    if (sync.removable) win += winnable_ms(sync);
    if (folded(*finding, stands) && !all) {
      ++hidden;
      continue;
    }
    out += sync_text(*finding, options) + "\n";
  }
  const std::string prefix = "==" + std::to_string(pid) + "== streamsan: ";
  if (order.empty()) {
    return prefix + counted(suppressed, "synchronising call site") +
           (suppressed == 1 ? ", which is suppressed\n" : ", all of them suppressed\n");
  }
  out += prefix + counted(order.size(), "synchronising call site") + ": ";
  std::string parts;
  const auto add = [&parts](std::uint64_t count, const char* what) {
    if (count) parts += (parts.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  };
  for (const Verdict verdict : kEach<Verdict>) add(counts[verdict], name(verdict));
  add(kept, "to be kept for others of their group");
  add(idle, "that never had to wait");
  out += parts;
  if (hidden) out += " (" + std::to_string(hidden) + " not shown: verbosity=1 shows all)";
  if (suppressed) out += "; " + std::to_string(suppressed) + " more suppressed";
  out += "\n";
  if (changes > 1) {
    out += prefix + "a replay with " + (changes == 2 ? "both" : "all " + std::to_string(changes)) +
           " of these changes at once was clean\n";
  }
  if (win > 0) out += prefix + "at most " + milliseconds(win) + " could be won\n";
  return out;
}

}  // namespace streamsan::report
