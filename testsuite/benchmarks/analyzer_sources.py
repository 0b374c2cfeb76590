# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes CUDA sources that are hard on streamsan-tidy, each in one way and as big as asked for.

    analyzer_sources.py SHAPE SIZE > file.cu
    analyzer_sources.py --all DIR         every shape in its usual size; prints the files

A shape is a function SIZE -> text. The sources include <cuda_runtime.h> alone, so they are parsed with the toolkit and
with the mock headers of testsuite/analyzer/inputs. Their streams are ordered where nothing else is said: what is
measured is the time of looking, not of telling.
"""

import argparse
import pathlib

HEAD = """#include <cuda_runtime.h>
#include <stdlib.h>

__global__ void scale(float* p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] *= 2.0f;
}

"""
MAIN = """
int main() {
  float *h = 0, *d = 0;
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaMallocHost((void**)&h, 4096);
  cudaMalloc((void**)&d, 4096);
  %s
  cudaStreamSynchronize(s);
  cudaFree(d);
  cudaFreeHost(h);
  cudaStreamDestroy(s);
  return 0;
}
"""
PARAMETERS = "float* h, float* d, int n, cudaStream_t s"
ARGUMENTS = "h, d, n, s"
WORK = """  cudaMemcpyAsync(d, h, 4 * n, cudaMemcpyHostToDevice, s);
  scale<<<n / 256, 256, 0, s>>>(d, n);
