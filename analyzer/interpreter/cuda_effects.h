// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one call of CUDA does to the model of order and to the program's memory. See cuda_effects.cpp.
#pragma once

#include "analyzer/interpreter/cuda.h"

namespace streamsan::analyzer::interpreter {

class Cuda::Effects {
 public:
  Effects(Cuda& cuda, Machine& machine, const Model& known, const Arguments& arguments);
  Outcome run();

 private:
  /// The argument at a position of the effect; 0: the call has no such argument.
  [[nodiscard]] Word argument(int position) const;
  [[nodiscard]] Word number(int position) const;  ///< as argument(), for 32 bits
  /// Gives the program a new handle, or that of a stream that has ended.
  Word handle_out(const Ended* ended = nullptr) const;

  Outcome create_stream();
  Outcome destroy_stream();
  Outcome create_event();
  Outcome destroy_event();
  Outcome record();
  Outcome wait();
  Outcome synchronise();  ///< the host waits, or queries
  Outcome copy();
  Outcome copy_rows();
  Outcome fill();
  Outcome allocate();
  Outcome allocate_rows();
  Outcome allocate_on_host();
  Outcome allocate_in_order();  ///< a stream-ordered allocation
  Outcome free();
  Outcome free_in_order();
  Outcome change_addresses();  ///< what is mapped or registered there
  Outcome host_function();
  Outcome act();  ///< work of a stream other than copies, fills and kernels
  Outcome join_all();
  Outcome begin_capture();
  Outcome end_capture();
  Outcome instantiate();
  Outcome launch_graph();
  Outcome may_wait();

  Cuda& cuda_;
  Machine& machine_;
  const Model& known_;
  const api::Effect& effect_;
  const Arguments& arguments_;
  ordering::Call call_;
  ordering::ContextId context_;
  Word handle_;  ///< handle of its stream
  ordering::Form form_;
};

}  // namespace streamsan::analyzer::interpreter
