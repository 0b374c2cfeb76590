// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of libstdc++'s containers that are in its shared library: nodes of trees and lists, which are in the
// program's memory, and the number of buckets of a hash table.
#include <utility>

#include "analyzer/interpreter/library.h"
#include "analyzer/interpreter/values.h"

namespace streamsan::analyzer::interpreter {

namespace {

/// Reads and writes words of nodes. The program may have corrupted them, so each address is checked.
class Nodes {
 public:
  explicit Nodes(Machine& machine) : machine_(machine) {}

  Word load(Word address) {
    if (hops_++ < kMostHops && machine_.memory().contains(address, 8)) return load_word(address);
    machine_.stop("a container that is none");
    return 0;
  }
  void store(Word address, Word value) {
    if (machine_.memory().contains(address, 8)) {
      store_word(address, value);
    } else {
      machine_.stop("a container that is none");
    }
  }
  // std::_Rb_tree_node_base: colour, parent, left, right. The tree is not balanced: programs only see the order.
  Word parent(Word node) { return load(node + kParent); }
  Word left(Word node) { return load(node + kLeft); }
  Word right(Word node) { return load(node + kRight); }
  Word least(Word node) {
    for (Word next = left(node); next != 0; next = left(node)) node = next;
    return node;
  }
  Word greatest(Word node) {
    for (Word next = right(node); next != 0; next = right(node)) node = next;
    return node;
  }
  /// Goes up from the node, past all ancestors that it is on the `side` of.
  std::pair<Word, Word> climb(Word node, Word side) {
    Word above = parent(node);
    while (machine_.stopped().empty() && node == load(above + side)) {
      node = above;
      above = parent(above);
    }
    return {node, above};
  }
  static constexpr Word kParent = 8, kLeft = 16, kRight = 24;

