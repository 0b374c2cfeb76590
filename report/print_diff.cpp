// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/print_diff.h"

#include <array>

#include "report/formats.h"
#include "report/groups.h"
#include "report/json.h"
#include "report/json_value.h"
#include "report/printable.h"

namespace streamsan::report {
namespace {

constexpr std::array kSeverities{Severity::Error, Severity::Latent, Severity::Possible, Severity::Note};

/// "read-after-write race src/train.cu:88:5 in step()"
std::string line(const Finding& finding, const TextOptions& options) {
  const std::string what = finding.sync ? finding.sync->what : title(finding);
  return one_line(what + " " + place(finding, options));
}

/// "2 errors, 1 latent"
std::string counts(const std::vector<DiffEntry>& entries, const Finding* DiffEntry::* side) {
  std::string out;
  for (Severity severity : kSeverities) {
    std::uint64_t count = 0;
    for (const DiffEntry& entry : entries) count += (entry.*side)->severity == severity ? 1 : 0;
    if (count == 0) continue;
    const bool noun = severity == Severity::Error || severity == Severity::Note;
    out += (out.empty() ? "" : ", ") +
           (noun ? counted(count, name(severity)) : std::to_string(count) + " " + name(severity));
  }
  return out.empty() ? "0" : out;
}

std::string advice(const Finding* finding) {
  return finding && finding->sync ? name(finding->sync->verdict) : "not there";
}

using Json = JsonWriter::Json;

Json list(const std::vector<DiffEntry>& entries, const Finding* DiffEntry::* side) {
  Json out = Json::array();
  for (const DiffEntry& entry : entries) out.push_back(JsonWriter::value(*(entry.*side)));
  return out;
}

Json changes(const std::vector<DiffEntry>& entries) {
  Json out = Json::array();
  for (const DiffEntry& entry : entries) {
    out.push_back({{"before", name(entry.before->severity)},
                   {"after", name(entry.after->severity)},
                   {"finding", JsonWriter::value(*entry.after)}});
  }
  return out;
}

Json verdicts(const std::vector<DiffEntry>& entries) {
  Json out = Json::array();
  for (const DiffEntry& entry : entries) {
    Json one{{"before", nullptr}, {"after", nullptr}};
    if (entry.before) one["before"] = name(entry.before->sync->verdict);
    if (entry.after) one["after"] = name(entry.after->sync->verdict);
    one["finding"] = JsonWriter::value(entry.after ? *entry.after : *entry.before);
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

std::string diff_text(const Diff& diff, const DiffNames& names, Severity least, const TextOptions& options) {
  std::string out;
  const auto shown = [least](const Finding* finding) { return is_listed(*finding, least); };
  std::vector<const Finding*> fresh;
  for (const DiffEntry& entry : diff.fresh) {
    if (shown(entry.after)) fresh.push_back(entry.after);
  }
  for (const EdgeGroup& group : grouped(fresh)) out += "New:\n" + text(group, options) + "\n";
  for (const DiffEntry& entry : diff.worse) {
    if (!shown(entry.after)) continue;
    out += "Worse, " + std::string(name(entry.before->severity)) + " before:\n" + text(*entry.after, options) + "\n";
  }
  for (const DiffEntry& entry : diff.better) {
    if (!shown(entry.before)) continue;
    out += "Better, " + std::string(name(entry.before->severity)) + " before and " + name(entry.after->severity) +
           " now: " + line(*entry.after, options) + "\n";
  }
  for (const DiffEntry& entry : diff.gone) {
    if (shown(entry.before))
      out += "Gone, " + std::string(name(entry.before->severity)) + ": " + line(*entry.before, options) + "\n";
  }
  for (const DiffEntry& entry : diff.suppressed) {
    if (shown(entry.before)) out += "Suppressed now: " + line(*entry.before, options) + "\n";
  }
  if (diff.syncs) {
    for (const auto* entries : {&diff.syncs->improvable, &diff.syncs->changed, &diff.syncs->settled}) {
      for (const DiffEntry& entry : *entries) {
        const Finding& finding = entry.after ? *entry.after : *entry.before;
        out += "Synchronisation, " + advice(entry.before) + " before and " + advice(entry.after) +
               " now: " + line(finding, options) + "\n";
        if (entries != &diff.syncs->settled && entry.after && !entry.after->fix.empty()) {
          out += "  Fix: " + one_line(entry.after->fix) + "\n";
        }
      }
    }
  }
  for (const std::string& doubt : diff.doubts) out += "streamsan: WARNING: " + doubt + "\n";
  out += "SUMMARY: streamsan: new: " + counts(diff.fresh, &DiffEntry::after) +
         "; gone: " + counts(diff.gone, &DiffEntry::before) +
         "; unchanged: " + counts(diff.unchanged, &DiffEntry::after);
  if (diff.by_order_of_threads != 0) {
    out +=
        " (" + std::to_string(diff.by_order_of_threads) + " of another severity, as host threads ran in another order)";
  }
  if (!diff.worse.empty()) out += "; worse: " + std::to_string(diff.worse.size());
  if (!diff.better.empty()) out += "; better: " + std::to_string(diff.better.size());
  if (!diff.suppressed.empty()) out += "; suppressed now: " + std::to_string(diff.suppressed.size());
  if (diff.syncs) {
    out += "; synchronising calls that could go or do less: " + std::to_string(diff.syncs->improvable.size()) +
           " new, " + std::to_string(diff.syncs->settled.size()) + " settled, " +
           std::to_string(diff.syncs->unchanged + diff.syncs->changed.size()) + " as before";
  }
  return out + one_line(" (" + names.before + " -> " + names.after + ")") + "\n";
}

std::string diff_json(const Diff& diff, const DiffNames& names, std::optional<Severity> fail_on) {
  Json out;
  out["schema"] = kJsonSchema;
  out["tool"] = {{"name", "streamsan"}, {"version", STREAMSAN_VERSION}};
  out["before"] = names.before;
  out["after"] = names.after;
  out["fail_on"] = fail_on ? name(*fail_on) : "none";
  out["failed"] = fail_on && diff.fails(*fail_on);
  Json counts = Json::object();
  const auto add = [&](const char* name, const std::vector<DiffEntry>& entries, Json list) {
    counts[name] = entries.size();
    out[name] = std::move(list);
  };
  add("new", diff.fresh, list(diff.fresh, &DiffEntry::after));
  add("worse", diff.worse, changes(diff.worse));
  add("better", diff.better, changes(diff.better));
  add("gone", diff.gone, list(diff.gone, &DiffEntry::before));
  add("suppressed", diff.suppressed, list(diff.suppressed, &DiffEntry::after));
  Json unchanged = Json::array();
  for (const DiffEntry& entry : diff.unchanged) {
    unchanged.push_back({{"fingerprint", entry.after->fingerprint},
                         {"fingerprint_before", entry.before->fingerprint},
                         {"severity", name(entry.after->severity)},
                         {"severity_before", name(entry.before->severity)},
                         {"count", entry.count_after},
                         {"count_before", entry.count_before}});
  }
  add("unchanged", diff.unchanged, std::move(unchanged));
  out["counts"] = std::move(counts);
  out["syncs"] = nullptr;
  if (diff.syncs) {
    out["syncs"] = {{"new", verdicts(diff.syncs->improvable)},
                    {"settled", verdicts(diff.syncs->settled)},
                    {"changed", verdicts(diff.syncs->changed)},
                    {"unchanged", diff.syncs->unchanged}};
  }
  out["doubts"] = diff.doubts;
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace streamsan::report
