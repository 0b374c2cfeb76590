// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Written piece by piece: one JSON document in memory would take ten times the size of its text.
//
// WHAT PERFETTO NEEDS beyond valid JSON. Its importer sorts events by time and, where that is equal, keeps the order of
// the file.
//   * Slices of one track nest or are apart; of two that overlap otherwise the second is dropped. Operations of a
//     stream can overlap in real time (kernels launched programmatically, copies of one call), so what does not fit
//     gets a track of its own beside.
//   * An end of an arrow belongs to the slice that began last on its track, an instant included. So both ends stand
//     where their slices begin, after all slices and before the instants of findings.
//   * Perfetto draws an arrow from the slice that began first to the other, whatever the file says. In real time a wait
//     often begins before the work that it waits for does: then an instant stands where it returned, and the arrow ends
//     there.
//   * A thread is known by its number alone: tracks of all processes are numbered through.
#include "report/perfetto.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <unordered_map>

#include "report/text.h"

namespace streamsan::report {
namespace {

using Json = nlohmann::ordered_json;

class Writer {
 public:
  void event(const Json& json) {
    out_ += out_.empty() ? "{\"traceEvents\":[\n" : ",\n";
    out_ += json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  std::string finish() {
    if (out_.empty()) out_ = "{\"traceEvents\":[";
    return std::move(out_) + "\n]}\n";
  }
  std::uint64_t next_arrow = 1;
  std::uint64_t next_track = 1;

 private:
  std::string out_;
};

class Run {
 public:
  Run(const RunView& view, Writer& writer) : view_(view), writer_(writer) {
    if (view.gpu_times) {
      zero_ = ~std::uint64_t{0};
      for (const ViewOp& op : view.ops) {
        if (op.end_ns != 0) zero_ = std::min(zero_, op.start_ns);
      }
    }
    for (std::size_t i = 0; i < view.ops.size(); ++i) {
      if (has_time(i)) order_.push_back(i);
    }
    // What encloses comes before what it encloses.
    std::ranges::stable_sort(order_, [this](std::size_t a, std::size_t b) {
      return begin(a) != begin(b) ? begin(a) < begin(b) : length(a) > length(b);
    });
    lay_out();
  }

  void write(std::span<const Finding> findings) {
    name("process_name", tracks_.empty() ? writer_.next_track : tracks_.front().number, view_.program);
    for (const Track& track : tracks_) {
      const ViewLane& lane = view_.lanes[track.lane];
      const bool stream = lane.stream && *lane.stream != StreamKind::Host;
      name("thread_name", track.number,
           lane.name + (stream ? std::string(" (") + kind_of(lane) + ")" : "") +
               (track.further ? ", at the same time" : ""));
      writer_.event({{"ph", "M"},
                     {"pid", view_.pid},
                     {"tid", track.number},
                     {"name", "thread_sort_index"},
                     {"args", {{"sort_index", track.number}}}});
    }
    for (std::size_t i : order_) slice(i);
    std::set<std::uint32_t> returned;
    for (const ViewEdge& edge : view_.edges) {
      if (reaches_return(edge) && returned.insert(edge.to).second) mark_return(edge.to);
    }
    for (const ViewEdge& edge : view_.edges) {
      if (!has_time(edge.from) || !has_time(edge.to)) continue;
      if (reaches_return(edge)) {
        arrow(edge.from, edge.to, last(edge.to), report::name(edge.kind), "order");
      } else if (begin(edge.from) <= begin(edge.to)) {
        arrow(edge.from, edge.to, begin(edge.to), report::name(edge.kind), "order");
      }
    }
    for (const Finding& finding : findings) {
      const std::vector<std::size_t> at = places(finding);
      if (finding.accesses.size() == 2 && at.size() == 2) missing_order(at[1], at[0]);
    }
    for (const Finding& finding : findings) {
      for (std::size_t i : places(finding)) mark(finding, i);
    }
  }

