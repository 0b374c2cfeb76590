// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As much of PyTorch's autograd as the recorder meets: the two functions in whose place it stands, the numbers of
// nodes, and an engine that evaluates a node in a thread of its own. Python calls what is extern "C" at the end.
//
// -DINTRUSIVE: nodes as they are since they count their own references; -DELSEWHERE: the number is where it never was.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace at {
class Tensor {};

namespace sequence_number {
thread_local std::uint64_t t_next = 0;
std::uint64_t peek() { return t_next; }
std::uint64_t get_and_increment() { return t_next++; }
}  // namespace sequence_number
}  // namespace at

namespace torch::autograd {

#if defined(INTRUSIVE)
struct Counted {
  virtual ~Counted() = default;
  std::uint64_t references = 1;
};
#elif defined(ELSEWHERE)
struct Counted {
  virtual ~Counted() = default;
  void* other[6] = {this, this, this, this, this, this};
};
#else
struct Counted : std::enable_shared_from_this<Counted> {
  virtual ~Counted() = default;
};
#endif

struct Node : Counted {
  std::uint64_t sequence_nr = at::sequence_number::get_and_increment();
  std::uint64_t topological_nr = 0;
  virtual void apply(struct InputBuffer& inputs) = 0;
};
#if defined(INTRUSIVE)
static_assert(sizeof(Counted) == 2 * sizeof(void*));
#elif !defined(ELSEWHERE)
static_assert(sizeof(Counted) == 3 * sizeof(void*));
#endif

struct Edge {
  std::shared_ptr<Node> function;
  std::uint32_t input_nr;
};

struct GraphTask {};
struct ReadyQueue {};

struct InputBuffer {
  std::uint64_t destination, source;
  void* stream;
  bool fails = false;
  std::shared_ptr<Node> made{};
};

namespace impl {
void set_gradient_edge(const at::Tensor&, Edge) {}
}  // namespace impl

static int g_evaluated = 0;

class Engine {
 public:
  void evaluate_function(std::shared_ptr<GraphTask>&, Node* node, InputBuffer& inputs,
                         const std::shared_ptr<ReadyQueue>&) {
    ++g_evaluated;
    node->apply(inputs);
  }
};

struct Copy : Node {
  void apply(InputBuffer& inputs) override {
    if (inputs.fails) throw 1;
    using Function = int(std::uint64_t, std::uint64_t, std::size_t, void*);
    static auto* copy = reinterpret_cast<Function*>(dlsym(dlopen("libcuda.so.1", RTLD_LAZY), "cuMemcpyDtoDAsync_v2"));
    copy(inputs.destination, inputs.source, 4096, inputs.stream);
  }
};

std::shared_ptr<Node> make_node() {
  auto node = std::make_shared<Copy>();
  impl::set_gradient_edge({}, {node, 0});
  return node;
}

/// Makes a node of its own while it is evaluated.
struct Derived : Node {
  void apply(InputBuffer& inputs) override { inputs.made = make_node(); }
};

void evaluate(Node& node, InputBuffer& inputs) {
  std::shared_ptr<GraphTask> task;
  Engine().evaluate_function(task, &node, inputs, {});
}

}  // namespace torch::autograd

using namespace torch::autograd;
using Handle = std::shared_ptr<Node>;

extern "C" {
Handle* forward() { return new Handle(make_node()); }

void backward(Handle* node, std::uint64_t destination, std::uint64_t source, void* stream) {
  std::thread([=] {
    InputBuffer inputs{destination, source, stream};
    evaluate(**node, inputs);
  }).join();
}

void backward_here(Handle* node, std::uint64_t destination, std::uint64_t source, void* stream) {
  InputBuffer inputs{destination, source, stream};
  evaluate(**node, inputs);
}

void fail(Handle* node) {
  InputBuffer inputs{.fails = true};
  try {
    evaluate(**node, inputs);
  } catch (int) {
  }
}

/// How many nodes this copy of the engine has evaluated.
int evaluated() { return g_evaluated; }

/// So many nodes live at once.
void crowd(std::size_t count) {
  std::vector<Handle> nodes(count);
  for (Handle& node : nodes) node = make_node();
}

/// The node that a node makes which is made here.
Handle* derive() {
  Handle derived = std::make_shared<Derived>();
  impl::set_gradient_edge({}, {derived, 0});
  InputBuffer inputs{};
  std::thread([&] { evaluate(*derived, inputs); }).join();
  return new Handle(inputs.made);
}

/// In its place there is another one then, of which no edge is set.
void replace(Handle* node) {
  auto* at = static_cast<Copy*>(node->get());
  at->~Copy();
  new (at) Copy;
}
}
