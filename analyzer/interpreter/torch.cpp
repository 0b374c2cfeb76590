// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code in PyTorch's headers is followed as the program's own. The functions of libtorch are in three places: operators
// of ATen, whose schemas are in the headers (torch_operators.cpp); a few functions that C++ text defines
// (torch_text.h); and the others here.
//
// TENSORS. Inline code counts the owners of a tensor and destroys it with the last one. The facts about a tensor
// (sizes, type, place) are kept by the address of its TensorImpl, which is never used twice. Accessors of
// at::TensorBase are answered from these facts and not followed: that needs no knowledge of the layout, and shows what
// the program asks.
//
// MEMORY. The memory of a tensor is a block of a caching allocator, allocated on the current stream. When the block is
// returned, it is used again in the order of that stream, and after the work that is by then in the streams of
// record_stream().
//
// MADE-UP TENSORS (callers.h) are like most tensors: two dimensions of 64, float, on the device. If the program
// requires another one, a condition fails, mostly a TORCH_CHECK. Then the property that was asked for last is changed,
// and the follower begins again (follow.cpp). The caller's current stream is a stream of its own.
#include "analyzer/interpreter/torch.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

#include "analyzer/interpreter/caller_tensors.h"
#include "analyzer/interpreter/library.h"
#include "analyzer/interpreter/module.h"
#include "analyzer/interpreter/torch_text.h"
#include "analyzer/interpreter/values.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/Expr.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"

namespace streamsan::analyzer::interpreter {
namespace {

/// The text of `static constexpr const char* schema_str` of the class of an operator.
std::optional<Schema> schema_of(const clang::FunctionDecl& function) {
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&function);
  if (method == nullptr || method->getName() != "call") return std::nullopt;
  for (const clang::Decl* member : method->getParent()->decls()) {
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(member);
    if (variable == nullptr || variable->getName() != "schema_str" || !variable->hasInit()) continue;
    const auto* text = llvm::dyn_cast<clang::StringLiteral>(variable->getInit()->IgnoreImplicit());
    return text == nullptr ? std::nullopt : parse_schema(text->getString());
  }
  return std::nullopt;
}

}  // namespace

void answer_number(Machine& machine, const llvm::Function& function, Byte* result, Word value) {
  if (result == nullptr || function.getReturnType()->isVoidTy()) return;
  const std::size_t size = machine.image().layout().getTypeStoreSize(function.getReturnType()).getFixedValue();
  std::memcpy(result, &value, std::min(size, sizeof value));
}

int size_of_type(int type) {
  static constexpr std::array kSizes = {1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4, 2};
  return type >= 0 && static_cast<std::size_t>(type) < kSizes.size() ? kSizes[static_cast<std::size_t>(type)] : 1;
}

Torch::Torch(Symbols& symbols, const HostModule& host, Cuda& cuda) : symbols_(symbols), host_(host), cuda_(cuda) {}