 private:
  struct Track {
    std::size_t lane = 0;
    bool further = false;  ///< for what does not fit into the first one of its lane
    std::uint64_t number = 0;
    std::vector<std::uint64_t> ends;  ///< of the slices that are open at the last one's beginning, innermost last
  };

  [[nodiscard]] bool has_time(std::size_t i) const { return !view_.gpu_times || view_.ops[i].end_ns != 0; }
  /// Nanoseconds.
  [[nodiscard]] std::uint64_t begin(std::size_t i) const {
    return view_.gpu_times ? view_.ops[i].start_ns - zero_ : std::uint64_t{i} * kStep;
  }
  [[nodiscard]] std::uint64_t length(std::size_t i) const {
    const ViewOp& op = view_.ops[i];
    if (view_.gpu_times) return op.end_ns > op.start_ns ? op.end_ns - op.start_ns : 0;
    return op.until > i + 1 ? (op.until - i) * kStep : kStep;
  }
  /// Its last nanosecond: still inside, whatever a reader makes of times and lengths.
  [[nodiscard]] std::uint64_t last(std::size_t i) const {
    return begin(i) + (std::max(length(i), std::uint64_t{1}) - 1);
  }
  [[nodiscard]] std::uint64_t track(std::size_t i) const { return tracks_[track_of_[i]].number; }
  static double microseconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e3; }

  /// Does it nest into what is open on the track? Then it is open there.
  bool take(Track& track, std::size_t i) {
    const std::uint64_t start = begin(i), end = start + length(i);
    while (!track.ends.empty() && track.ends.back() <= start) track.ends.pop_back();
    if (!track.ends.empty() && end > track.ends.back()) return false;
    track.ends.push_back(end);
    return true;
  }
  void lay_out() {
    for (std::size_t lane = 0; lane < view_.lanes.size(); ++lane) tracks_.push_back({.lane = lane});
    track_of_.resize(view_.ops.size());
    for (std::size_t i : order_) {
      const std::size_t lane = view_.ops[i].lane;
      auto found = std::ranges::find_if(tracks_, [&](Track& each) { return each.lane == lane && take(each, i); });
      if (found == tracks_.end()) {
        tracks_.push_back({.lane = lane, .further = true});
        found = tracks_.end() - 1;
        take(*found, i);
      }
      track_of_[i] = static_cast<std::size_t>(found - tracks_.begin());
    }
    // Beside the track of its lane.
    std::vector<std::size_t> numbered(tracks_.size());
    std::iota(numbered.begin(), numbered.end(), std::size_t{0});
    std::ranges::stable_sort(numbered, {}, [this](std::size_t each) { return tracks_[each].lane; });
    for (std::size_t each : numbered) tracks_[each].number = writer_.next_track++;
  }

  void name(const char* what, std::uint64_t track, const std::string& value) {
    writer_.event({{"ph", "M"}, {"pid", view_.pid}, {"tid", track}, {"name", what}, {"args", {{"name", value}}}});
  }

  void slice(std::size_t i) {
    const ViewOp& op = view_.ops[i];
    const ViewSite& site = view_.sites[op.site];
    Json args = {{"api", site.api}};
    if (op.number != 0) args["op"] = op.number;
    if (op.event != 0) args["event"] = op.event;
    if (op.bytes != 0) args["bytes"] = op.bytes;
    auto user = std::ranges::find_if(site.stack, [](const Frame& f) { return !f.library; });
    if (user != site.stack.end() && !(user->file.empty() && user->function.empty())) {
      args["at"] = user->file.empty() ? user->function : user->file + ":" + std::to_string(user->line);
    }
    writer_.event({{"ph", "X"},
                   {"pid", view_.pid},
                   {"tid", track(i)},
                   {"ts", microseconds(begin(i))},
                   {"dur", microseconds(length(i))},
                   {"cat", report::name(op.kind)},
                   {"name", site.what.empty() ? std::string(report::name(op.kind)) : site.what},
                   {"args", std::move(args)}});
  }

