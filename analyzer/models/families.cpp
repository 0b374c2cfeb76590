// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules that stand for functions without a row: a library's prefix, ATen's namespace, the members of a tensor.
//
// A rule says as much as is true of every such function: any cublas*(handle, ...) works on the handle's stream, any
// at::add(...) on the current stream. What it does to each argument is left to types: a pointer to const is read,
// another pointer may be read or written (Mode::Unknown), which no certain finding comes from. Functions of a library
// that do not work on a stream (create, describe, set and get an attribute) are recognised by the words in their names;
// a word that is not known makes a function work, which may only make the analysis more careful.
#include <algorithm>

#include "analyzer/models/shorthand.h"

namespace streamsan::analyzer {

namespace {

using namespace shorthand;

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

constexpr Facts kNothing{.action = Nothing};
/// A descriptor is one as well, to which no work is ever given.
constexpr Facts kMakesHandle{.action = Nothing, .makes_handle = true};

/// cublas, cudnn, cusparse ...: the handle is argument 0.
constexpr Facts kHandleWork{
    .action = LibraryWork, .stream_from = StreamFrom::Handle, .handle_argument = 0, .roles = {by_type(1)}};
/// Some of these wait (scalar results, cusolver's sizes): not known, so taken to.
constexpr Facts kHandleWorkWaits{.effect = kWaits,
                                 .action = LibraryWork,
                                 .stream_from = StreamFrom::Handle,
                                 .handle_argument = 0,
                                 .roles = {by_type(1)}};
constexpr Facts kTypedWork{.action = LibraryWork, .stream_from = StreamFrom::Typed, .roles = {by_type(0)}};
constexpr Facts kNcclWork{.action = Communication, .stream_from = StreamFrom::Typed, .roles = {by_type(0)}};
constexpr Facts kCubWork{
    .action = LibraryWork, .stream_from = StreamFrom::Typed, .null_argument = 0, .roles = {by_type(0)}};
constexpr Facts kThrustWork{.effect = kWaits, .action = LibraryWork, .after_policy = true, .roles = {by_type(0)}};

// ATen: the value is a new tensor unless the name ends in _ (in place) or _out.
constexpr Facts kMemberWork{
    .action = TensorWork, .stream_from = StreamFrom::Current, .roles = {reads(kObject), reads_all(0)}};
constexpr Facts kMemberInPlace{.action = TensorWork,
                               .stream_from = StreamFrom::Current,
                               .roles = {updates(kObject), reads_all(0)},
                               .may_alias = true};
constexpr Facts kFreeWork{.action = TensorWork, .stream_from = StreamFrom::Current, .roles = {reads_all(0)}};
constexpr Facts kFreeInPlace{
    .action = TensorWork, .stream_from = StreamFrom::Current, .roles = {updates(0), reads_all(1)}, .may_alias = true};

/// Creation, description and attributes of a library's objects. Destroying a handle waits for the device in some
/// libraries and in others does not: it has no rule and is a call that is not known.
bool describes(std::string_view name) {
  return contains_any(name, {"Get", "Set", "Descriptor", "bufferSize", "BufferSize", "WorkspaceSize", "Query",
                             "Version", "Estimate", "Heuristic", "Attribute"});
}

std::optional<Facts> library(std::string_view name) {
  if (contains_any(name, {"Destroy", "GetStream", "_create_handle", "_destroy_handle"})) return std::nullopt;
  if (contains_any(name, {"Create", "MakePlan"})) return kMakesHandle;
  if (describes(name)) return kNothing;
  if (name.starts_with("cublasXt")) return std::nullopt;  // waits for streams of its own
  if (name.starts_with("cublasLt")) return kTypedWork;
  if (name.starts_with("cudnnFind")) return kHandleWorkWaits;  // runs and times the candidates
  // NCCL's own sources have many functions with its prefix that are given a stream and do not enqueue what they are
  // given.
  if (name.starts_with("nccl"))
    return contains_any(
               name, {"Send", "Recv", "Reduce", "Gather", "Scatter", "Bcast", "Broadcast", "ToAll", "toAll", "Put"}) &&
                   !contains_any(name, {"Comm", "Group", "Mem", "Init"})
               ? std::optional(kNcclWork)
               : std::nullopt;
  if (name.starts_with("cusolver") || name.starts_with("hipsolver") || name.starts_with("cusparse") ||
      name.starts_with("hipsparse"))
    return kHandleWorkWaits;
  return kHandleWork;
}

/// A C function of one of the libraries.
bool is_library(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {"cublas",    "cudnn",   "cufft",   "cusparse", "cusolver",
                                            "curand",    "nccl",    "hipblas", "hipfft",   "hipsparse",
                                            "hipsolver", "hiprand", "miopen",  "rccl"};
  return name.find("::") == std::string_view::npos &&
         std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::optional<Facts> aten(const Callee& callee) {
  const bool member = callee.class_name == "at::Tensor" || callee.class_name == "at::TensorBase" ||
                      callee.class_name == "torch::Tensor";
  if (member) {
    // Assignments, constructors and destructors are the owner's, not an operation.
    if (callee.name.starts_with("operator=") || callee.name.starts_with("~") || callee.name == "Tensor" ||
        callee.name == "TensorBase")
      return std::nullopt;
    return callee.name.ends_with('_') || callee.name.starts_with("operator+=") ||
                   callee.name.starts_with("operator-=") || callee.name.starts_with("operator*=") ||
                   callee.name.starts_with("operator/=")
               ? kMemberInPlace
               : kMemberWork;
  }
  if (!callee.class_name.empty()) return std::nullopt;
  const std::string_view name = callee.qualified;
  const bool in_at = name.starts_with("at::") && name.find("::", 4) == std::string_view::npos;
  const bool in_torch = name.starts_with("torch::") &&
                        (name.find("::", 7) == std::string_view::npos ||
                         contains_any(name, {"torch::nn::functional::", "torch::linalg::", "torch::fft::"}));
  if (!in_at && !in_torch) return std::nullopt;
  // Run code that was not seen, or reach beyond tensors.
  if (contains_any(callee.name, {"parallel_for", "parallel_reduce", "launch", "save", "load"})) return std::nullopt;
  if (contains_any(callee.name, {"manual_seed", "set_num_threads", "get_num_threads", "globalContext", "hasCUDA"}))
    return kNothing;
  return callee.name.ends_with('_') || callee.name.ends_with("_out") || callee.name.ends_with("_outf") ? kFreeInPlace
                                                                                                       : kFreeWork;
}

}  // namespace

std::optional<Facts> family(const Callee& callee) {
  const std::string_view name = callee.qualified;
  if (name.empty()) return std::nullopt;
  switch (name.front()) {
    case 'a':
      return aten(callee);
    case 'c':
      if (name.starts_with("cub::Device")) return kCubWork;
      return is_library(name) ? library(name) : std::nullopt;
    case 'h':
    case 'm':
    case 'n':
    case 'r':
      return is_library(name) ? library(name) : std::nullopt;
    case 't':
      // Algorithms are functions of the namespace itself; its operators step and compare iterators.
      if (name.starts_with("thrust::") && callee.class_name.empty() && name.find("::", 8) == std::string_view::npos)
        return callee.name.starts_with("operator") ? kNothing : kThrustWork;
      return aten(callee);
    default:
      return std::nullopt;
  }
}

}  // namespace streamsan::analyzer
