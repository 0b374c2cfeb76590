// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The data of the page. Operations are columns, one array for each field; each text and frame is written once and
// referred to by index, because a run of 50,000 operations has few distinct ones. data.js reads it back.
#include "report/html/page.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>

#include "report/html/assets.h"
#include "report/text.h"

namespace streamsan::report {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostFindings = 5000;  ///< shown; the others are counted

class Data {
 public:
  explicit Data(const PageOptions& options) : options_(options) { text(""); }

  Json document(std::span<const Finding> findings, const Summary& summary, std::span<const RunView> runs);

 private:
  std::size_t text(const std::string& value) {
    auto [it, fresh] = text_index_.try_emplace(value, texts_.size());
    if (fresh) texts_.push_back(value);
    return it->second;
  }
  std::size_t file(const std::string& path) {
    const std::string& prefix = options_.strip_path_prefix;
    return text(!prefix.empty() && path.starts_with(prefix) ? path.substr(prefix.size()) : path);
  }
  std::size_t stack(const std::vector<Frame>& frames);
  Json run(const RunView& view);
  Json finding(const Finding& finding);
  Json access(const AccessReport& access);
  Json buffer(const std::optional<BufferReport>& buffer);
  Json sync(const SyncReport& sync);

  const PageOptions& options_;
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::size_t> text_index_;
  Json frames_ = Json::array();  ///< [function, file, line, column, module, offset, library, language, forward]
  std::map<
      std::tuple<std::size_t, std::size_t, std::uint32_t, std::uint32_t, std::size_t, std::uint64_t, std::size_t, bool>,
      std::size_t>
      frame_index_;
  Json stacks_ = Json::array();
  std::map<std::vector<std::size_t>, std::size_t> stack_index_;
};

std::size_t Data::stack(const std::vector<Frame>& frames) {
  std::vector<std::size_t> indices;
  for (const Frame& frame : frames) {
    const std::tuple key(text(frame.function), file(frame.file), frame.line, frame.column, text(frame.module),
                         frame.offset, text(name(frame.language)), frame.forward);
    auto [it, fresh] = frame_index_.try_emplace(key, frames_.size());
    if (fresh) {
      const auto& [function, path, line, column, module, offset, language, forward] = key;
      frames_.push_back(
          {function, path, line, column, module, hex(offset), frame.library ? 1 : 0, language, forward ? 1 : 0});
    }
    indices.push_back(it->second);
  }
  auto [it, fresh] = stack_index_.try_emplace(indices, stacks_.size());
  if (fresh) stacks_.push_back(indices);
  return it->second;
}

Json lane(const Stream& stream) {
  return {{"name", stream.name}, {"kind", name(stream.kind)}, {"handle", hex(stream.handle)}};
}

Json Data::access(const AccessReport& access) {
  return {{"verb", name(access.verb)},
          {"what", access.what},
          {"api", access.api},
          {"stream", lane(access.stream)},
          {"op", access.op},
          {"thread", host_thread(access.thread, access.thread_name, access.main_thread)},
          {"bytes", name(access.evidence)},
          {"begin", hex(access.begin)},
          {"end", hex(access.end)},
          {"stack", stack(access.stack)}};
}

Json Data::buffer(const std::optional<BufferReport>& buffer) {
  if (!buffer) return nullptr;
  return {{"memory", buffer->memory},        {"name", buffer->name},   {"allocator", buffer->allocator},
          {"address", hex(buffer->address)}, {"bytes", buffer->bytes}, {"stack", stack(buffer->stack)},
          {"variable", buffer->variable}};
}

Json Data::sync(const SyncReport& sync) {
  const auto time = [](const std::optional<double>& ms) { return ms ? Json(*ms) : Json(nullptr); };
  Json orders = Json::array();
  for (const OrderedPair& pair : sync.orders) {
    orders.push_back({{"earlier", access(pair.earlier)},
                      {"later", access(pair.later)},
                      {"buffer", buffer(pair.buffer)},
                      {"rule", pair.rule},
                      {"count", pair.count}});
  }
  return {{"verdict", name(sync.verdict)},
          {"waits", name(sync.waits)},
          {"what", sync.what},
          {"api", sync.api},
          {"stream", lane(sync.stream)},
          {"calls", sync.calls},
          {"idleCalls", sync.idle_calls},
          {"stack", stack(sync.stack)},
          {"library", sync.library},
          {"orders", std::move(orders)},
          {"reasons", sync.reasons},
          {"replacement", sync.replacement},
          {"evidence", name(sync.evidence)},
          {"group", sync.group},
          {"removable", sync.removable},
          {"blockedMs", time(sync.blocked_ms)},
          {"gpuIdleMs", time(sync.gpu_idle_ms)},
          {"overlapMs", time(sync.overlap_ms)}};
}

Json Data::finding(const Finding& finding) {
  Json accesses = Json::array();
  for (const AccessReport& each : finding.accesses) accesses.push_back(access(each));
  Json related = Json::array();
  for (const RelatedOp& each : finding.related) {
    related.push_back({{"what", each.what},
                       {"api", each.api},
                       {"stream", lane(each.stream)},
                       {"op", each.op},
                       {"stack", stack(each.stack)}});
  }
  return {{"pid", finding.pid},
          {"kind", name(finding.kind)},
          {"severity", name(finding.severity)},
          {"title", title(finding)},
          {"place", place(finding, {.color = false, .strip_path_prefix = options_.strip_path_prefix})},
          {"hazard", finding.hazard.text()},
          {"cause", finding.cause.text()},
          {"rule", finding.rule},
          {"message", finding.message},
          {"accesses", std::move(accesses)},
          {"buffer", buffer(finding.buffer)},
          {"overlapBegin", hex(finding.overlap_begin)},
          {"overlapEnd", hex(finding.overlap_end)},
          {"overlapRuns", finding.overlap ? finding.overlap->runs : 1},
          {"explanation", finding.explanation},
          {"related", std::move(related)},
          {"sync", finding.sync ? sync(*finding.sync) : Json(nullptr)},
          {"fix", finding.fix},
          {"fingerprint", finding.fingerprint},
          {"count", finding.count},
          {"weaker", finding.weaker},
          {"group", finding.group},
          {"suppressed", finding.suppressed}};
}

/// Times are relative to the first one of the run.
std::uint64_t first_time(const RunView& view) {
  std::uint64_t out = std::numeric_limits<std::uint64_t>::max();
  for (const ViewOp& op : view.ops) {
    if (op.end_ns != 0) out = std::min(out, op.start_ns);
  }
  return out;
}

Json Data::run(const RunView& view) {
  Json lanes = Json::array();
  for (const ViewLane& each : view.lanes) {
    lanes.push_back({{"name", each.name}, {"kind", kind_of(each)}, {"handle", hex(each.handle)}});
  }
  Json sites = Json::array();  // [what, api, stack]
  for (const ViewSite& site : view.sites) sites.push_back({text(site.what), text(site.api), stack(site.stack)});
  Json buffers = Json::array();  // [address, bytes, memory, site]
  for (const ViewBuffer& each : view.buffers) {
    buffers.push_back({hex(each.address), each.bytes, text(each.memory), each.site});
  }
  const auto column = [&](auto field) {
    Json out = Json::array();
    for (const ViewOp& op : view.ops) out.push_back(field(op));
    return out;
  };
  const std::uint64_t zero = first_time(view);
  const auto time = [zero](std::uint64_t end, std::uint64_t at) {
    return end == 0 ? std::int64_t{-1} : static_cast<std::int64_t>(at - zero);
  };
  Json ops = {{"number", column([](const ViewOp& op) { return op.number; })},
              {"lane", column([](const ViewOp& op) { return op.lane; })},
              {"thread", column([](const ViewOp& op) { return op.thread; })},
              {"site", column([](const ViewOp& op) { return op.site; })},
              {"kind", column([](const ViewOp& op) { return static_cast<unsigned>(op.kind); })},
              {"event", column([](const ViewOp& op) { return op.event; })},
              {"until", column([](const ViewOp& op) { return op.until; })},
              {"bytes", column([](const ViewOp& op) { return op.bytes; })},
              {"firstTouch", column([](const ViewOp& op) { return op.first_touch; })},
              {"start", column([&](const ViewOp& op) { return time(op.end_ns, op.start_ns); })},
              {"end", column([&](const ViewOp& op) { return time(op.end_ns, op.end_ns); })}};
  Json touches = Json::array();  // buffer * 4 + reads + 2 * writes
  for (const ViewTouch& touch : view.touches) {
    touches.push_back(std::uint64_t{touch.buffer} * 4 + (touch.reads ? 1 : 0) + (touch.writes ? 2 : 0));
  }
  Json edges = Json::array();  // from, to, kind, from, to, kind, ...
  for (const ViewEdge& edge : view.edges) {
    edges.push_back(edge.from);
    edges.push_back(edge.to);
    edges.push_back(static_cast<unsigned>(edge.kind));
  }
  return {{"pid", view.pid},
          {"program", view.program},
          {"command", view.command},
          {"operations", view.operations},
          {"gpuTimes", view.gpu_times},
          {"lanes", std::move(lanes)},
          {"sites", std::move(sites)},
          {"buffers", std::move(buffers)},
          {"ops", std::move(ops)},
          {"touches", std::move(touches)},
          {"edges", std::move(edges)}};
}

Json Data::document(std::span<const Finding> findings, const Summary& summary, std::span<const RunView> runs) {
  // The worst first, and of those the first met.
  std::vector<const Finding*> order;
  for (const Finding& each : findings) order.push_back(&each);
  std::ranges::stable_sort(order, {}, [](const Finding* f) { return std::tuple(f->suppressed, f->severity); });
  Json shown = Json::array();
  for (std::size_t i = 0; i < std::min(order.size(), kMostFindings); ++i) shown.push_back(finding(*order[i]));
  Json processes = Json::array();
  for (const RunView& view : runs) processes.push_back(run(view));
  Json classes = Json::array(), edge_kinds = Json::array();
  for (const OpClass each : kEach<OpClass>) classes.push_back(name(each));
  for (EdgeKind kind : {EdgeKind::Event, EdgeKind::Sync, EdgeKind::Barrier}) edge_kinds.push_back(name(kind));
  return {{"version", options_.version},
          {"summary",
           {{"errors", summary.errors},
            {"latent", summary.latent},
            {"possible", summary.possible},
            {"notes", summary.notes},
            {"suppressed", summary.suppressed},
            {"operations", summary.operations},
            {"processes", summary.processes},
            {"whole", summary.whole},
            {"warnings", summary.warnings}}},
          {"findings", std::move(shown)},
          {"findingsInAll", findings.size()},
          {"runs", std::move(processes)},
          {"classes", std::move(classes)},
          {"edgeKinds", std::move(edge_kinds)},
          {"texts", texts_},
          {"frames", frames_},
          {"stacks", stacks_}};
}

/// JSON that may stand between <script> and </script>: "<" occurs in its strings only.
std::string in_script(const Json& json) {
  const std::string plain = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  out.reserve(plain.size());
  for (char c : plain) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string html(std::span<const Finding> findings, const Summary& summary, std::span<const RunView> runs,
                 const PageOptions& options) {
  const std::string policy = std::string("default-src 'none'; script-src 'sha256-") + page::kScriptHash +
                             "'; style-src 'sha256-" + page::kStyleHash + "'; base-uri 'none'; form-action 'none'";
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  out += "<meta http-equiv=\"Content-Security-Policy\" content=\"" + policy + "\">\n";
  out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  out += "<meta name=\"referrer\" content=\"no-referrer\">\n<title>StreamSan report</title>\n";
  out += std::string("<style>") + page::kStyle + "</style>\n</head>\n";
  out += page::kBody;
  out += "<script type=\"application/json\" id=\"data\">" + in_script(Data(options).document(findings, summary, runs)) +
         "</script>\n";
  out += std::string("<script>") + page::kScript + "</script>\n</body>\n</html>\n";
  return out;
}

std::string html(const Results& results, const FormatContext& context) {
  return html(results.findings, results.summary, results.views,
              {.version = STREAMSAN_VERSION, .strip_path_prefix = context.root.prefix()});
}

}  // namespace streamsan::report
