// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which operations the picture keeps, and makes the view from them. See timeline.h.
#include <algorithm>
#include <numeric>
#include <tuple>

#include "judge/site_reader.h"
#include "judge/timeline.h"
#include "judge/wording.h"

namespace streamsan::judge {
namespace {

constexpr std::size_t kMostHazards = 2000;  // whose operations are looked for in the run while it goes on
constexpr std::size_t kMostStacks = 4000;   // of sites; further ones are named by the driver's function alone

enum Importance : std::uint8_t { Wanted, Waits, Neighbour, Rest, kImportances };

}  // namespace

std::size_t Timeline::index_of(Seq seq) const {
  auto at = std::lower_bound(ops_.begin(), ops_.end(), seq, [](const Op& op, Seq s) { return op.seq < s; });
  return at != ops_.end() && at->seq == seq ? static_cast<std::size_t>(at - ops_.begin()) : ops_.size();
}

std::vector<std::uint8_t> Timeline::importance() const {
  std::vector<std::uint8_t> out(ops_.size(), Rest);
  std::vector<std::uint64_t> wanted = wanted_;
  const std::size_t hazards = std::min(hazards_.kept().size(), kMostHazards);
  for (std::size_t i = 0; i < hazards; ++i) {
    const ordering::Hazard& hazard = hazards_.kept()[i].hazard;
    for (ordering::OpId op : {hazard.later.op, hazard.earlier.op, hazard.explanation.record, hazard.explanation.wait,
                              hazard.allocation.op}) {
      wanted.push_back(static_cast<std::uint64_t>(op));
    }
  }
  for (std::uint64_t number : wanted) {
    auto at =
        std::lower_bound(ops_.begin(), ops_.end(), number, [](const Op& op, std::uint64_t n) { return op.upto < n; });
    if (number != 0 && at != ops_.end() && at->number == number)
      out[static_cast<std::size_t>(at - ops_.begin())] = Wanted;
  }
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const Op& op = ops_[i];
    const bool waits = op.kind == report::OpClass::Sync || (op.kind == report::OpClass::Free && op.lane < kStreams);
    if (waits && op.nth_of_site < kCallsOfSite) out[i] = std::min<std::uint8_t>(out[i], Waits);
  }
  for (const Edge& edge : edges_) {
    const std::size_t from = index_of(edge.from), to = index_of(edge.to);
    if (from < out.size() && to < out.size() && out[to] <= Waits) out[from] = std::min<std::uint8_t>(out[from], Waits);
  }
  // Neighbours by two sweeps; what is itself a neighbour has none.
  Seq near = 0;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    if (out[i] <= Waits) near = ops_[i].seq + kAround;
    if (out[i] == Rest && ops_[i].seq <= near) out[i] = Neighbour;
  }
  near = ~Seq{0};
  for (std::size_t i = ops_.size(); i-- > 0;) {
    if (out[i] <= Waits) near = ops_[i].seq > kAround ? ops_[i].seq - kAround : 0;
    if (out[i] == Rest && ops_[i].seq >= near) out[i] = Neighbour;
  }
  return out;
}

/// Keeps most_ operations, and the last `recent` ones besides: what a finding will be about is often among them.
void Timeline::thin(std::size_t recent) {
  if (ops_.size() <= most_) return;
  const std::vector<std::uint8_t> importance = this->importance();
  std::vector<bool> keep(ops_.size(), false);
  std::size_t left = most_;
  for (std::uint8_t turn = Wanted; turn < kImportances; ++turn) {
    for (std::size_t i = 0; i < ops_.size() && left != 0; ++i) {
      if (importance[i] != turn) continue;
      keep[i] = true;
      --left;
    }
  }
  for (std::size_t i = ops_.size() - std::min(recent, ops_.size()); i < ops_.size(); ++i) keep[i] = true;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    if (!keep[i]) continue;
    if (kept != i) ops_[kept] = std::move(ops_[i]);
    ++kept;
  }
  ops_.resize(kept);
  std::erase_if(edges_, [this](const Edge& edge) {
    return index_of(edge.from) == ops_.size() || index_of(edge.to) == ops_.size();
  });
}

