// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Methods of a tensor that return its sizes, type, place or memory, answered by the facts in torch.h. If the tensor is
// made up, the question is kept: if a condition fails next, that answer was wrong.
#include <algorithm>
#include <cstring>
#include <utility>

#include "analyzer/interpreter/torch.h"
#include "analyzer/interpreter/torch_call.h"
#include "analyzer/interpreter/values.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "llvm/IR/Function.h"

namespace streamsan::analyzer::interpreter {
namespace {

/// Numbers of c10::ScalarType.
enum ElementType : int { kByte, kChar, kShort, kInt, kLong, kHalf, kFloat, kDouble, kBool = 11, kBFloat16 = 15 };

/// -1: another type.
int element_type_of(clang::QualType type) {
  type = type.getCanonicalType().getUnqualifiedType();
  if (const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl()) {
    if (record->getName() == "Half") return kHalf;
    return record->getName() == "BFloat16" ? kBFloat16 : -1;
  }
  const auto* builtin = type->getAs<clang::BuiltinType>();
  if (builtin == nullptr) return -1;
  switch (builtin->getKind()) {
    case clang::BuiltinType::Bool:
      return kBool;
    case clang::BuiltinType::UChar:
      return kByte;
    case clang::BuiltinType::SChar:
    case clang::BuiltinType::Char_S:
      return kChar;
    case clang::BuiltinType::Short:
      return kShort;
    case clang::BuiltinType::Int:
      return kInt;
    case clang::BuiltinType::Long:
    case clang::BuiltinType::LongLong:
      return kLong;
    case clang::BuiltinType::Float:
      return kFloat;
    case clang::BuiltinType::Double:
      return kDouble;
    default:
      return -1;
  }
}

}  // namespace

Torch::Tensor* Torch::tensor(Machine& machine, Word object) {
  if (!machine.memory().contains(object, sizeof(Word))) return nullptr;
  const auto found = tensors_.find(load_word(object));
  if (found == tensors_.end()) return nullptr;
  // A DataPtr begins with the address. Meanwhile the storage may have another block, or none.
  Tensor& result = found->second;
  if (machine.memory().contains(result.data_at, sizeof(Word))) result.data = load_word(result.data_at);
  return &result;
}

Torch::Tensor* Torch::self(Machine& machine, const Known& known, const Arguments& arguments, Asked asked) {
  const Word object = arguments.word(known.function->hasStructRetAttr() ? 1 : 0);
  Tensor* const result = tensor(machine, object);
  if (result == nullptr) {
    machine.stop("a tensor that is not known");
  } else if (asked != Asked::Nothing && result->guess) {
    asked_ = asked;
    asked_of_ = load_word(object);
  }
  return result;
}

Word Torch::begin(const Tensor& tensor) {
  return tensor.data + static_cast<Word>(tensor.shape.offset * size_of_type(tensor.type));
}

Outcome Torch::dim(Machine& machine, const Known& known, const Arguments& arguments, Byte* result) {
  const Tensor* of = self(machine, known, arguments, Asked::Dimensions);
  if (of != nullptr) answer_number(machine, *known.function, result, of->shape.sizes.size());
  return Outcome::Done;
}

Outcome Torch::size(Machine& machine, const Known& known, const Arguments& arguments, Byte* result) {
  Tensor* of = self(machine, known, arguments, Asked::Dimensions);
  if (of == nullptr) return Outcome::Done;
  const auto count = static_cast<std::int64_t>(of->shape.sizes.size());
  auto which = static_cast<std::int64_t>(arguments.word(1));
  if (which < 0) which += count;
  if (which < 0 || which >= count) return check_failed(machine, known, arguments, result);
  if (guesses_ != nullptr && of->guess) (*guesses_)[*of->guess].measured = true;
  answer_number(machine, *known.function, result, static_cast<Word>(of->shape.sizes[static_cast<std::size_t>(which)]));
  return Outcome::Done;
}

Outcome Torch::stride(Machine& machine, const Known& known, const Arguments& arguments, Byte* result) {
  Tensor* of = self(machine, known, arguments, Asked::Dimensions);
  if (of == nullptr) return Outcome::Done;
  const auto count = static_cast<std::int64_t>(of->shape.strides.size());
  auto which = static_cast<std::int64_t>(arguments.word(1));
  if (which < 0) which += count;
  if (which < 0 || which >= count) return check_failed(machine, known, arguments, result);
  answer_number(machine, *known.function, result,
                static_cast<Word>(of->shape.strides[static_cast<std::size_t>(which)]));
  return Outcome::Done;
}

namespace {

/// c10::IntArrayRef: an address and a length.
void answer_list(Byte* result, Word at, Word count) {
  if (result == nullptr) return;
  std::memcpy(result, &at, sizeof at);
  std::memcpy(result + sizeof at, &count, sizeof count);
}

}  // namespace

Outcome Torch::sizes(Machine& machine, const Known& known, const Arguments& arguments, Byte* result) {
  const Tensor* of = self(machine, known, arguments, Asked::Dimensions);
  if (of != nullptr) answer_list(result, of->lists, of->shape.sizes.size());
  return Outcome::Done;
}

Outcome Torch::strides(Machine& machine, const Known& known, const Arguments& arguments, Byte* result) {
  const Tensor* of = self(machine, known, arguments, Asked::Dimensions);
  if (of != nullptr) answer_list(result, of->lists + of->shape.sizes.size() * sizeof(Word), of->shape.sizes.size());
  return Outcome::Done;
}

Outcome Torch::numel(Machine& machine, const Known& known, const Arguments& arguments, Byte* result) {
  const Tensor* of = self(machine, known, arguments, Asked::Dimensions);
  if (of != nullptr) answer_number(machine, *known.function, result, static_cast<Word>(of->shape.count()));
  return Outcome::Done;
}

Outcome Torch::nbytes(Machine& machine, const Known& known, const Arguments& arguments, Byte* result) {
  const Tensor* of = self(machine, known, arguments, Asked::Dimensions);
  if (of != nullptr)
    answer_number(machine, *known.function, result, static_cast<Word>(of->shape.count() * size_of_type(of->type)));
  return Outcome::Done;
}

Outcome Torch::element_type(Machine& machine, const Known& known, const Arguments& arguments, Byte* result) {
  const Tensor* of = self(machine, known, arguments, Asked::Type);
  if (of != nullptr) answer_number(machine, *known.function, result, static_cast<Word>(of->type));
  return Outcome::Done;
}

/// is_cuda(), is_cpu(), get_device(), device().
Outcome Torch::is_on_device(Machine& machine, const Known& known, const Arguments& arguments, Byte* result) {
  const Tensor* of = self(machine, known, arguments, Asked::Where);
  if (of == nullptr) return Outcome::Done;
  const llvm::StringRef name = known.declared->getName();
  const auto index = static_cast<std::int64_t>(of->on_device ? of->device : -1);
  Word value = of->on_device ? 1 : 0;
  if (name == "is_cpu") value = 1 - value;
  if (name == "get_device") value = static_cast<Word>(index);
  if (name == "device") value |= static_cast<Word>(static_cast<unsigned char>(index)) << 8U;
  answer_number(machine, *known.function, result, value);
  return Outcome::Done;
}

Outcome Torch::data(Machine& machine, const Known& known, const Arguments& arguments, Byte* result) {
  Tensor* of = self(machine, known, arguments, Asked::Type);
  if (of == nullptr) return Outcome::Done;
  if (const auto* list = known.declared->getTemplateSpecializationArgs();
      list != nullptr && list->size() > 0 && list->get(0).getKind() == clang::TemplateArgument::Type && of->guess) {
    const int type = element_type_of(list->get(0).getAsType());
    if (type >= 0 && type != of->type && guesses_ != nullptr) {
      TensorGuess& guess = (*guesses_)[*of->guess];
      if (guess.tried_types.insert(type).second) {
        guess.type = type;
        better_ = true;
        machine.stop("elements of another type");
        return Outcome::Stop;
      }
    }
  }
  answer_number(machine, *known.function, result, begin(*of));
  return Outcome::Done;
}

/// (const TensorBase& new_data)
Outcome Torch::set_data(Machine& machine, const Known& known, const Arguments& arguments, Byte*) {
  const Tensor* by = tensor(machine, arguments.word(1));
  if (self(machine, known, arguments) == nullptr) return Outcome::Done;
  if (by != nullptr) return become(machine, arguments.word(0), *by);
  machine.stop("a tensor that is not known");
  return Outcome::Done;
}

Outcome Torch::check_failed(Machine& machine, const Known&, const Arguments&, Byte*) {
  const auto of = tensors_.find(asked_of_);
  const bool known = guesses_ != nullptr && of != tensors_.end();
  if (known && asked_ == Asked::Where && of->second.where()) {
    place_elsewhere((*guesses_)[*of->second.where()]);
  } else if (known && of->second.guess) {
    TensorGuess& guess = (*guesses_)[*of->second.guess];
    if (asked_ == Asked::Dimensions) {
      guess.tried_dimensions.insert(guess.dimensions);
      for (const std::size_t next : {2U, 3U, 1U, 4U, 5U, 0U}) {
        if (!guess.tried_dimensions.insert(next).second) continue;
        guess.dimensions = next;
        better_ = true;
        break;
      }
    } else if (asked_ == Asked::Type) {
      guess.tried_types.insert(guess.type);
      for (const int next : {kFloat, kInt, kLong, kHalf, kByte, kBool, kBFloat16, kChar, kDouble}) {
        if (!guess.tried_types.insert(next).second) continue;
        guess.type = next;
        better_ = true;
        break;
      }
    }
  }
  if (better_) {
    machine.give_up("a condition that does not hold");
    return Outcome::Stop;
  }
  constexpr std::size_t kSize = 256;
  machine.throw_now(reinterpret_cast<Word>(machine.memory().heap(kSize)),
                    machine.image().outside_type("_ZTIN3c105ErrorE"));
  return Outcome::Done;
}

/// An operator refuses an empty list of tensors: the made-up tensor was smaller than one part.
Outcome Torch::none_listed(Machine& machine, const Call& call) {
  asked_ = Asked::Nothing;
  asked_of_ = 0;
  if (guesses_ != nullptr)
    for (auto& [number, guess] : *guesses_)
      if (guess.measured && !std::exchange(guess.large, true)) better_ = true;
  return check_failed(machine, call.known, call.arguments, call.result);
}

void Torch::blame(Word address) {
  for (const auto& [implementation, tensor] : tensors_) {
    if (tensor.guess == std::nullopt || address - tensor.data >= tensor.bytes || guesses_ == nullptr) continue;
    TensorGuess& guess = (*guesses_)[*tensor.guess];
    if (!guess.on_host) place_elsewhere(guess);
    return;
  }
}

void Torch::place_elsewhere(TensorGuess& guess) {
  if (guess.was_elsewhere && !guess.supposed) return;
  guess.on_host = !guess.on_host;
  guess.was_elsewhere = true;
  guess.supposed = false;
  better_ = true;
}

bool Torch::suppose_on_host(Machine& machine, const Tensor& tensor) {
  if (guesses_ == nullptr || !tensor.where()) return false;
  TensorGuess& guess = (*guesses_)[*tensor.where()];
  if (guess.was_elsewhere) return false;
  place_elsewhere(guess);
  guess.supposed = true;
  machine.stop("a tensor that is the host's, most likely");
  return true;
}

Outcome Torch::nothing(Machine&, const Known&, const Arguments&, Byte*) { return Outcome::Done; }

ordering::Footprint Torch::footprint(const Tensor& tensor) {
  const Word item = static_cast<Word>(size_of_type(tensor.type));
  const Shape& shape = tensor.shape;
  if (shape.count() == 0) return linear(begin(tensor), 0);
  // The number of consecutive elements; then rows of these.
  std::int64_t run = 1;
  std::size_t i = shape.sizes.size();
  for (; i > 0 && (shape.sizes[i - 1] == 1 || shape.strides[i - 1] == run); --i) run *= shape.sizes[i - 1];
  std::int64_t rows = 1, pitch = 0;
  for (; i > 0; --i) {
    if (shape.sizes[i - 1] == 1) continue;
    if (rows == 1) {
      rows = shape.sizes[i - 1];
      pitch = shape.strides[i - 1];
    } else if (shape.strides[i - 1] == rows * pitch) {
      rows *= shape.sizes[i - 1];
    } else {
      break;
    }
  }
  if (rows == 1 || pitch < run) return linear(begin(tensor), static_cast<Word>(run) * item);
  return {.base = begin(tensor),
          .width = static_cast<Word>(run) * item,
          .pitch = static_cast<Word>(pitch) * item,
          .rows = static_cast<Word>(rows),
          .slices = 1,
          .slice_pitch = 0};
}

}  // namespace streamsan::analyzer::interpreter
