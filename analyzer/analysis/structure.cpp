// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structural checks: sync-in-loop, alloc-in-loop, implicit-default-stream.
//
// They need loops and scopes, but no values. All three are advice, off by default, and silent in doubt:
//
//   sync-in-loop   A synchronisation in a loop that also enqueues, with nothing between it and the next enqueue that
//                  could be the reason for it: no touch of memory by the host, no elapsed time, no call of other code,
//                  no end of memory or of a handle. A loop that only waits (for each of many streams) is a join and is
//                  right. A clock of the C++ library between the two is not seen, because such calls are not in the
//                  IR: benchmarks are reported and can be silenced.
//   alloc-in-loop  An allocation that is not stream-ordered, or a free of one, in a loop that also enqueues. Filling an
//                  array of buffers (`cudaMalloc(&bufs[i], n)`) is setup and not reported.
//   implicit-default-stream
//                  Work on the default stream, because the stream is left out or is 0, although another stream is
//                  available: a parameter, a local stream that is created on every path that leads here and not
//                  destroyed, or a member of this object that the same function uses as a stream. If there are several,
//                  the first of these is named, and there is no certain repair.
#include "analyzer/analysis/structure.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {
namespace {

using BlockSet = std::set<std::size_t>;

struct Loop {
  std::size_t head = 0;
  BlockSet body;  ///< the blocks of the loop, its head included
};

std::vector<std::vector<std::size_t>> predecessors(const ir::Function& function) {
  std::vector<std::vector<std::size_t>> result(function.blocks.size());
  for (std::size_t block = 0; block < function.blocks.size(); ++block) {
    for (const ir::BlockId next : function.blocks[block].successors) {
      result[static_cast<std::size_t>(next)].push_back(block);
    }
  }
  return result;
}

/// Natural loops, one for each back edge of a depth-first walk.
std::vector<Loop> loops(const ir::Function& function) {
  std::vector<Loop> result;
  const auto before = predecessors(function);
  for (const auto& [from, head] : ir::back_edges(function)) {
    Loop loop{head, {head}};
    std::vector<std::size_t> work{from};
    while (!work.empty()) {
      const std::size_t at = work.back();
      work.pop_back();
      if (loop.body.insert(at).second) work.insert(work.end(), before[at].begin(), before[at].end());
    }
    result.push_back(std::move(loop));
  }
  // Inner loops first: an op belongs to the innermost.
  std::stable_sort(result.begin(), result.end(),
                   [](const Loop& a, const Loop& b) { return a.body.size() < b.body.size(); });
  return result;
}

bool is_sync(const ir::Op& op) {
  return op.kind == ir::OpKind::SyncStream || op.kind == ir::OpKind::SyncDevice || op.kind == ir::OpKind::SyncEvent;
}

/// The op may be the reason for a synchronisation before it.
bool is_reason_to_wait(const ir::Op& op) {
  switch (op.kind) {
    case ir::OpKind::HostAccess:
    case ir::OpKind::Elapsed:
    case ir::OpKind::Call:
    case ir::OpKind::Escape:
    case ir::OpKind::MaySync:
    case ir::OpKind::Return:
    case ir::OpKind::EndOfLife:
    case ir::OpKind::Free:
    case ir::OpKind::DestroyHandle:
    case ir::OpKind::CaptureBegin:
    case ir::OpKind::CaptureEnd:
      return true;
    default:
      return false;
  }
}

bool enqueues(const ir::Function& function, const Loop& loop) {
  return std::any_of(loop.body.begin(), loop.body.end(), [&](std::size_t block) {
    return std::any_of(function.blocks[block].ops.begin(), function.blocks[block].ops.end(),
                       [](const ir::Op& op) { return op.kind == ir::OpKind::Enqueue; });
  });
}

/// Within the loop, work is enqueued after this op, and no op in between could have needed the wait.
bool stalls_next_enqueue(const ir::Function& function, const Loop& loop, std::size_t block, std::size_t op) {
  bool found = false;
  BlockSet seen;
  std::vector<std::pair<std::size_t, std::size_t>> work{{block, op + 1}};
  while (!work.empty()) {
    const auto [at, from] = work.back();
    work.pop_back();
    const auto& ops = function.blocks[at].ops;
    bool stopped = false;
    for (std::size_t i = from; i < ops.size() && !stopped; ++i) {
      if (is_reason_to_wait(ops[i])) {
        return false;
      }
      // A synchronous copy waits by itself, for the data that it brings.
      stopped = ops[i].kind == ir::OpKind::Enqueue;
      found = found || stopped;
    }
    if (stopped) {
      continue;
    }
    for (const ir::BlockId next : function.blocks[at].successors) {
      const auto to = static_cast<std::size_t>(next);
      if (loop.body.contains(to) && seen.insert(to).second) {
        work.emplace_back(to, 0);
      }
    }
  }
  return found;
}

bool is_element(const ir::Function& function, ir::PlaceId place) {
  for (; place != ir::kNoPlace; place = function[place].base) {
    if (function[place].kind == ir::Place::Kind::Index) {
      return true;
    }
  }
  return false;
}

/// An allocation or free that may wait for the device.
bool is_classic(const ir::Op& op) {
  using ordering::MemoryKind;
  return (op.kind == ir::OpKind::Allocate || op.kind == ir::OpKind::Free) && !op.tensor && !op.pooled && op.memory &&
         (*op.memory == MemoryKind::Device || *op.memory == MemoryKind::Pinned || *op.memory == MemoryKind::Managed);
}

class Structure {
 public:
  explicit Structure(const ir::Function& function) : function_(function) {}