Torch::Known::Native Torch::native(std::string_view name) {
  using T = Torch;
  static const std::unordered_map<std::string_view, Known::Native> kNatives = {
      {"streamsan_torch_free", &T::free},
      {"streamsan_torch_made", &T::made},
      {"streamsan_torch_take", &T::raw_take},
      {"streamsan_torch_current", &T::current},
      {"streamsan_torch_make_current", &T::make_current},
      {"streamsan_torch_stream", &T::pool_stream},
      {"streamsan_torch_device", &T::device},
      {kGivenTensor, &T::give_tensor},
      {kTorchCalled, &T::called},
      {"at::TensorBase::dim", &T::dim},
      {"at::TensorBase::ndimension", &T::dim},
      {"at::TensorBase::size", &T::size},
      {"at::TensorBase::stride", &T::stride},
      {"at::TensorBase::sizes", &T::sizes},
      {"at::TensorBase::strides", &T::strides},
      {"at::TensorBase::numel", &T::numel},
      {"at::TensorBase::nbytes", &T::nbytes},
      {"at::TensorBase::scalar_type", &T::element_type},
      {"at::TensorBase::dtype", &T::element_type},
      {"at::TensorBase::is_cuda", &T::is_on_device},
      {"at::TensorBase::is_cpu", &T::is_on_device},
      {"at::TensorBase::device", &T::is_on_device},
      {"at::TensorBase::get_device", &T::is_on_device},
      {"at::TensorBase::data_ptr", &T::data},
      {"at::TensorBase::mutable_data_ptr", &T::data},
      {"at::TensorBase::const_data_ptr", &T::data},
      {"at::TensorBase::set_data", &T::set_data},
      {"at::Tensor::item", &T::without_schema},
      {"at::Tensor::index", &T::without_schema},
      {"at::Tensor::index_put_", &T::without_schema},
      {"at::TensorBase::__dispatch_contiguous", &T::without_schema},
      {"c10::cuda::CUDACachingAllocator::raw_alloc", &T::raw_take},
      {"c10::cuda::CUDACachingAllocator::raw_alloc_with_stream", &T::raw_take},
      {"c10::cuda::CUDACachingAllocator::raw_delete", &T::raw_return},
      {"c10::cuda::CUDACachingAllocator::recordStream", &T::raw_use},
      {"c10::cuda::CUDACachingAllocator::emptyCache", &T::nothing},
      {"c10::detail::torchCheckFail", &T::check_failed},
      {"c10::detail::torchCheckMsgImpl", &T::check_failed},
      {"c10::detail::_str_wrapper::call", &T::text},
      {"c10::detail::torchInternalAssertFail", &T::check_failed},
      {"torch::detail::TorchLibraryInit::TorchLibraryInit", &T::nothing},
      {"pybind11::gil_scoped_release::gil_scoped_release", &T::nothing},
      {"pybind11::gil_scoped_release::~gil_scoped_release", &T::nothing},
      {"pybind11::gil_scoped_acquire::gil_scoped_acquire", &T::nothing},
      {"pybind11::gil_scoped_acquire::~gil_scoped_acquire", &T::nothing},
  };
  const auto found = kNatives.find(name);
  return found == kNatives.end() ? nullptr : found->second;
}

const Torch::Known& Torch::known(const llvm::Function& function) {
  const auto [entry, fresh] = known_.try_emplace(&function);
  Known& result = entry->second;
  if (!fresh) return result;
  result.function = &function;
  result.declared = llvm::dyn_cast_or_null<clang::FunctionDecl>(host_.declaration(function.getName()));
  if (result.declared == nullptr) return result;
  const std::string name = result.declared->getQualifiedNameAsString();
  result.native = native(name);
  result.of_torch =
      symbols_.in_system_header(*result.declared) && (name.starts_with("at::") || name.starts_with("c10::") ||
                                                      name.starts_with("torch::") || name.starts_with("caffe2::"));
  if (result.native == nullptr && name.starts_with("at::_ops::")) {
    result.schema = schema_of(*result.declared);
    if (result.schema && result.schema->arguments.size() != result.declared->getNumParams()) result.schema.reset();
    if (result.schema) result.native = &Torch::operate;
  }
  if (result.native != nullptr) result.parameters = parameters_of(*result.declared, function, symbols_.context());
  return result;
}

bool Torch::takes(const llvm::Function& function) {
  const llvm::StringRef name = function.getName();
  if (!name.contains("2at10Tensor") && !name.contains("2at6Tensor") && !name.contains("3c104cuda") &&
      !name.contains("3c106detail") && !name.contains("16TorchLibraryInit") && !name.contains("8pybind1118gil_scoped_"))
    return false;
  return known(function).native != nullptr;
}

