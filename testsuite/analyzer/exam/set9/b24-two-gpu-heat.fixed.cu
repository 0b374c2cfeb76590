// Heat conduction in a long bar that is cut in two, one half per GPU.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define TRY(x)                                                                          \
    do {                                                                                \
        cudaError_t e_ = (x);                                                           \
        if (e_ != cudaSuccess) {                                                        \
            std::fprintf(stderr, "%s failed: %s\n", #x, cudaGetErrorString(e_));        \
            std::exit(EXIT_FAILURE);                                                    \
        }                                                                               \
    } while (0)

constexpr int kCells = 1 << 20;
constexpr int kEdge = 64;
constexpr size_t kEdgeBytes = kEdge * sizeof(float);

struct Half {
    int device = 0;
    cudaStream_t stream = nullptr;
    float* cells = nullptr;
    float* edge_out = nullptr;
    float* halo_in = nullptr;
    cudaEvent_t sent = nullptr;       // our edge has arrived at the neighbour
    cudaEvent_t halo_read = nullptr;  // our halo may be overwritten
};

__global__ void fill(float* c, int n, float v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = v;
}

__global__ void pack_edge(const float* c, float* edge, int n, bool right) {
    int i = threadIdx.x;
    edge[i] = right ? c[n - kEdge + i] : c[i];
}

__global__ void relax(float* c, const float* halo, int n, bool right) {
    int i = threadIdx.x;
    float* mine = right ? c + n - kEdge : c;
    mine[i] += 0.25f * (halo[i] - mine[i]);
}

static void create(Half& h, int device, float temperature) {
    h.device = device;
    TRY(cudaSetDevice(device));
    TRY(cudaStreamCreateWithFlags(&h.stream, cudaStreamNonBlocking));
    TRY(cudaEventCreateWithFlags(&h.sent, cudaEventDisableTiming));
    TRY(cudaEventCreateWithFlags(&h.halo_read, cudaEventDisableTiming));
    TRY(cudaMalloc(&h.cells, kCells * sizeof(float)));
    TRY(cudaMalloc(&h.edge_out, kEdgeBytes));
    TRY(cudaMalloc(&h.halo_in, kEdgeBytes));
    fill<<<kCells / 256, 256, 0, h.stream>>>(h.cells, kCells, temperature);
}

static void destroy(Half& h) {
    TRY(cudaSetDevice(h.device));
    TRY(cudaStreamSynchronize(h.stream));
    TRY(cudaFree(h.cells));
    TRY(cudaFree(h.edge_out));
    TRY(cudaFree(h.halo_in));
    TRY(cudaEventDestroy(h.sent));
    TRY(cudaEventDestroy(h.halo_read));
    TRY(cudaStreamDestroy(h.stream));
}

static void send_edges(Half (&halves)[2]) {
    for (int i = 0; i < 2; ++i) {
        Half& me = halves[i];
        Half& other = halves[1 - i];
        TRY(cudaSetDevice(me.device));
        pack_edge<<<1, kEdge, 0, me.stream>>>(me.cells, me.edge_out, kCells, i == 0);
        TRY(cudaStreamWaitEvent(me.stream, other.halo_read, 0));
        TRY(cudaMemcpyPeerAsync(other.halo_in, other.device, me.edge_out, me.device, kEdgeBytes,
                                me.stream));
        TRY(cudaEventRecord(me.sent, me.stream));
    }
}

static void relax_edges(Half (&halves)[2]) {
    for (int i = 0; i < 2; ++i) {
        Half& me = halves[i];
        TRY(cudaSetDevice(me.device));
        TRY(cudaStreamWaitEvent(me.stream, halves[1 - i].sent, 0));
        relax<<<1, kEdge, 0, me.stream>>>(me.cells, me.halo_in, kCells, i == 0);
        TRY(cudaEventRecord(me.halo_read, me.stream));
    }
}

int main(int argc, char** argv) {
    int devices = 0;
    TRY(cudaGetDeviceCount(&devices));
    if (devices < 2) {
        std::printf("needs two GPUs\n");
        return 0;
    }
    const int steps = argc > 1 ? std::atoi(argv[1]) : 100;

    Half halves[2];
    create(halves[0], 0, 20.f);
    create(halves[1], 1, 80.f);
    for (int s = 0; s < steps; ++s) {
        send_edges(halves);
        relax_edges(halves);
    }

    float ends[2] = {};
    for (int i = 0; i < 2; ++i) {
        TRY(cudaSetDevice(halves[i].device));
        TRY(cudaStreamSynchronize(halves[i].stream));
    }
    for (int i = 0; i < 2; ++i) {
        TRY(cudaSetDevice(halves[i].device));
        const float* joint = i == 0 ? halves[i].cells + kCells - 1 : halves[i].cells;
        TRY(cudaMemcpy(&ends[i], joint, sizeof(float), cudaMemcpyDeviceToHost));
    }
    std::printf("at the joint after %d steps: %.3f | %.3f\n", steps, ends[0], ends[1]);
    destroy(halves[0]);
    destroy(halves[1]);
    return 0;
}