  std::vector<Hazard> find() {
    for (const Loop& loop : loops(function_)) {
      if (enqueues(function_, loop)) {
        find_in_loop(loop);
      }
    }
    find_default_streams();
    std::stable_sort(hazards_.begin(), hazards_.end(), [](const Hazard& a, const Hazard& b) {
      const ir::Site& x = a.later.where.site;
      const ir::Site& y = b.later.where.site;
      return std::tie(x.line, x.column) < std::tie(y.line, y.column);
    });
    return std::move(hazards_);
  }

 private:
  Hazard& raise(Check check, const ir::Op& op) {
    Hazard& hazard = hazards_.emplace_back();
    hazard.check = check;
    hazard.function = function_.name;
    hazard.usr = function_.usr;
    hazard.later.work = op.work;
    hazard.later.what = name_of(function_, op);
    if (op.site != ir::kNoSite) {
      hazard.later.where.site = function_[op.site];
    }
    if (op.stream.kind == ir::Operand::Kind::DefaultStream) {
      hazard.later.stream = unnamed(UnnamedStream::Default);
    } else if (op.stream.kind != ir::Operand::Kind::None && op.stream.kind != ir::Operand::Kind::Unknown) {
      hazard.later.stream.name = function_.spell(op.stream);
    }
    return hazard;
  }

  void find_in_loop(const Loop& loop) {
    for (const std::size_t block : loop.body) {
      const auto& ops = function_.blocks[block].ops;
      for (std::size_t i = 0; i < ops.size(); ++i) {
        const ir::Op& op = ops[i];
        if (is_sync(op) && stalls_next_enqueue(function_, loop, block, i)) {
          raise_in_loop(Check::SyncInLoop, op, loop);
        } else if (is_classic(op)) {
          const ir::Operand memory = op.kind == ir::OpKind::Free
                                         ? op.source
                                         : ir::Operand{.kind = ir::Operand::Kind::Value, .place = op.target};
          if (!is_element(function_, memory.place)) {
            Hazard* hazard = raise_in_loop(Check::AllocInLoop, op, loop);
            if (hazard != nullptr && memory.place != ir::kNoPlace) {
              hazard->buffer.name = function_.spell(memory);
            }
          }
        }
      }
    }
  }

  /// nullptr: an inner loop has reported it already.
  Hazard* raise_in_loop(Check check, const ir::Op& op, const Loop& loop) {
    if (!reported_.insert(&op).second) {
      return nullptr;
    }
    Hazard& hazard = raise(check, op);
    for (const ir::Op& first : function_.blocks[loop.head].ops) {
      if (first.site != ir::kNoSite && function_[first.site].line != 0 && !hazard.edge) {
        hazard.edge = Where{function_[first.site], {}};
      }
    }
    return &hazard;
  }

