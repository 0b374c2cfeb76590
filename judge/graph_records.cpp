// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The records of graphs: nodes with what they touch, graphs that are made and changed, launches. See judge.h and
// graphs.h.
#include <algorithm>

#include "judge/judge.h"
#include "judge/transfers.h"

namespace streamsan::judge {

using ordering::GraphNode;
using ordering::StreamId;
using ordering::ThreadId;
using trace::Item;
using trace::Kind;
using trace::Record;

std::optional<ordering::ContextId> Judge::context_of_launch(const Record& launch) {
  if (launch.in_stream().stream == 0) return std::nullopt;
  const StreamLife* life = handles_.life(stream_of(launch));
  return life ? std::optional(life->context) : std::nullopt;
}

ordering::Dependence Judge::depends(LaunchedKernel front, LaunchedKernel here) {
  if (!code_.enabled()) return {};
  const Code::InChain known = code_.in_chain(here.index, places_.kernel(here.index), here.hash);
  if (!known.known) return {};
  const Code::InChain before = code_.in_chain(front.index, places_.kernel(front.index), front.hash);
  return {.overlaps = true,
          .waits = known.waits,
          .front = before.trigger,
          .front_waits_first = !before.known || before.waits_first};
}

void Judge::graph_node(const Item& item) {
  GraphNode node;
  if (item.record->continuations != 0) {
    const Record& inner = *reinterpret_cast<const Record*>(item.payload.data());
    Item call{.position = item.position,
              .record = &inner,
              .foreign = {},
              .payload = item.payload.subspan(trace::kContinuationWords)};
    if (inner.kind == Kind::Launch) {
      const std::uint32_t index = places_.kernel_index(inner.as<Kind::Launch>().function);
      const LaunchBytes& bytes = bytes_of(call, code_.enabled());
      node.shape = shape_of(inner, index, bytes);
      node.pointers = bytes.pointers;
      node.bytes = bytes.exact.bytes;
    } else if (inner.kind == Kind::Copy) {
      const Sides sides = sides_of_copy(call);
      node.dst = sides.dst;
      node.src = sides.src;
    } else {
      node.dst = bytes_of_fill(inner);
    }
  }
  graphs_.add_node(*item.record, std::move(node));
}

void Judge::graph_made(const Record& record) {
  if (record.kind == Kind::GraphInstantiate) {
    constexpr std::uint64_t kDeviceLaunch = 4;  // CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH
    graphs_of_kernels_ += (record.as<Kind::GraphInstantiate>().creation_flags & kDeviceLaunch) != 0;
  }
  if (record.kind == Kind::GraphUpdate) {
    if (graphs_.update(record)) return;
  } else if (const Graphs::Exec exec = graphs_.instantiate(record, call(record).site); exec.graph) {
    return check_graph(exec);
  }
  if (!captured_order_.empty()) note_hidden_order(captured_order_);
  if (graphs_.seen_images()) note_hidden_order("a graph that could not be read");
}

void Judge::check_graph(const Graphs::Exec& exec) {
  handles_.check_graph(exec.created);
  model_.graph_made(exec.key);
  ordering::check_graph(*exec.graph, model_, *this);
}

void Judge::launch_graph(const Record& record, StreamId stream) {
  const Graphs::Exec exec = graphs_.exec(record.as<Kind::GraphLaunch>().exec);
  const ordering::Call call = this->call(record);
  if (!exec.graph) {
    host_code_in_streams_ = true;  // it may hold host functions
    model_.graph_launch(call, stream, exec.key);
    return;
  }
  if (exec.changed) check_graph(exec);
  handles_.launch_graph(call.site, exec.created);
  host_code_in_streams_ |= exec.graph->plan().host_code;
  for (const ordering::EventId event : exec.graph->plan().records) {
    handles_.recorded(event, stream);
    event_misuse_.exempt(event);
  }
  model_.graph_launch(call, stream, exec.key, *exec.graph);
}

bool Judge::known_of_launch(const ordering::Hazard& hazard) {
  if (hazard.later.launched == ordering::kNoSite) return false;
  if (last_launch_ != hazard.later.op) {
    last_launch_ = hazard.later.op;
    of_last_launch_.clear();
  }
  const auto same = std::find_if(of_last_launch_.begin(), of_last_launch_.end(), [&](const OfLaunch& each) {
    return each.earlier == hazard.earlier.op && each.allocation == hazard.allocation.id;
  });
  if (same == of_last_launch_.end()) {
    of_last_launch_.push_back({hazard.earlier.op, hazard.allocation.id, hazard.certainty, hazard.order});
    return false;
  }
  // Certain comes before possible, unordered before latent.
  if (std::pair(same->certainty, same->order) <= std::pair(hazard.certainty, hazard.order)) return true;
  same->certainty = hazard.certainty;
  same->order = hazard.order;
  return false;
}

}  // namespace streamsan::judge