"""


def functions(size, callees):
    """`size` functions that copy and launch; `callees(i)`: numbers of those that function i calls."""
    text = [HEAD] + [f"void f{i}({PARAMETERS});\n" for i in range(size)]
    for i in range(size):
        calls = "".join(f"  if (n > {i}) f{j}({ARGUMENTS});\n" for j in callees(i) if j < size)
        text.append(f"void f{i}({PARAMETERS}) {{\n{WORK}{calls}}}\n")
    return "".join(text) + MAIN % "f0(h, d, 1024, s);"


def chain(size):
    """Each function calls the next."""
    return functions(size, lambda i: [i + 1])


def tree(size):
    """Each function calls four of its own."""
    return functions(size, lambda i: range(4 * i + 1, 4 * i + 5))


def mesh(size):
    """Each function calls the next three: the number of paths doubles with every call."""
    return functions(size, lambda i: range(i + 1, i + 4))


def recursion(size):
    """Each function calls three others, in circles."""
    return functions(size, lambda i: [(i * k + 1) % size for k in (3, 5, 7)])


def helpers(size):
    """main calls all of them, one after the other."""
    text = [HEAD] + [f"static void f{i}({PARAMETERS}) {{\n{WORK}}}\n" for i in range(size)]
    return "".join(text) + MAIN % "\n  ".join(f"f{i}(h, d, 1024, s);" for i in range(size))


def plain_helpers(size):
    """Helpers without CUDA that call each other, and a main that uses streams and calls some."""
    text = [HEAD] + [f"int g{i}(int* v, int n);\n" for i in range(size)]
    for i in range(size):
        calls = "".join(f"  if (n > {j}) v[{j}] += g{j}(v, n - 1);\n" for j in range(i + 1, min(i + 4, size)))
        text.append(f"int g{i}(int* v, int n) {{\n  v[{i}] = n;\n{calls}  return v[{i}];\n}}\n")
    return "".join(text) + MAIN % "int v[10000];\n  for (int i = 0; i < 10; ++i) v[i] = g0(v, i);"


def methods(size):
    """A class with many fields and methods that call each other."""
    text = [HEAD, "class Pipeline {\n public:\n  Pipeline();\n  ~Pipeline();\n"]
    text += [f"  void step{i}(int n);\n" for i in range(size)]
    text += [" private:\n  cudaStream_t streams_[4];\n  cudaEvent_t ready_;\n"]
    text += [f"  float* h{i}_ = nullptr;\n  float* d{i}_ = nullptr;\n" for i in range(size)]
    text += ["};\nPipeline::Pipeline() {\n  for (int i = 0; i < 4; ++i) cudaStreamCreate(&streams_[i]);\n"]
    text += ["  cudaEventCreate(&ready_);\n"]
    for i in range(size):
        text.append(f"  cudaMalloc((void**)&d{i}_, 4096);\n  cudaMallocHost((void**)&h{i}_, 4096);\n")
    text += ["}\nPipeline::~Pipeline() {\n  cudaDeviceSynchronize();\n"]
    text += [f"  cudaFree(d{i}_);\n  cudaFreeHost(h{i}_);\n" for i in range(size)]
    text += ["  cudaEventDestroy(ready_);\n  for (int i = 0; i < 4; ++i) cudaStreamDestroy(streams_[i]);\n}\n"]
    for i in range(size):
        calls = "".join(f"  if (n > {i}) step{j}(n);\n" for j in (2 * i + 1, 2 * i + 2) if j < size)
        text.append(
            f"void Pipeline::step{i}(int n) {{\n"
            f"  cudaMemcpyAsync(d{i}_, h{i}_, 4 * n, cudaMemcpyHostToDevice, streams_[{i % 4}]);\n"
            f"  cudaEventRecord(ready_, streams_[{i % 4}]);\n  cudaStreamWaitEvent(streams_[{(i + 1) % 4}], ready_, 0);\n"
            f"  scale<<<n / 256, 256, 0, streams_[{(i + 1) % 4}]>>>(d{i}_, n);\n{calls}}}\n"
        )
    return "".join(text) + "int main() {\n  Pipeline pipeline;\n  pipeline.step0(1024);\n  return 0;\n}\n"


def long_main(size):
    """One function of `size` lines, with branches and synchronisations now and then."""
    body = []
    for i in range(size // 6):
        body.append(f"float* d{i} = 0;\n  cudaMalloc((void**)&d{i}, 4096);")
        body.append(f"cudaMemcpyAsync(d{i}, h, 4096, cudaMemcpyHostToDevice, s);")
        body.append(f"if (h[{i}] > 0) scale<<<4, 256, 0, s>>>(d{i}, 1024);")
        body.append("cudaStreamSynchronize(s);" if i % 10 == 9 else f"int x{i} = {i};")
        body.append(f"cudaMemcpyAsync(h, d{i}, 4096, cudaMemcpyDeviceToHost, s);")
    return HEAD + MAIN % "\n  ".join(body)


def kernels(size):
    """Large kernels and no stream."""
    text = ["#include <cuda_runtime.h>\n"]
    for i in range(size):
        lines = "".join(f"  if (i < n - {k}) p[i + {k}] = p[i] * {k}.0f + q[i];\n" for k in range(100))
        text.append(f"__global__ void k{i}(float* p, const float* q, int n) {{\n  int i = threadIdx.x;\n{lines}}}\n")
    return "".join(text)


def launched_kernels(size):
    """Large kernels that call each other's device functions, all launched."""
    text = [HEAD] + [f"__device__ void g{i}(float* p, float* q, int n);\n" for i in range(size)]
    for i in range(size):
        calls = "".join(f"  g{j}(q, p, n);\n" for j in range(i + 1, min(i + 4, size)))
        lines = "".join(f"  if (n > {k}) p[{k}] = q[{k}] * 2.0f;\n" for k in range(30))
        text.append(f"__device__ void g{i}(float* p, float* q, int n) {{\n{lines}{calls}}}\n")
        text.append(f"__global__ void k{i}(float* p, float* q, int n) {{ g{i}(p, q, n); }}\n")
    return "".join(text) + MAIN % "\n  ".join(f"k{i}<<<4, 256, 0, s>>>(d, d + 1024, 1024);" for i in range(size))


def templates(size):
    """Many instances of templates that launch and call each other."""
    text = f"""
template <int N> struct Stage {{
  static void run({PARAMETERS}) {{
    cudaMemcpyAsync(d, h, 4 * N, cudaMemcpyHostToDevice, s);
    scale<<<n / 256, 256, 0, s>>>(d, N);
    if (n > N) {{
      Stage<N - 1>::run({ARGUMENTS});
      Stage<N / 2>::run({ARGUMENTS});
    }}
  }}
}};
template <> struct Stage<0> {{
  static void run({PARAMETERS}) {{}}
}};
"""
    return HEAD + text + MAIN % f"Stage<{size}>::run(h, d, 1024, s);"


def big_switch(size):
    """A switch of `size` cases in a loop."""
    cases = "\n    ".join(
        f"case {i}: cudaMemcpyAsync(d, h, {4 * i + 4}, cudaMemcpyHostToDevice, s);"
        f" scale<<<4, 256, 0, s>>>(d, {i}); break;"
        for i in range(size)
    )
    return HEAD + MAIN % f"for (int i = 0; i < 100; ++i)\n    switch (rand()) {{\n    {cases}\n    }}"