  /// For each block, the local streams that exist on every path to its begin.
  std::vector<std::set<ir::PlaceId>> created_streams() const {
    const auto before = predecessors(function_);
    std::set<ir::PlaceId> all;
    for (const ir::Block& block : function_.blocks) {
      for (const ir::Op& op : block.ops) {
        if (makes_stream(op)) {
          all.insert(op.target);
        }
      }
    }
    std::vector<std::set<ir::PlaceId>> at_begin(function_.blocks.size(), all);
    if (all.empty()) {
      return at_begin;
    }
    at_begin[0].clear();
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t block = 1; block < function_.blocks.size(); ++block) {
        std::set<ir::PlaceId> meet = all;
        for (const std::size_t from : before[block]) {
          std::set<ir::PlaceId> at_end = at_begin[from];
          for (const ir::Op& op : function_.blocks[from].ops) {
            step(op, at_end);
          }
          std::erase_if(meet, [&](ir::PlaceId place) { return !at_end.contains(place); });
        }
        if (meet != at_begin[block]) {
          at_begin[block] = std::move(meet);
          changed = true;
        }
      }
    }
    return at_begin;
  }

  /// A local variable becomes a stream other than the default ones.
  bool makes_stream(const ir::Op& op) const {
    if (op.target == ir::kNoPlace || function_[op.target].kind != ir::Place::Kind::Local ||
        function_[op.target].type != ir::TypeKind::Stream || function_[op.target].name.find('$') != std::string::npos) {
      return false;
    }
    return op.kind == ir::OpKind::CreateStream || op.kind == ir::OpKind::Call ||
           (op.kind == ir::OpKind::Assign && op.source.kind == ir::Operand::Kind::Value);
  }

  void step(const ir::Op& op, std::set<ir::PlaceId>& streams) const {
    if (makes_stream(op)) {
      streams.insert(op.target);
    } else if (op.kind == ir::OpKind::Assign) {
      streams.erase(op.target);
    } else if (op.kind == ir::OpKind::DestroyHandle) {
      streams.erase(op.source.place);
    }
  }

  void find_default_streams() {
    std::vector<ir::PlaceId> always;  // parameters, then members in use
    for (const ir::PlaceId place : function_.parameters) {
      if (function_[place].type == ir::TypeKind::Stream) {
        always.push_back(place);
      }
    }
    for (const ir::Block& block : function_.blocks) {
      for (const ir::Op& op : block.ops) {
        const ir::PlaceId place = op.stream.place;
        if (op.stream.kind == ir::Operand::Kind::Value && is_member(place) &&
            std::find(always.begin(), always.end(), place) == always.end()) {
          always.push_back(place);
        }
      }
    }
    const auto created = created_streams();
    for (std::size_t block = 0; block < function_.blocks.size(); ++block) {
      std::set<ir::PlaceId> here = created[block];
      for (const ir::Op& op : function_.blocks[block].ops) {
        step(op, here);
        std::vector<ir::PlaceId> at_hand = always;
        at_hand.insert(at_hand.end(), here.begin(), here.end());
        if (goes_to_default(op) && !at_hand.empty()) {
          raise_default(op, at_hand);
        }
      }
    }
  }

  bool is_member(ir::PlaceId place) const {
    return place != ir::kNoPlace && function_[place].kind == ir::Place::Kind::Field &&
           function_[place].base != ir::kNoPlace && function_[function_[place].base].kind == ir::Place::Kind::This;
  }

  bool goes_to_default(const ir::Op& op) const {
    const bool written = op.stream.kind == ir::Operand::Kind::DefaultStream && op.site != ir::kNoSite &&
                         function_[op.site].stream_begin != 0;
    return op.implicit_stream || ((op.kind == ir::OpKind::Enqueue || op.kind == ir::OpKind::Record) && written);
  }

  void raise_default(const ir::Op& op, const std::vector<ir::PlaceId>& at_hand) {
    Hazard& hazard = raise(Check::ImplicitDefaultStream, op);
    hazard.detail = function_.spell(at_hand.front());
    hazard.later.stream = unnamed(UnnamedStream::Default);
    if (at_hand.size() > 1) {
      hazard.later.where.site.stream_begin = 0;  // no single stream to put there
    }
    for (const ir::Block& block : function_.blocks) {
      for (const ir::Op& made : block.ops) {
        if (made.target == at_hand.front() && makes_stream(made) && made.site != ir::kNoSite && !hazard.edge) {
          hazard.edge = Where{function_[made.site], {}};
        }
      }
    }
  }

  const ir::Function& function_;
  std::vector<Hazard> hazards_;
  std::set<const ir::Op*> reported_;
};

}  // namespace

std::vector<Hazard> structural_hazards(const ir::Function& function) {
  if (!function.incomplete.empty()) {
    return {};
  }
  return Structure(function).find();
}

}  // namespace streamsan::analyzer
