// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One table of first words; the other words refine. An instruction that is not in the table is Op::Other.
#include "judge/ptx/opcode.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

namespace streamsan::ptx {
namespace {

using Row = std::pair<std::string_view, Op>;

constexpr Row kOps[] = {
    {"abs", Op::Abs},
    {"activemask", Op::Pure},
    {"add", Op::Add},
    {"addc", Op::Pure},
    {"and", Op::And},
    {"applypriority", Op::None},
    {"atom", Op::Atomic},
    {"bar", Op::None},
    {"barrier", Op::None},
    {"bfe", Op::Bfe},
    {"bfi", Op::Bfi},
    {"bfind", Op::Pure},
    {"bmsk", Op::Pure},
    {"bra", Op::Branch},
    {"brev", Op::Pure},
    {"brx", Op::Branch},
    {"call", Op::Call},
    {"clz", Op::Pure},
    {"cnot", Op::Pure},
    {"copysign", Op::Pure},
    {"cos", Op::Pure},
    {"cp", Op::Other},  // refined below
    {"createpolicy", Op::Pure},
    {"cvt", Op::Convert},
    {"cvta", Op::ToSpace},
    {"div", Op::Div},
    {"dp2a", Op::Pure},
    {"dp4a", Op::Pure},
    {"elect", Op::Pure},
    {"ex2", Op::Pure},
    {"exit", Op::Exit},
    {"fence", Op::None},
    {"fma", Op::Pure},
    {"fns", Op::Pure},
    {"griddepcontrol", Op::None},
    {"isspacep", Op::Pure},
    {"istypep", Op::Pure},
    {"ld", Op::Load},
    {"ldmatrix", Op::Pure},  // from shared memory
    {"ldu", Op::Load},
    {"lg2", Op::Pure},
    {"lop3", Op::Pure},
    {"mad", Op::Mad},
    {"mad24", Op::Pure},
    {"madc", Op::Pure},
    {"match", Op::Pure},
    {"max", Op::Max},
    {"mbarrier", Op::Pure},  // in shared memory
    {"membar", Op::None},
    {"min", Op::Min},
    {"mma", Op::Pure},
    {"mov", Op::Move},
    {"movmatrix", Op::Pure},
    {"mul", Op::Mul},
    {"mul24", Op::Pure},
    {"nanosleep", Op::None},
    {"neg", Op::Neg},
    {"not", Op::Not},
    {"or", Op::Or},
    {"pmevent", Op::None},
    {"popc", Op::Pure},
    {"prefetch", Op::None},
    {"prefetchu", Op::None},
    {"prmt", Op::Pure},
    {"rcp", Op::Pure},
    {"red", Op::Reduce},
    {"redux", Op::Pure},
    {"rem", Op::Rem},
    {"ret", Op::Exit},
    {"rsqrt", Op::Pure},
    {"sad", Op::Pure},
    {"selp", Op::Select},
    {"set", Op::Pure},
    {"setmaxnreg", Op::None},
    {"setp", Op::Set},
    {"shf", Op::Pure},
    {"shfl", Op::Pure},
    {"shl", Op::Shl},
    {"shr", Op::Shr},
    {"sin", Op::Pure},
    {"slct", Op::Pure},
    {"sqrt", Op::Pure},
    {"st", Op::Store},
    {"stmatrix", Op::None},  // to shared memory
    {"sub", Op::Sub},
    {"subc", Op::Pure},
    {"suld", Op::SurfaceLoad},
    {"suq", Op::Pure},  // a property, such as the width
    {"sured", Op::SurfaceReduce},
    {"sust", Op::SurfaceStore},
    {"szext", Op::Pure},
    {"tanh", Op::Pure},
    {"testp", Op::Pure},
    {"tex", Op::TextureLoad},
    {"tld4", Op::TextureLoad},
    {"trap", Op::Exit},
    {"txq", Op::Pure},  // a property
    {"vote", Op::Pure},
    {"wgmma", Op::Pure},  // from shared memory
    {"xor", Op::Xor},
};
static_assert(std::ranges::is_sorted(kOps, {}, &Row::first));

constexpr std::string_view kRenewing[] = {"bar", "barrier", "fence", "membar", "nanosleep"};

std::vector<std::string_view> split(std::string_view name) {
  std::vector<std::string_view> out;
  while (!name.empty()) {
    const std::size_t dot = name.find('.');
    out.push_back(name.substr(0, dot));
    name.remove_prefix(dot == std::string_view::npos ? name.size() : dot + 1);
  }
  return out;
}

std::uint8_t vector_of(std::string_view word) {
  if (word == "v2") return 2;
  if (word == "v4") return 4;
  if (word == "v8") return 8;
  return 0;
}

bool space_of(std::string_view word, Space& space) {
  word = word.substr(0, word.find("::"));
  if (word == "global")
    space = Space::Global;
  else if (word == "shared")
    space = Space::Shared;
  else if (word == "local")
    space = Space::Local;
  else if (word == "const")
    space = Space::Const;
  else if (word == "param")
    space = Space::Param;
  else
    return false;
  return true;
}

/// The comparison of a setp; unsigned ones have names of their own.
bool compare_of(std::string_view word, Instruction& out) {
  constexpr std::array<std::pair<std::string_view, Compare>, 10> kCompares = {{{"eq", Compare::Eq},
                                                                               {"ne", Compare::Ne},
                                                                               {"lt", Compare::Lt},
                                                                               {"le", Compare::Le},
                                                                               {"gt", Compare::Gt},
                                                                               {"ge", Compare::Ge},
                                                                               {"lo", Compare::Lt},
                                                                               {"ls", Compare::Le},
                                                                               {"hi", Compare::Gt},
                                                                               {"hs", Compare::Ge}}};
  const auto it = std::ranges::find(kCompares, word, &std::pair<std::string_view, Compare>::first);
  if (it == kCompares.end()) return false;
  out.compare = it->second;
  out.compare_unsigned = it - kCompares.begin() >= 6;
  return true;
}

/// cp.async and its bulk forms. `async.bulk.tensor`, `async.bulk.prefetch`, the groups and the rest are distinguished
/// here.
Op copy_op(const std::vector<std::string_view>& words) {
  const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
  if (has("commit_group") || has("wait_group") || has("wait_all") || has("mbarrier")) return Op::None;
  if (has("tensor") || has("cp_mask") || !has("async")) return Op::Other;
  if (has("prefetch")) return Op::None;
  return has("bulk") ? Op::BulkCopy : Op::AsyncCopy;
}

Sync sync_of(const std::vector<std::string_view>& words) {
  const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
  if (words[0] == "griddepcontrol") return has("wait") ? Sync::GridWait : Sync::GridTrigger;
  if (words[0] == "bar" || words[0] == "barrier") return Sync::Barrier;
  if (words[0] == "mbarrier") return has("try_wait") || has("test_wait") ? Sync::Barrier : Sync::None;
  if (words[0] == "membar") return has("cta") ? Sync::None : Sync::Fence;
  if (words[0] == "fence") return (has("gpu") || has("sys")) && !has("proxy") ? Sync::Fence : Sync::None;
  return Sync::None;
}

}  // namespace

Type type_of(std::string_view name) {
  if (name == "pred") return {1, false, false};
  if (name.size() < 2) return {};
  const char kind = name[0];
  if (kind != 'u' && kind != 's' && kind != 'b' && kind != 'f') return {};
  unsigned bits = 0;
  std::size_t i = 1;
  for (; i < name.size() && name[i] >= '0' && name[i] <= '9' && bits < 1000; ++i)
    bits = bits * 10 + static_cast<unsigned>(name[i] - '0');
  const std::string_view rest = name.substr(i);
  if (rest == "x2")
    bits *= 2;
  else if (rest == "x4")
    bits *= 4;
  else if (!rest.empty())
    return {};
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64 && bits != 128) return {};
  return {static_cast<std::uint8_t>(bits), kind == 's', kind != 'f' && rest.empty() && bits <= 64};
}

