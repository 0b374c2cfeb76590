// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where in Python the operation was called whose gradient a thread computes.
//
// In a backward pass of PyTorch's, the engine of autograd calls CUDA from threads of its own, which Python does not
// know (python_stack.h). What it evaluates are the nodes of a graph. Each was made by one operation of the forward
// pass, and a line of the user's has called that. So that line is remembered for each node that is made, and belongs to
// all calls that the engine makes while it evaluates the node:
//
//     void torch::autograd::impl::set_gradient_edge(const at::Tensor&, Edge)
//         the node of the edge has made this tensor. The edge comes by reference, and begins with the node's address.
//     void torch::autograd::Engine::evaluate_function(std::shared_ptr<GraphTask>&, Node*, InputBuffer&,
//                                                     const std::shared_ptr<ReadyQueue>&)
//         the node is evaluated, and what it gives is added to the gradients that the next nodes have by now.
//
// Both are exported by libtorch_cpu.so and called through the procedure linkage table, within that library, too
// (torch_function.h), in the wheels of 2.4.0, 2.9.1 and 2.15.0. A PyTorch in which they have other names or parameters
// never calls us, and nothing is said.
//
// WHICH NODE. An address alone does not do: a node that ends leaves its own to the next one, and of some no edge is set
// (those that add up the gradients of parameters, and those that views are given later). So the third and the fourth
// word of a node are a part of what it is known by. One of them is its sequence number, given by its thread in the
// order in which nodes are made: the fourth as long as nodes were kept by std::shared_ptr (behind the table of virtual
// functions and a std::weak_ptr), the third since they are kept by c10::intrusive_ptr (behind that table and a count).
// The other is part of the std::weak_ptr, or says how far the node is from the leaves of the graph; neither changes
// once the edge is set.
//
// That there is such a number is not taken for granted: a node is remembered only if one of the two words is one of the
// last that this thread has given (at::sequence_number::peek()), so of a PyTorch that keeps it elsewhere nothing is
// said. Numbers of two threads may be equal, addresses of two nodes that live are not.
//
// WHAT IS SAID OF OTHERS. A node that is made while another one is evaluated (for a second derivative) and not by a
// line of Python gets the line of that one. One that lines of Python make there (again, from a checkpoint) gets these.
// A node that was made before recording began, or by C++ alone, has none.
//
// COST. Nothing in a process without PyTorch. For each node that is made a hash of the thread's frames in Python, and
// for each that is evaluated a look-up. Nodes are forgotten when too many newer ones have come.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// While a node is evaluated: what was the case before. They are nested where a backward pass starts another one.
struct StreamsanEvaluation {
  uint32_t outer;  ///< ThreadState::forward_stack
  uint32_t epoch;  ///< of the process: after a fork `outer` means nothing
};

void streamsan_begin_evaluation(const void* node, struct StreamsanEvaluation* evaluation);
void streamsan_end_evaluation(const struct StreamsanEvaluation* evaluation);

typedef void streamsan_evaluate(void* engine, void* graph_task, void* node, void* inputs, const void* ready_queue);
/// PyTorch's own function, for this caller of it. Never null.
streamsan_evaluate* streamsan_real_evaluate(const void* caller);

#ifdef __cplusplus
}
#endif