Outcome Torch::call(Machine& machine, const llvm::Function& function, const Arguments& arguments, Byte* result) {
  const Known& what = known(function);
  if (what.native != nullptr) {
    const Outcome outcome = (this->*what.native)(machine, what, arguments, result);
    if (outcome == Outcome::Stop) machine.stop("arguments that are nowhere");
    return Outcome::Done;
  }
  if (!what.of_torch) return Outcome::Unknown;
  // The other functions have no effect here: they count, warn, look up. Unless they use tensors.
  const auto is_tensor = [&](clang::QualType type) {
    const clang::CXXRecordDecl* record = type.getNonReferenceType()->getAsCXXRecordDecl();
    return record != nullptr && symbols_.is_tensor(type.getNonReferenceType());
  };
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(what.declared);
  const bool of_tensors = is_tensor(what.declared->getReturnType()) ||
                          (method != nullptr && !method->isStatic() &&
                           is_tensor(symbols_.context().getCanonicalTagType(method->getParent()))) ||
                          std::ranges::any_of(what.declared->parameters(), [&](const clang::ParmVarDecl* parameter) {
                            return is_tensor(parameter->getType());
                          });
  const clang::QualType back = what.declared->getReturnType();
  if (of_tensors || back->isRecordType()) {
    machine.stop("a function of PyTorch that is not known: " + what.declared->getQualifiedNameAsString());
  } else if (const clang::QualType of = back.getNonReferenceType();
             back->isReferenceType() && result != nullptr && !of->isIncompleteType()) {
    // A reference to an object of zeros, one per function.
    Word& one = referred_[&function];
    const auto size = static_cast<std::size_t>(symbols_.context().getTypeSizeInChars(of).getQuantity());
    if (one == 0) one = reinterpret_cast<Word>(machine.memory().heap(std::max<std::size_t>(size, 1), 64));
    give(result, one);
  }
  return Outcome::Done;
}

/// c10::str(), for messages: returns an empty std::string, or its argument.
Outcome Torch::text(Machine& machine, const Known& known, const Arguments& arguments, Byte* result) {
  if (!known.function->hasStructRetAttr()) {
    if (arguments.size() > 0) answer_number(machine, *known.function, result, arguments.word(0));
    return Outcome::Done;
  }
  return Library::no_text(machine, arguments);
}

// ---- streams --------------------------------------------------------------------------------------------------------

Word Torch::current_stream(Machine& machine, signed char device) {
  constexpr Word kCurrent = 1000;
  const auto [known, fresh] = current_.try_emplace({machine.thread().number, device}, 0);
  if (fresh && guesses_ != nullptr && machine.thread().number == 0)
    known->second = cuda_.given_stream(machine, kCurrent + static_cast<unsigned char>(device));
  return known->second;
}

Outcome Torch::device(Machine& machine, const Known& known, const Arguments&, Byte* result) {
  answer_number(machine, *known.function, result, cuda_.device(machine));
  return Outcome::Done;
}

Outcome Torch::current(Machine& machine, const Known& known, const Arguments& arguments, Byte* result) {
  answer_number(machine, *known.function, result,
                current_stream(machine, static_cast<signed char>(arguments.word32(0))));
  return Outcome::Done;
}

Outcome Torch::make_current(Machine& machine, const Known&, const Arguments& arguments, Byte*) {
  current_[{machine.thread().number, static_cast<signed char>(arguments.word32(0))}] = arguments.word(1);
  return Outcome::Done;
}

/// (device, priority): the pool's streams in turn.
Outcome Torch::pool_stream(Machine& machine, const Known& known, const Arguments& arguments, Byte* result) {
  constexpr std::size_t kInPool = 32;
  const std::pair<signed char, Word> pool = {static_cast<signed char>(arguments.word32(0)), arguments.word32(1)};
  std::vector<Word>& streams = pools_[pool];
  const std::size_t which = next_in_pool_[pool]++ % kInPool;
  if (which >= streams.size()) streams.push_back(cuda_.make_stream(machine, kPoolStream));
  answer_number(machine, *known.function, result, streams[which]);
  return Outcome::Done;
}

// ---- memory ---------------------------------------------------------------------------------------------------------

Outcome Torch::free(Machine& machine, const Known&, const Arguments& arguments, Byte*) {
  static_cast<void>(cuda_.device(machine));
  const Word at = arguments.word(0);
  if (const auto pageable = pageable_.find(at); pageable != pageable_.end()) {
    cuda_.host_freed(machine, at, pageable->second);
    pageable_.erase(pageable);
  } else {
    const bool lent = cuda_.is_lent(at), at_once = lent && empties_storage(machine);
    if (!lent || at_once || !ends_with_caller(machine)) cuda_.return_block(machine, "the end of a tensor", at, at_once);
  }
  return Outcome::Done;
}