 private:
  static constexpr std::size_t kMostHops = 100'000;
  Machine& machine_;
  std::size_t hops_ = 0;
};

constexpr Word kParent = Nodes::kParent, kLeft = Nodes::kLeft, kRight = Nodes::kRight;

}  // namespace

/// _Rb_tree_insert_and_rebalance(bool insert_left, node, parent, header)
Outcome Library::tree_insert(Machine& machine, const Arguments& arguments, Byte*) {
  Nodes nodes(machine);
  const bool to_left = (arguments.word(0) & 1) != 0;
  const Word node = arguments.word(1), above = arguments.word(2), header = arguments.word(3);
  for (const Word one : {node, above, header})
    if (!machine.writes(one, 32)) return Outcome::Stop;
  nodes.store(node + kParent, above);
  nodes.store(node + kLeft, 0);
  nodes.store(node + kRight, 0);
  *reinterpret_cast<std::uint32_t*>(node) = 1;  // black: end() is red, which decrementing asks for
  if (to_left) {
    nodes.store(above + kLeft, node);
    if (above == header) {
      nodes.store(header + kParent, node);
      nodes.store(header + kRight, node);
    } else if (above == nodes.left(header)) {
      nodes.store(header + kLeft, node);
    }
  } else {
    nodes.store(above + kRight, node);
    if (above == nodes.right(header)) nodes.store(header + kRight, node);
  }
  return Outcome::Done;
}

/// _Rb_tree_rebalance_for_erase(node, header) -> node
Outcome Library::tree_erase(Machine& machine, const Arguments& arguments, Byte* result) {
  Nodes nodes(machine);
  const Word node = arguments.word(0), header = arguments.word(1);
  if (!machine.writes(node, 32) || !machine.writes(header, 32)) return Outcome::Stop;
  const auto replace = [&](Word old, Word fresh) {
    const Word above = nodes.parent(old);
    if (nodes.parent(header) == old) {
      nodes.store(header + kParent, fresh);
    } else if (nodes.left(above) == old) {
      nodes.store(above + kLeft, fresh);
    } else {
      nodes.store(above + kRight, fresh);
    }
    if (fresh != 0) nodes.store(fresh + kParent, above);
  };
  if (nodes.left(node) == 0) {
    replace(node, nodes.right(node));
  } else if (nodes.right(node) == 0) {
    replace(node, nodes.left(node));
  } else {
    const Word next = nodes.least(nodes.right(node));
    if (nodes.parent(next) != node) {
      replace(next, nodes.right(next));
      nodes.store(next + kRight, nodes.right(node));
      nodes.store(nodes.right(next) + kParent, next);
    }
    replace(node, next);
    nodes.store(next + kLeft, nodes.left(node));
    nodes.store(nodes.left(next) + kParent, next);
  }
  const Word root = nodes.parent(header);
  nodes.store(header + kLeft, root == 0 ? header : nodes.least(root));
  nodes.store(header + kRight, root == 0 ? header : nodes.greatest(root));
  give(result, node);
  return Outcome::Done;
}

Outcome Library::tree_next(Machine& machine, const Arguments& arguments, Byte* result) {
  Nodes nodes(machine);
  Word node = arguments.word(0);
  if (!machine.reads(node, 32)) return Outcome::Stop;
  if (nodes.right(node) != 0) {
    node = nodes.least(nodes.right(node));
  } else {
    const auto [below, above] = nodes.climb(node, kRight);
    node = nodes.right(below) != above ? above : below;
  }
  give(result, node);
  return Outcome::Done;
}

Outcome Library::tree_previous(Machine& machine, const Arguments& arguments, Byte* result) {
  Nodes nodes(machine);
  Word node = arguments.word(0);
  if (!machine.reads(node, 32)) return Outcome::Stop;
  if (*reinterpret_cast<const std::uint32_t*>(node) == 0 && nodes.parent(nodes.parent(node)) == node) {
    node = nodes.right(node);
  } else if (nodes.left(node) != 0) {
    node = nodes.greatest(nodes.left(node));
  } else {
    node = nodes.climb(node, kLeft).second;
  }
  give(result, node);
  return Outcome::Done;
}

// std::__detail::_List_node_base: next, previous.
Outcome Library::list_hook(Machine& machine, const Arguments& arguments, Byte*) {
  Nodes nodes(machine);
  const Word node = arguments.word(0), position = arguments.word(1);
  if (!machine.writes(node, 16) || !machine.writes(position, 16)) return Outcome::Stop;
  const Word before = nodes.load(position + 8);
  nodes.store(node, position);
  nodes.store(node + 8, before);
  nodes.store(before, node);
  nodes.store(position + 8, node);
  return Outcome::Done;
}
Outcome Library::list_unhook(Machine& machine, const Arguments& arguments, Byte*) {
  Nodes nodes(machine);
  const Word node = arguments.word(0);
  if (!machine.reads(node, 16)) return Outcome::Stop;
  const Word next = nodes.load(node), before = nodes.load(node + 8);
  nodes.store(before, next);
  nodes.store(next + 8, before);
  return Outcome::Done;
}
Outcome Library::list_transfer(Machine& machine, const Arguments& arguments, Byte*) {
  Nodes nodes(machine);
  const Word position = arguments.word(0), begin = arguments.word(1), end = arguments.word(2);
  for (const Word one : {position, begin, end})
    if (!machine.writes(one, 16)) return Outcome::Stop;
  if (position == end) return Outcome::Done;
  nodes.store(nodes.load(end + 8), position);
  nodes.store(nodes.load(begin + 8), end);
  nodes.store(nodes.load(position + 8), begin);
  const Word before = nodes.load(position + 8);
  nodes.store(position + 8, nodes.load(end + 8));
  nodes.store(end + 8, nodes.load(begin + 8));
  nodes.store(begin + 8, before);
  return Outcome::Done;
}

// std::__detail::_Prime_rehash_policy: float max load, size_t next resize.
Outcome Library::next_buckets(Machine& machine, const Arguments& arguments, Byte* result) {
  Word count = 13;
  while (count < arguments.word(1)) count = count * 2 + 1;
  if (machine.writes(arguments.word(0) + 8, 8)) store_word(arguments.word(0) + 8, count);
  give(result, count);
  return Outcome::Done;
}
/// (this, buckets, elements, more) -> pair<bool, size_t>
Outcome Library::needs_rehash(Machine& machine, const Arguments& arguments, Byte* result) {
  const Word buckets = arguments.word(1), elements = arguments.word(2) + arguments.word(3);
  if (!machine.writes(arguments.word(0) + 8, 8)) return Outcome::Stop;
  if (elements <= buckets && buckets > 1) return Outcome::Done;
  Word count = 13;
  while (count < elements) count = count * 2 + 1;
  store_word(arguments.word(0) + 8, count);
  if (result != nullptr) {
    *result = 1;
    std::memcpy(result + 8, &count, sizeof count);
  }
  return Outcome::Done;
}
Outcome Library::hash(Machine& machine, const Arguments& arguments, Byte* result) {
  const Word at = arguments.word(0), size = arguments.word(1);
  Word value = 14695981039346656037ULL;
  if (size != 0 && !machine.reads(at, size)) return Outcome::Stop;
  for (Word i = 0; i < size; ++i) value = (value ^ reinterpret_cast<const Byte*>(at)[i]) * 1099511628211ULL;
  give(result, value);
  return Outcome::Done;
}

}  // namespace streamsan::analyzer::interpreter