  /// Does the host wait for work that began after it had begun to wait?
  [[nodiscard]] bool reaches_return(const ViewEdge& edge) const {
    return edge.kind == EdgeKind::Sync && has_time(edge.from) && has_time(edge.to) &&
           begin(edge.from) > begin(edge.to) && begin(edge.from) <= last(edge.to);
  }
  void mark_return(std::size_t i) {
    writer_.event({{"ph", "i"},
                   {"s", "t"},
                   {"pid", view_.pid},
                   {"tid", track(i)},
                   {"ts", microseconds(last(i))},
                   {"cat", report::name(view_.ops[i].kind)},
                   {"name", "returned"},
                   {"args", {{"api", view_.sites[view_.ops[i].site].api}}}});
  }

  /// To the slice or the instant of `to` that stands at `arrives`.
  void arrow(std::size_t from, std::size_t to, std::uint64_t arrives, const std::string& what, const char* category) {
    const std::uint64_t id = writer_.next_arrow++;
    for (const std::size_t end : {from, to}) {
      Json event = {{"ph", end == from ? "s" : "f"},
                    {"pid", view_.pid},
                    {"tid", track(end)},
                    {"ts", microseconds(end == from ? begin(from) : arrives)},
                    {"id", id},
                    {"cat", category},
                    {"name", what}};
      if (end == to) event["bp"] = "e";
      writer_.event(event);
    }
  }
  void missing_order(std::size_t from, std::size_t to) {
    if (!has_time(from) || !has_time(to) || from == to) return;
    if (begin(from) > begin(to)) std::swap(from, to);  // as they did run
    arrow(from, to, begin(to), "no order", "finding");
  }

  /// The operations that a finding is about.
  [[nodiscard]] std::vector<std::size_t> places(const Finding& finding) {
    std::vector<std::size_t> out;
    if (finding.pid != view_.pid) return out;
    if (by_number_.empty()) {
      for (std::size_t i = 0; i < view_.ops.size(); ++i) {
        if (view_.ops[i].number != 0) by_number_.emplace(view_.ops[i].number, i);
      }
    }
    const auto add = [&](std::uint64_t number) {
      auto known = by_number_.find(number);
      if (known != by_number_.end()) out.push_back(known->second);
    };
    for (const AccessReport& access : finding.accesses) add(access.op);
    if (finding.accesses.empty()) {
      for (const RelatedOp& related : finding.related) add(related.op);
    }
    return out;
  }
  void mark(const Finding& finding, std::size_t i) {
    if (!has_time(i)) return;
    writer_.event(
        {{"ph", "i"},
         {"s", "t"},
         {"pid", view_.pid},
         {"tid", track(i)},
         {"ts", microseconds(begin(i))},
         {"cat", "finding"},
         {"name", std::string(report::name(finding.severity)) + ": " + title(finding)},
         {"args", {{"message", finding.message}, {"fix", finding.fix}, {"fingerprint", finding.fingerprint}}}});
  }

  static constexpr std::uint64_t kStep = 1000;  ///< in the order of submission

  const RunView& view_;
  Writer& writer_;
  std::uint64_t zero_ = 0;
  std::vector<std::size_t> order_;  ///< operations that have a time, by when they began
  std::vector<Track> tracks_;       ///< those of the lanes first
  std::vector<std::size_t> track_of_;
  std::unordered_map<std::uint64_t, std::size_t> by_number_;
};

}  // namespace

std::string perfetto(std::span<const Finding> findings, std::span<const RunView> runs) {
  Writer writer;
  for (const RunView& view : runs) Run(view, writer).write(findings);
  return writer.finish();
}

std::string perfetto(const Results& results, const FormatContext&) { return perfetto(results.findings, results.views); }

}  // namespace streamsan::report