/// A storage gives its memory back, although tensors may still use it.
bool Torch::empties_storage(const Machine& machine) const {
  return std::ranges::any_of(machine.thread().frames, [&](const auto& frame) {
    const auto* called =
        llvm::dyn_cast_or_null<clang::FunctionDecl>(host_.declaration(frame.at->getFunction()->getName()));
    const auto* method = llvm::dyn_cast_or_null<clang::CXXMethodDecl>(called);
    if (method == nullptr) return called != nullptr && called->getNameAsString() == "resize_bytes_cuda";
    return method->getParent()->getName() == "StorageImpl" && method->getIdentifier() != nullptr &&
           (method->getName() == "reset" || method->getName().starts_with("set_data_ptr"));
  });
}

/// The made-up caller's own variable ends, or an object that it has made: a real caller keeps its tensors.
bool Torch::ends_with_caller(const Machine& machine) const {
  const auto& frames = machine.thread().frames;
  if (machine.thread().number != 0 || frames.size() < 2) return false;
  const auto* called = host_.declaration(frames[1].at->getFunction()->getName());
  return called == nullptr || called->isImplicit() || symbols_.in_system_header(*called);
}

/// (implementation, storage, description, its DataPtr)
Outcome Torch::made(Machine& machine, const Known&, const Arguments& arguments, Byte*) {
  const Word about = arguments.word(2);
  constexpr std::size_t kSize = 64;
  if (!machine.reads(about, kSize)) return Outcome::Stop;
  Tensor tensor;
  if (const auto described = described_.find(about); described != described_.end()) {
    tensor = std::move(described->second);
    described_.erase(described);
  } else {  // of the text's own: at::from_blob()
    const Word dimensions = std::min<Word>(load_word(about + 32), 16);
    if (!machine.reads(load_word(about + 40), dimensions * 8) || !machine.reads(load_word(about + 48), dimensions * 8))
      return Outcome::Stop;
    tensor.data = load_word(about);
    tensor.bytes = load_word(about + 8);
    for (Word i = 0; i < dimensions; ++i) {
      tensor.shape.sizes.push_back(static_cast<std::int64_t>(load_word(load_word(about + 40) + i * 8)));
      tensor.shape.strides.push_back(static_cast<std::int64_t>(load_word(load_word(about + 48) + i * 8)));
    }
    const Word kind = load_word(about + 56);
    tensor.type = static_cast<int>(kind & 0xffffffff);
    tensor.on_device = ((kind >> 32U) & 0xff) == 1;
    tensor.device = static_cast<signed char>((kind >> 40U) & 0xff);
    describe(machine, tensor);
  }
  tensor.storage = arguments.word(1);
  tensor.data_at = arguments.word(3);
  tensors_[arguments.word(0)] = std::move(tensor);
  return Outcome::Done;
}

Word Torch::describe(Machine& machine, Tensor& tensor) {
  const std::size_t count = tensor.shape.sizes.size();
  const Word lists = reinterpret_cast<Word>(machine.memory().heap(std::max<std::size_t>(count, 1) * 2 * sizeof(Word)));
  const Word about = reinterpret_cast<Word>(machine.memory().heap(64));
  if (lists == 0 || about == 0) {
    machine.stop("no memory");
    return 0;
  }
  for (std::size_t i = 0; i < count; ++i) {
    store_word(lists + i * sizeof(Word), static_cast<Word>(tensor.shape.sizes[i]));
    store_word(lists + (count + i) * sizeof(Word), static_cast<Word>(tensor.shape.strides[i]));
  }
  tensor.lists = lists;
  const Word words[] = {tensor.data,
                        tensor.bytes,
                        tensor.storage,
                        static_cast<Word>(tensor.shape.offset),
                        count,
                        lists,
                        lists + count * sizeof(Word),
                        static_cast<Word>(static_cast<std::uint32_t>(tensor.type)) |
                            static_cast<Word>(tensor.on_device ? 1 : 0) << 32U |
                            static_cast<Word>(static_cast<unsigned char>(tensor.device)) << 40U};
  for (std::size_t i = 0; i < std::size(words); ++i) store_word(about + i * sizeof(Word), words[i]);
  described_[about] = tensor;
  return about;
}

