// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of PyTorch that have no body in its headers. See torch.cpp.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/interpreter/cuda.h"
#include "analyzer/interpreter/parameters.h"
#include "analyzer/interpreter/torch_schema.h"
#include "analyzer/interpreter/torch_shapes.h"

namespace streamsan::analyzer::interpreter {

/// A guess about a tensor that a made-up caller passes, by the number of the parameter or field. It improves with each
/// try.
struct TensorGuess {
  std::size_t dimensions = 2;
  int type = 6;  ///< float
  bool on_host = false;
  bool was_elsewhere = false;  ///< both host and device have been tried
  bool supposed = false;       ///< it was put on the host although the program did not require that
  bool measured = false;       ///< the program has asked how large it is
  bool large = false;          ///< it is large enough for several parts
  std::set<std::size_t> tried_dimensions;
  std::set<int> tried_types;
};
using TensorGuesses = std::map<Word, TensorGuess>;

/// Stores a result that is one number, in a slot of its own size.
void answer_number(Machine& machine, const llvm::Function& function, Byte* result, Word value);

class Torch {
 public:
  static constexpr const char* kPoolStream = "getStreamFromPool";  ///< the name of the operation

  Torch(Symbols& symbols, const HostModule& host, Cuda& cuda);

  Outcome call(Machine& machine, const llvm::Function& function, const Arguments& arguments, Byte* result);
  bool takes(const llvm::Function& function);

  /// Without guesses no tensors are made up. `guesses` must outlive this.
  void make_up(TensorGuesses& guesses) { guesses_ = &guesses; }
  /// The machine stopped at this address. If a made-up tensor is there, the next try has it in host memory.
  void blame(Word address);
  /// A condition failed on a made-up tensor, and its guess was changed.
  [[nodiscard]] bool guesses_better() const { return better_; }

 private:
  struct Tensor {
    Word storage = 0;  ///< c10::StorageImpl
    Word data = 0;     ///< its first byte; refreshed by tensor()
    Word data_at = 0;  ///< the place where the storage keeps that address
    Word bytes = 0;    ///< size of the storage
    Shape shape;
    int type = 0;  ///< c10::ScalarType
    bool on_device = false;
    signed char device = -1;
    Word lists = 0;                 ///< its sizes, and behind these its strides, in the program's memory
    std::optional<Word> guess;      ///< the number of its guess
    std::optional<Word> placed_as;  ///< the guess of the tensor that it was made from, whose place it has

    /// The guess that decides whether it is on the host.
    [[nodiscard]] std::optional<Word> where() const { return guess ? guess : placed_as; }
  };
  /// What is known about a function.
  struct Known {
    using Native = Outcome (Torch::*)(Machine&, const Known&, const Arguments&, Byte*);
    const llvm::Function* function = nullptr;
    const clang::FunctionDecl* declared = nullptr;
    Native native = nullptr;
    std::optional<Schema> schema;
    std::vector<Parameter> parameters;
    bool of_torch = false;
  };
  /// A call of an operator, with its arguments (torch_call.h).
  struct Call;
  enum class Asked : std::uint8_t { Nothing, Dimensions, Type, Where };

  const Known& known(const llvm::Function& function);
  static Known::Native native(std::string_view name);

  // Functions of the text (torch_text.h).
  Outcome free(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  Outcome made(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  Outcome current(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  Outcome make_current(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  Outcome pool_stream(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  Outcome device(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  Outcome called(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  Outcome give_tensor(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  // Methods of at::TensorBase.
  Outcome dim(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  Outcome size(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  Outcome stride(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  Outcome sizes(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  Outcome strides(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  Outcome numel(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  Outcome nbytes(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  Outcome element_type(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  Outcome is_on_device(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  Outcome data(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  Outcome set_data(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  Outcome without_schema(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  // Functions of other parts.
  Outcome raw_take(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  Outcome raw_return(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  Outcome raw_use(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  Outcome check_failed(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  Outcome none_listed(Machine& machine, const Call& call);
  Outcome text(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  Outcome nothing(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);

  // Operators (torch_operators.cpp).
  Outcome operate(Machine& machine, const Known& known, const Arguments& arguments, Byte* result);
  /// Reads the argument at a position. False: the program cannot go on.
  bool take_argument(Machine& machine, Call& call, std::size_t i);
  std::optional<Outcome> known_operator(Machine& machine, Call& call);
  /// For operators whose results are parts of one argument, or all of it.
  std::optional<Outcome> parts_of_one(Machine& machine, Call& call, const Given& given);
  /// Makes the tensors that the operator returns.
  std::vector<Tensor> results_of(Machine& machine, Call& call, const Given& given);
  Outcome copy_over(Machine& machine, Call& call);
  Outcome convert(Machine& machine, Call& call);
  Outcome replace(Machine& machine, Call& call);
  Outcome become(Machine& machine, Word object, Tensor by);
  void work(Machine& machine, Call& call, const std::vector<Tensor>& fresh);
  Outcome answer(Machine& machine, Call& call);
  Outcome answer_tensors(Machine& machine, Call& call, const std::vector<Tensor>& tensors);
  Tensor make(Machine& machine, const std::string& name, Shape shape, int type, bool on_device, signed char device,
              bool pinned = false);
  void move(Machine& machine, const std::string& name, const Tensor& to, const Tensor& from, bool waits);
  Word describe(Machine& machine, Tensor& tensor);

  /// The tensor of an at::Tensor object; nullptr: it has none, or an unknown one.
  Tensor* tensor(Machine& machine, Word object);
  /// The tensor whose method is called. `asked`: what the method asks for.
  Tensor* self(Machine& machine, const Known& known, const Arguments& arguments, Asked asked = Asked::Nothing);
  [[nodiscard]] bool ends_with_caller(const Machine& machine) const;
  [[nodiscard]] bool empties_storage(const Machine& machine) const;
  Word current_stream(Machine& machine, signed char device);
  /// The bytes that certainly belong to the tensor.
  [[nodiscard]] static ordering::Footprint footprint(const Tensor& tensor);
  [[nodiscard]] static Word begin(const Tensor& tensor);
  /// The next try has the tensor on the other side, host or device. Done once per guess.
  void place_elsewhere(TensorGuess& guess);
  /// The next try has the tensor on the host, unless a condition refuses that. True: the machine has stopped.
  bool suppose_on_host(Machine& machine, const Tensor& tensor);

  Symbols& symbols_;
  const HostModule& host_;
  Cuda& cuda_;
  std::map<const llvm::Function*, Known> known_;
  std::map<const llvm::Function*, Word> referred_;                   ///< what unknown functions refer to
  std::map<Word, Tensor> tensors_;                                   ///< by address of the c10::TensorImpl
  std::map<Word, Tensor> described_;                                 ///< described, and not yet made by the text
  std::map<Word, Word> pageable_;                                    ///< sizes of pageable memory, by address
  std::map<std::pair<std::size_t, signed char>, Word> current_;      ///< stream of (thread, device)
  std::map<std::pair<signed char, Word>, std::vector<Word>> pools_;  ///< streams of (device, priority)
  std::map<std::pair<signed char, Word>, std::size_t> next_in_pool_;
  TensorGuesses* guesses_ = nullptr;
  bool better_ = false;
  Asked asked_ = Asked::Nothing;
  Word asked_of_ = 0;  ///< the c10::TensorImpl of the last question
};

int size_of_type(int type);

}  // namespace streamsan::analyzer::interpreter
