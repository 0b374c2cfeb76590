// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of libstdc++'s containers that stand in its shared library: nodes of trees and lists, which are the
// program's memory, and how many buckets a hash table has.
#include "analyzer/interpreter/library.h"
#include "analyzer/interpreter/values.h"

namespace streamsan::analyzer::interpreter {

namespace {
/// std::_Rb_tree_node_base: colour, parent, left, right. No balance is kept: an order is all that programs see.
constexpr Word kParent = 8, kLeft = 16, kRight = 24;
Word parent(Word node) { return load_word(node + kParent); }
Word left(Word node) { return load_word(node + kLeft); }
Word right(Word node) { return load_word(node + kRight); }
Word least(Word node) {
  while (left(node) != 0) node = left(node);
  return node;
}
Word greatest(Word node) {
  while (right(node) != 0) node = right(node);
  return node;
}
}  // namespace

/// _Rb_tree_insert_and_rebalance(bool insert_left, node, parent, header)
Outcome Library::tree_insert(Machine& machine, const Arguments& arguments, Byte*) {
  const bool to_left = (arguments.word(0) & 1) != 0;
  const Word node = arguments.word(1), above = arguments.word(2), header = arguments.word(3);
  for (const Word one : {node, above, header})
    if (!machine.writes(one, 32)) return Outcome::Stop;
  store_word(node + kParent, above);
  store_word(node + kLeft, 0);
  store_word(node + kRight, 0);
  *reinterpret_cast<std::uint32_t*>(node) = 1;  // black: end() is red, which decrementing asks for
  if (to_left) {
    store_word(above + kLeft, node);
    if (above == header) {
      store_word(header + kParent, node);
      store_word(header + kRight, node);
    } else if (above == left(header)) {
      store_word(header + kLeft, node);
    }
  } else {
    store_word(above + kRight, node);
    if (above == right(header)) store_word(header + kRight, node);
  }
  return Outcome::Done;
}

/// _Rb_tree_rebalance_for_erase(node, header) -> node
Outcome Library::tree_erase(Machine& machine, const Arguments& arguments, Byte* result) {
  const Word node = arguments.word(0), header = arguments.word(1);
  if (!machine.writes(node, 32) || !machine.writes(header, 32)) return Outcome::Stop;
  const auto replace = [&](Word old, Word fresh) {
    const Word above = parent(old);
    if (parent(header) == old) {
      store_word(header + kParent, fresh);
    } else if (left(above) == old) {
      store_word(above + kLeft, fresh);
    } else {
      store_word(above + kRight, fresh);
    }
    if (fresh != 0) store_word(fresh + kParent, above);
  };
  if (left(node) == 0) {
    replace(node, right(node));
  } else if (right(node) == 0) {
    replace(node, left(node));
  } else {
    const Word next = least(right(node));
    if (parent(next) != node) {
      replace(next, right(next));
      store_word(next + kRight, right(node));
      store_word(right(next) + kParent, next);
    }
    replace(node, next);
    store_word(next + kLeft, left(node));
    store_word(left(next) + kParent, next);
  }
  const Word root = parent(header);
  store_word(header + kLeft, root == 0 ? header : least(root));
  store_word(header + kRight, root == 0 ? header : greatest(root));
  give(result, node);
  return Outcome::Done;
}

Outcome Library::tree_next(Machine& machine, const Arguments& arguments, Byte* result) {
  Word node = arguments.word(0);
  if (!machine.reads(node, 32)) return Outcome::Stop;
  if (right(node) != 0) {
    node = least(right(node));
  } else {
    Word above = parent(node);
    while (node == right(above)) {
      node = above;
      above = parent(above);
    }
    if (right(node) != above) node = above;
  }
  give(result, node);
  return Outcome::Done;
}

Outcome Library::tree_previous(Machine& machine, const Arguments& arguments, Byte* result) {
  Word node = arguments.word(0);
  if (!machine.reads(node, 32)) return Outcome::Stop;
  if (*reinterpret_cast<const std::uint32_t*>(node) == 0 && parent(parent(node)) == node) {
    node = right(node);
  } else if (left(node) != 0) {
    node = greatest(left(node));
  } else {
    Word above = parent(node);
    while (node == left(above)) {
      node = above;
      above = parent(above);
    }
    node = above;
  }
  give(result, node);
  return Outcome::Done;
}

// std::__detail::_List_node_base: next, previous.
Outcome Library::list_hook(Machine& machine, const Arguments& arguments, Byte*) {
  const Word node = arguments.word(0), position = arguments.word(1);
  if (!machine.writes(node, 16) || !machine.writes(position, 16)) return Outcome::Stop;
  const Word before = load_word(position + 8);
  store_word(node, position);
  store_word(node + 8, before);
  store_word(before, node);
  store_word(position + 8, node);
  return Outcome::Done;
}
Outcome Library::list_unhook(Machine& machine, const Arguments& arguments, Byte*) {
  const Word node = arguments.word(0);
  if (!machine.reads(node, 16)) return Outcome::Stop;
  const Word next = load_word(node), before = load_word(node + 8);
  store_word(before, next);
  store_word(next + 8, before);
  return Outcome::Done;
}
Outcome Library::list_transfer(Machine& machine, const Arguments& arguments, Byte*) {
  const Word position = arguments.word(0), begin = arguments.word(1), end = arguments.word(2);
  for (const Word one : {position, begin, end})
    if (!machine.writes(one, 16)) return Outcome::Stop;
  if (position == end) return Outcome::Done;
  store_word(load_word(end + 8), position);
  store_word(load_word(begin + 8), end);
  store_word(load_word(position + 8), begin);
  const Word before = load_word(position + 8);
  store_word(position + 8, load_word(end + 8));
  store_word(end + 8, load_word(begin + 8));
  store_word(begin + 8, before);
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