Outcome Torch::give_tensor(Machine& machine, const Known& known, const Arguments& arguments, Byte*) {
  constexpr std::int64_t kEach = 64, kLarge = 4096, kChannels = 3;
  constexpr Word kAsTensor = ~Word{0};
  static_cast<void>(cuda_.device(machine));
  Tensor tensor;
  bool on_host = false;
  if (guesses_ != nullptr) {
    tensor.guess = TensorSizes::number(arguments.word(1));
    const TensorGuess& guess = (*guesses_)[*tensor.guess];
    tensor.type = guess.type;
    Sizes sizes(guess.dimensions, guess.large ? kLarge : kEach);
    if (guess.large && guess.dimensions > 2) sizes.front() = kChannels;  // of an image
    const auto [first, second, last] = TensorSizes::unpacked(arguments.word(1));
    const auto want = [&](std::size_t dimension, std::uint64_t size) {
      if (size != 0 && dimension < sizes.size()) sizes[dimension] = static_cast<std::int64_t>(size);
    };
    want(sizes.size() - 1, last);
    want(0, first);
    want(1, second);
    tensor.shape = contiguous(sizes);
    on_host = guess.on_host;
  }
  tensor.bytes = static_cast<Word>(tensor.shape.count() * size_of_type(tensor.type));
  tensor.data = cuda_.given_memory(machine, std::max<Word>(tensor.bytes, 1), on_host, kAsTensor);
  tensor.on_device = Memory::is_device(tensor.data);
  tensor.device = tensor.on_device ? 0 : -1;
  if (tensor.on_device) cuda_.lend(machine, current_stream(machine, 0), tensor.data);
  const Word given[] = {arguments.word(0), describe(machine, tensor)};
  const llvm::Function* put = machine.module().getFunction(kTorchPut);
  if (known.declared == nullptr || put == nullptr || tensor.data == 0 ||
      !machine.call_next(machine.image().address_of(*put), given))
    return Outcome::Stop;
  return Outcome::Done;
}

Outcome Torch::called(Machine& machine, const Known&, const Arguments&, Byte*) {
  // If a condition fails in the next call, it is not about a question of this one.
  asked_ = Asked::Nothing;
  asked_of_ = 0;
  static_cast<void>(cuda_.device(machine));
  cuda_.hand_out_again(machine);
  return Outcome::Done;
}

/// (bytes), (bytes, stream)
Outcome Torch::raw_take(Machine& machine, const Known& known, const Arguments& arguments, Byte* result) {
  const auto device = static_cast<signed char>(cuda_.device(machine));
  const Word stream = arguments.size() > 1 ? arguments.word(1) : current_stream(machine, device);
  answer_number(machine, *known.function, result, cuda_.take_block(machine, "raw_alloc", stream, arguments.word(0)));
  return Outcome::Done;
}

Outcome Torch::raw_return(Machine& machine, const Known&, const Arguments& arguments, Byte*) {
  static_cast<void>(cuda_.device(machine));
  cuda_.return_block(machine, "raw_delete", arguments.word(0), false);
  return Outcome::Done;
}

/// (const c10::DataPtr&, CUDAStream): a DataPtr begins with the address.
Outcome Torch::raw_use(Machine& machine, const Known& known, const Arguments& arguments, Byte*) {
  const std::vector<Byte> stream =
      known.parameters.size() == 2 ? bytes_of(machine, arguments, known.parameters[1]) : std::vector<Byte>();
  if (stream.size() != 16 || !machine.reads(arguments.word(0), 8)) return Outcome::Stop;
  Word handle = 0;
  std::memcpy(&handle, stream.data() + 8, sizeof handle);
  cuda_.use_block(handle, load_word(arguments.word(0)));
  return Outcome::Done;
}

}  // namespace streamsan::analyzer::interpreter