report::RunView Timeline::view(std::span<const report::Finding> findings, Symbolizer& symbolizer) {
  for (const report::Finding& finding : findings) {
    for (const report::AccessReport& access : finding.accesses) wanted_.push_back(access.op);
    for (const report::RelatedOp& related : finding.related) wanted_.push_back(related.op);
    if (!finding.sync) continue;
    for (const report::OrderedPair& pair : finding.sync->orders) {
      wanted_.push_back(pair.earlier.op);
      wanted_.push_back(pair.later.op);
    }
  }
  thin(0);

  report::RunView out;
  out.operations = next_ - 1;

  // Lanes that something is drawn on: host threads in order of number, streams in order of making.
  std::vector<bool> threads(threads_.size(), false), streams(streams_.size(), false);
  for (const Op& op : ops_) {
    threads[op.thread] = true;
    if (op.lane >= kStreams) streams[op.lane - kStreams] = true;
  }
  std::vector<std::uint32_t> thread_order(threads_.size()), stream_order(streams_.size());
  std::iota(thread_order.begin(), thread_order.end(), 0);
  std::iota(stream_order.begin(), stream_order.end(), 0);
  std::ranges::sort(thread_order, {}, [this](std::uint32_t i) { return threads_[i]; });
  std::ranges::stable_sort(stream_order, {}, [this](std::uint32_t i) {
    return std::tuple(streams_[i].life.context, streams_[i].life.kind, streams_[i].life.number);
  });
  std::vector<std::uint32_t> thread_lane(threads_.size()), lane_of_stream(streams_.size());
  for (std::uint32_t i : thread_order) {
    if (!threads[i]) continue;
    thread_lane[i] = static_cast<std::uint32_t>(out.lanes.size());
    const HostThread& thread = judge_.places().host_thread(ordering::ThreadId{threads_[i]});
    out.lanes.push_back({.name = report::host_thread(threads_[i], thread.name, thread.first), .stream = {}});
  }
  for (std::uint32_t i : stream_order) {
    if (!streams[i]) continue;
    lane_of_stream[i] = static_cast<std::uint32_t>(out.lanes.size());
    const report::Stream stream = stream_report(streams_[i].life);
    out.lanes.push_back({stream.name, stream.kind, stream.handle});
  }

  SiteReader reader(judge_.places(), symbolizer);
  ordering::FlatMap<std::uint32_t> site_index;
  std::vector<ordering::SiteId> sites;
  auto site_at = [&](ordering::SiteId site) {
    std::uint32_t& index = site_index[static_cast<std::uint64_t>(site)];
    if (index == 0) {
      sites.push_back(site);
      index = static_cast<std::uint32_t>(sites.size());
    }
    return index - 1;
  };
  std::vector<std::uint32_t> buffer_index(buffers_.size(), 0);
  std::vector<bool> launches;
  out.ops.reserve(ops_.size());
  for (const Op& op : ops_) {
    report::ViewOp& made = out.ops.emplace_back();
    made.number = op.number;
    made.position = op.position;
    made.thread = thread_lane[op.thread];
    made.lane = op.lane >= kStreams ? lane_of_stream[op.lane - kStreams] : thread_lane[op.lane];
    made.site = site_at(op.site);
    made.kind = op.kind;
    made.event = op.event;
    if (op.until != 0) {
      auto end = std::lower_bound(ops_.begin(), ops_.end(), op.until, [](const Op& o, Seq s) { return o.seq < s; });
      made.until = static_cast<std::uint32_t>(end - ops_.begin());
    }
    made.start_ns = op.start_ns;
    made.end_ns = op.end_ns;
    out.gpu_times |= op.lane >= kStreams && op.end_ns != 0;
    made.bytes = op.bytes;
    made.first_touch = static_cast<std::uint32_t>(out.touches.size());
    made.touches = static_cast<std::uint32_t>(op.touches.size());
    for (report::ViewTouch touch : op.touches) {
      std::uint32_t& index = buffer_index[touch.buffer];
      if (index == 0) {
        const Buffer& buffer = buffers_[touch.buffer];
        out.buffers.push_back({buffer.kind == ordering::MemoryKind::Array ? 0 : buffer.range.begin, buffer.range.size(),
                               memory_name(buffer.kind), site_at(buffer.site)});
        index = static_cast<std::uint32_t>(out.buffers.size());
      }
      touch.buffer = index - 1;
      out.touches.push_back(touch);
    }
    launches.resize(sites.size(), false);
    if (op.kind == report::OpClass::Kernel) launches[made.site] = true;
  }
  launches.resize(sites.size(), false);
  for (const Edge& edge : edges_) {
    out.edges.push_back(
        {static_cast<std::uint32_t>(index_of(edge.from)), static_cast<std::uint32_t>(index_of(edge.to)), edge.kind});
  }
  const std::size_t named = std::min(sites.size(), kMostStacks);
  for (std::size_t i = 0; i < named; ++i) reader.want(sites[i]);
  for (std::size_t i = 0; i < sites.size(); ++i) {
    report::ViewSite& site = out.sites.emplace_back();
    site.api = reader.function(sites[i]);
    if (i < named) {
      site.what = reader.what(sites[i], launches[i]);
      site.stack = reader.stack(sites[i]);
    } else {
      const Kernel& kernel = judge_.places().kernel_of(sites[i]);
      site.what = launches[i] && !kernel.demangled.empty() ? "kernel " + kernel.demangled : site.api;
    }
  }
  return out;
}

}  // namespace streamsan::judge