def stream_arrays(size):
    """Arrays of streams, events and buffers, each used in loops of its own."""
    body = []
    for i in range(size):
        body.append(
            f"cudaStream_t s{i}[4];\n  cudaEvent_t e{i}[4];\n  float* d{i}[4];\n"
            f"  for (int i = 0; i < 4; ++i) {{ cudaStreamCreate(&s{i}[i]); cudaEventCreate(&e{i}[i]);"
            f" cudaMalloc((void**)&d{i}[i], 4096); }}\n"
            f"  for (int r = 0; r < 10; ++r)\n    for (int i = 0; i < 4; ++i) {{\n"
            f"      cudaMemcpyAsync(d{i}[i], h, 4096, cudaMemcpyHostToDevice, s{i}[i]);\n"
            f"      scale<<<4, 256, 0, s{i}[i]>>>(d{i}[i], 1024);\n      cudaEventRecord(e{i}[i], s{i}[i]);\n    }}\n"
            f"  for (int i = 0; i < 4; ++i) cudaStreamWaitEvent(s, e{i}[i], 0);\n"
            f"  for (int i = 0; i < 4; ++i) {{ cudaStreamSynchronize(s{i}[i]); cudaFree(d{i}[i]);"
            f" cudaStreamDestroy(s{i}[i]); cudaEventDestroy(e{i}[i]); }}"
        )
    return HEAD + MAIN % "\n  ".join(body)


def branches(size):
    """Branch after branch, each with work of its own on a buffer of its own: joins with much in flight."""
    body = [f"float* d{i} = 0;\n  cudaMalloc((void**)&d{i}, 4096);" for i in range(size)]
    body += [f"if (h[{i}] > 0) {{ scale<<<4, 256, 0, s>>>(d{i}, {i}); }}" for i in range(size)]
    return HEAD + MAIN % "\n  ".join(body)


def checked(size):
    """Every call in an error-checking macro that prints and exits, as samples have it."""
    text = HEAD + (
        "#include <stdio.h>\n#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) {"
        ' printf("%%s:%%d\\n", __FILE__, __LINE__); exit(1); } } while (0)\n'.replace("%%", "%")
    )
    body = []
    for i in range(size):
        body.append(f"float* d{i} = 0;\n  CHECK(cudaMalloc((void**)&d{i}, 4096));")
        body.append(f"CHECK(cudaMemcpyAsync(d{i}, h, 4096, cudaMemcpyHostToDevice, s));")
        body.append(f"scale<<<4, 256, 0, s>>>(d{i}, 1024);\n  CHECK(cudaGetLastError());")
        body.append(f"CHECK(cudaStreamSynchronize(s));\n  CHECK(cudaFree(d{i}));")
    return text + MAIN % "\n  ".join(body)


def no_streams(size):
    """Host code without CUDA: functions, loops, branches."""
    text = ["#include <cuda_runtime.h>\n#include <stdlib.h>\n"]
    for i in range(size):
        lines = "".join(f"  for (int i = 0; i < n; ++i) if (v[i] > {k}) v[i] += v[n - i - 1] * {k};\n" for k in range(20))
        text.append(f"int g{i}(int* v, int n) {{\n{lines}  return {f'g{i - 1}(v, n)' if i else 'v[0]'};\n}}\n")
    return "".join(text)


SHAPES = {
    "chain": (chain, 200),
    "tree": (tree, 200),
    "mesh": (mesh, 200),
    "recursion": (recursion, 200),
    "helpers": (helpers, 200),
    "plain-helpers": (plain_helpers, 200),
    "methods": (methods, 100),
    "main": (long_main, 3000),
    "kernels": (kernels, 100),
    "launched-kernels": (launched_kernels, 60),
    "templates": (templates, 200),
    "switch": (big_switch, 500),
    "stream-arrays": (stream_arrays, 30),
    "branches": (branches, 200),
    "checked": (checked, 200),
    "no-streams": (no_streams, 300),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", type=pathlib.Path, metavar="DIR")
    parser.add_argument("shape", nargs="?", choices=SHAPES)
    parser.add_argument("size", nargs="?", type=int)
    arguments = parser.parse_args()
    if arguments.all:
        arguments.all.mkdir(parents=True, exist_ok=True)
        for name, (shape, size) in SHAPES.items():
            path = arguments.all / f"{name}.cu"
            path.write_text(shape(size))
            print(path)
    elif arguments.shape:
        shape, size = SHAPES[arguments.shape]
        print(shape(arguments.size or size), end="")
    else:
        parser.error("a shape or --all is needed")


if __name__ == "__main__":
    main()
