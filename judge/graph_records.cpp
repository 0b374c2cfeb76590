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

void Judge::graph_node(const Item& item) {
  GraphNode node;
  if (item.record->continuations != 0) {
    const Record& inner = *reinterpret_cast<const Record*>(item.payload.data());
    Item call{.position = item.position,
              .record = &inner,
              .foreign = {},
              .payload = item.payload.subspan(trace::kContinuationWords)};
    if (inner.kind == Kind::Launch) {
      const auto& w = inner.as<Kind::Launch>();
      const std::uint32_t index = places_.kernel_index(w.function);
      const LaunchBytes& bytes = bytes_of(call, code_.enabled());
      node.pointers = bytes.pointers;
      node.bytes = bytes.exact.bytes;
      if (inner.flags & trace::kWaits) {
        for (ordering::PointerArgument& pointer : node.pointers) pointer.mode = ordering::AccessMode::Doubtful;
      }
      node.shape = {.function = ordering::FunctionId{index},
                    .threads = w.threads,
                    .arguments_hash = w.hash,
                    .confined = bytes.exact.complete || bytes.confined,
                    .learned = bytes.known == Known::Learned};
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
  const ordering::Graph* graph =
      record.kind == Kind::GraphInstantiate ? graphs_.instantiate(record) : graphs_.update(record);
  if (graph) return ordering::check_graph(*graph, model_, *this);
  if (!captured_order_.empty()) note_hidden_order(captured_order_);
  if (graphs_.seen_images()) note_hidden_order("a graph that could not be read");
}

void Judge::launch_graph(const Record& record, StreamId stream) {
  const Graphs::Exec exec = graphs_.exec(record.as<Kind::GraphLaunch>().exec);
  const ordering::Call call = this->call(record);
  if (!exec.graph) {
    host_code_in_streams_ = true;  // it may hold host functions
    model_.graph_launch(call, stream, exec.key);
    return;
  }
  for (const GraphNode& node : exec.graph->nodes) {
    host_code_in_streams_ |= node.kind == GraphNode::Kind::HostFunction;
    if (node.kind != GraphNode::Kind::RecordEvent) continue;
    handles_.recorded(node.event, stream);
    event_misuse_.exempt(node.event);
  }
  model_.graph_launch(call, stream, exec.key, *exec.graph);
}

bool Judge::told_of_launch(const ordering::Hazard& hazard) {
  if (hazard.later.launched == ordering::kNoSite) return false;
  if (told_launch_ != hazard.later.op) {
    told_launch_ = hazard.later.op;
    told_.clear();
  }
  const auto same = std::find_if(told_.begin(), told_.end(), [&](const Told& told) {
    return told.earlier == hazard.earlier.op && told.allocation == hazard.allocation.id;
  });
  if (same == told_.end()) {
    told_.push_back({hazard.earlier.op, hazard.allocation.id, hazard.certainty, hazard.order});
    return false;
  }
  // Certain comes before possible, unordered before latent.
  if (std::pair(same->certainty, same->order) <= std::pair(hazard.certainty, hazard.order)) return true;
  same->certainty = hazard.certainty;
  same->order = hazard.order;
  return false;
}

}  // namespace streamsan::judge
