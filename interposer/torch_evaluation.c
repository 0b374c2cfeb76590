// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The evaluation of a node of autograd's, see torch_forward.h.
//
// It may throw: a hook in Python fails, memory runs out. The engine catches that, in a thread that goes on. So what
// begins here has to end here, too. In C++ that would take the part of the C++ library that handles exceptions into the
// recorder; in C it takes a function of libgcc's that knows nothing but what has to be done at the end of a scope.
#include "interposer/torch_forward.h"

// clang-format off
__attribute__((visibility("default"))) void
_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEEPNS0_4NodeERNS0_11InputBufferERKS2_INS0_10ReadyQueueEE(
    // clang-format on
    void* engine, void* graph_task, void* node, void* inputs, const void* ready_queue) {
  streamsan_evaluate* evaluate = streamsan_real_evaluate(__builtin_return_address(0));
  __attribute__((cleanup(streamsan_end_evaluation))) struct StreamsanEvaluation evaluation;
  streamsan_begin_evaluation(node, &evaluation);
  evaluate(engine, graph_task, node, inputs, ready_queue);
}
