// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Written piece by piece: as one JSON document in memory a long run would take ten times its text. Viewers want the
// events of one track nested, and the operations of a track never overlap, in either kind of time.
#include "report/perfetto.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "report/text.h"

namespace streamsan::report {
namespace {

using Json = nlohmann::ordered_json;

class Writer {
 public:
  void event(const Json& json) {
    out_ += out_.empty() ? "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" : ",\n";
    out_ += json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  std::string finish() {
    if (out_.empty()) out_ = "{\"traceEvents\":[";
    return std::move(out_) + "\n]}\n";
  }

 private:
  std::string out_;
};

class Run {
 public:
  Run(const RunView& view, Writer& writer, std::uint64_t& next_flow)
      : view_(view), writer_(writer), next_flow_(next_flow) {
    if (!view.gpu_times) return;
    zero_ = ~std::uint64_t{0};
    for (const ViewOp& op : view.ops) {
      if (op.end_ns != 0) zero_ = std::min(zero_, op.start_ns);
    }
  }

  void write(std::span<const Finding> findings) {
    name("process_name", 0, view_.program);
    for (std::size_t lane = 0; lane < view_.lanes.size(); ++lane) {
      const ViewLane& each = view_.lanes[lane];
      const bool stream = each.kind != "thread" && !each.kind.empty();
      name("thread_name", lane + 1, each.name + (stream ? " (" + each.kind + ")" : ""));
      writer_.event({{"ph", "M"},
                     {"pid", view_.pid},
                     {"tid", lane + 1},
                     {"name", "thread_sort_index"},
                     {"args", {{"sort_index", lane}}}});
    }
    for (std::size_t i = 0; i < view_.ops.size(); ++i) slice(i);
    for (const ViewEdge& edge : view_.edges) flow(edge);
    for (const Finding& finding : findings) {
      if (finding.pid == view_.pid) marks(finding);
    }
  }

 private:
  [[nodiscard]] bool has_time(std::size_t i) const { return !view_.gpu_times || view_.ops[i].end_ns != 0; }
  /// Microseconds.
  [[nodiscard]] double begin(std::size_t i) const {
    return view_.gpu_times ? static_cast<double>(view_.ops[i].start_ns - zero_) / 1e3 : static_cast<double>(i);
  }
  [[nodiscard]] double length(std::size_t i) const {
    const ViewOp& op = view_.ops[i];
    if (view_.gpu_times) return static_cast<double>(op.end_ns - op.start_ns) / 1e3;
    return op.until > i + 1 ? static_cast<double>(op.until - i) : 1.0;
  }
  [[nodiscard]] std::uint32_t track(std::size_t i) const { return view_.ops[i].lane + 1; }

  void name(const char* what, std::size_t track, const std::string& value) {
    writer_.event({{"ph", "M"}, {"pid", view_.pid}, {"tid", track}, {"name", what}, {"args", {{"name", value}}}});
  }

  void slice(std::size_t i) {
    if (!has_time(i)) return;
    const ViewOp& op = view_.ops[i];
    const ViewSite& site = view_.sites[op.site];
    Json args = {{"api", site.api}};
    if (op.number != 0) args["op"] = op.number;
    if (op.event != 0) args["event"] = op.event;
    if (op.bytes != 0) args["bytes"] = op.bytes;
    auto user = std::ranges::find_if(site.stack, [](const Frame& f) { return !f.library; });
    if (user != site.stack.end()) {
      args["at"] = user->file.empty() ? user->function : user->file + ":" + std::to_string(user->line);
    }
    writer_.event({{"ph", "X"},
                   {"pid", view_.pid},
                   {"tid", track(i)},
                   {"ts", begin(i)},
                   {"dur", length(i)},
                   {"cat", report::name(op.kind)},
                   {"name", site.what.empty() ? std::string(report::name(op.kind)) : site.what},
                   {"args", std::move(args)}});
  }

  void arrow(std::size_t from, std::size_t to, const std::string& what, const char* category) {
    if (!has_time(from) || !has_time(to)) return;
    const std::uint64_t id = next_flow_++;
    // An arrow leaves and arrives inside of slices.
    const double leaves = begin(from) + length(from) / 2, arrives = begin(to) + length(to) / 2;
    writer_.event({{"ph", "s"},
                   {"pid", view_.pid},
                   {"tid", track(from)},
                   {"ts", leaves},
                   {"id", id},
                   {"cat", category},
                   {"name", what}});
    writer_.event({{"ph", "f"},
                   {"bp", "e"},
                   {"pid", view_.pid},
                   {"tid", track(to)},
                   {"ts", std::max(arrives, leaves)},
                   {"id", id},
                   {"cat", category},
                   {"name", what}});
  }
  void flow(const ViewEdge& edge) { arrow(edge.from, edge.to, report::name(edge.kind), "order"); }

  void marks(const Finding& finding) {
    if (by_number_.empty()) {
      for (std::size_t i = 0; i < view_.ops.size(); ++i) {
        if (view_.ops[i].number != 0) by_number_.emplace(view_.ops[i].number, i);
      }
    }
    std::vector<std::size_t> at;
    const auto add = [&](std::uint64_t number) {
      auto known = by_number_.find(number);
      if (known != by_number_.end()) at.push_back(known->second);
    };
    for (const AccessReport& access : finding.accesses) add(access.op);
    if (finding.accesses.empty()) {
      for (const RelatedOp& related : finding.related) add(related.op);
    }
    for (std::size_t i : at) {
      if (!has_time(i)) continue;
      writer_.event(
          {{"ph", "i"},
           {"s", "t"},
           {"pid", view_.pid},
           {"tid", track(i)},
           {"ts", begin(i)},
           {"cat", "finding"},
           {"name", std::string(report::name(finding.severity)) + ": " + title(finding)},
           {"args", {{"message", finding.message}, {"fix", finding.fix}, {"fingerprint", finding.fingerprint}}}});
    }
    if (finding.accesses.size() == 2 && at.size() == 2) arrow(at[1], at[0], "no order", "finding");
  }

  const RunView& view_;
  Writer& writer_;
  std::uint64_t& next_flow_;
  std::uint64_t zero_ = 0;
  std::unordered_map<std::uint64_t, std::size_t> by_number_;
};

}  // namespace

std::string perfetto(std::span<const Finding> findings, std::span<const RunView> runs) {
  Writer writer;
  std::uint64_t next_flow = 1;
  for (const RunView& view : runs) Run(view, writer, next_flow).write(findings);
  return writer.finish();
}

}  // namespace streamsan::report