void decode(std::string_view name, Instruction& out) {
  const std::vector<std::string_view> words = split(name);
  if (words.empty()) return;
  const auto row = std::ranges::lower_bound(kOps, words[0], {}, &Row::first);
  out.op = row != std::end(kOps) && row->first == words[0] ? row->second : Op::Other;
  out.sync = sync_of(words);
  out.renews = std::ranges::find(kRenewing, words[0]) != std::end(kRenewing);
  bool relaxed = false, wide_scope = false, system_scope = false, carry = false, spaced = false;
  int types = 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (const Type type = type_of(word); type.bits) {
      // setp.eq.s32 has one, cvt two: result, source. A predicate type never is a source.
      if (types++ == 0) out.type = type;
      out.source_type = type;
      continue;
    }
    Space space{};
    if (space_of(word, space)) {
      if (!spaced)
        out.space = out.target_space = space;
      else
        out.space = space;
      spaced = true;
    } else if (const std::uint8_t vector = vector_of(word)) {
      out.vector = vector;
    } else if (out.op == Op::Set && compare_of(word, out)) {
    } else if (out.op == Op::Set && (word == "and" || word == "or" || word == "xor")) {
      out.combine = word == "and" ? '&' : word == "or" ? '|' : '^';
    } else if (word == "wide") {
      out.half = Half::Both;
    } else if (word == "hi") {
      out.half = Half::High;
    } else if (word == "relaxed" || word == "acquire" || word == "release") {
      relaxed = true;
    } else if (word == "gpu" || word == "sys") {
      wide_scope = true;
      system_scope |= word == "sys";
    } else if (word == "volatile" || word == "mmio") {
      out.is_volatile = true;
    } else if (word == "cg" || word == "cv") {
      out.past_cache = true;
    } else if (word == "sat" || word == "relu") {
      out.saturates = true;
    } else if (word == "cc") {
      carry = true;
    }
  }
  out.strong = (relaxed && wide_scope) || out.is_volatile;
  out.for_host = system_scope || out.is_volatile;
  out.of_system = system_scope;
  // A barrier that also reduces has a result.
  if (out.op == Op::None && std::ranges::find(words, "red") != words.end()) out.op = Op::Pure;
  out.is_volatile |= relaxed;
  if (words[0] == "cp") {
    out.op = copy_op(words);
    out.reduces = words.size() > 1 && words[1] == "reduce";
  }
  if (out.op == Op::ToSpace) out.to_generic = words.size() < 2 || words[1] != "to";
  // add.cc leaves a carry that addc picks up: neither is followed.
  const bool arithmetic = out.op >= Op::Add && out.op <= Op::Xor;
  if ((arithmetic || out.op == Op::Shl || out.op == Op::Shr || out.op == Op::Bfe || out.op == Op::Bfi) &&
      (carry || out.saturates || types > 1 || !(out.type.is_integer || out.type.bits == 1)))
    out.op = Op::Pure;
}

}  // namespace streamsan::ptx
