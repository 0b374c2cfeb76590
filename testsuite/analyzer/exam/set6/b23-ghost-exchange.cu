#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

extern "C" {
typedef struct ompi_communicator_t* MPI_Comm;
typedef struct ompi_datatype_t* MPI_Datatype;
typedef struct ompi_request_t* MPI_Request;
typedef struct ompi_status_public_t {
    int MPI_SOURCE, MPI_TAG, MPI_ERROR;
} MPI_Status;
int MPI_Isend(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* request);
int MPI_Irecv(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request);
int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses);
}

#define AssertCuda(expr)                                                         \
    do {                                                                         \
        const cudaError_t code = (expr);                                         \
        if (code != cudaSuccess) {                                               \
            std::fprintf(stderr, "%s\n", cudaGetErrorString(code));              \
            std::exit(1);                                                        \
        }                                                                        \
    } while (0)

template <typename Number>
__global__ void gather(const Number* values, const int* indices, Number* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = values[indices[i]];
}

template <typename Number>
__global__ void accumulate(Number* values, const Number* ghosts, int first, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[first + i] = ghosts[i];
}

template <typename Number>
struct Neighbour {
    int rank = 0;
    int count = 0;
    int ghostOffset = 0;
    int* indices = nullptr;
    Number* send = nullptr;
    Number* receive = nullptr;
};

template <typename Number>
class GhostExchange {
public:
    GhostExchange(MPI_Comm comm, MPI_Datatype type, cudaStream_t stream) : comm_(comm), type_(type), stream_(stream) {}
    ~GhostExchange() {
        cudaStreamSynchronize(stream_);
        for (auto& n : neighbours_) {
            cudaFree(n.indices);
            cudaFree(n.send);
            cudaFree(n.receive);
        }
    }

    void addNeighbour(int rank, const std::vector<int>& indices, int ghostOffset) {
        Neighbour<Number> n;
        n.rank = rank;
        n.count = static_cast<int>(indices.size());
        n.ghostOffset = ghostOffset;
        AssertCuda(cudaMalloc(&n.indices, n.count * sizeof(int)));
        AssertCuda(cudaMalloc(&n.send, n.count * sizeof(Number)));
        AssertCuda(cudaMalloc(&n.receive, n.count * sizeof(Number)));
        AssertCuda(cudaMemcpyAsync(n.indices, indices.data(), n.count * sizeof(int), cudaMemcpyHostToDevice, stream_));
        AssertCuda(cudaStreamSynchronize(stream_));
        neighbours_.push_back(n);
    }

    void start(const Number* values) {
        requests_.assign(2 * neighbours_.size(), nullptr);
        for (size_t i = 0; i < neighbours_.size(); ++i) {
            auto& n = neighbours_[i];
            MPI_Irecv(n.receive, n.count * int(sizeof(Number)), type_, n.rank, 7, comm_, &requests_[2 * i]);
            pack(n, values);
        }
        for (size_t i = 0; i < neighbours_.size(); ++i) post(neighbours_[i], &requests_[2 * i + 1]);
    }

    void finish(Number* values) {
        MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), nullptr);
        for (auto& n : neighbours_) {
            accumulate<<<(n.count + 127) / 128, 128, 0, stream_>>>(values, n.receive, n.ghostOffset, n.count);
        }
        AssertCuda(cudaStreamSynchronize(stream_));
    }

private:
    void pack(const Neighbour<Number>& n, const Number* values) {
        gather<<<(n.count + 127) / 128, 128, 0, stream_>>>(values, n.indices, n.send, n.count);
    }

    void post(const Neighbour<Number>& n, MPI_Request* request) {
        MPI_Isend(n.send, n.count * int(sizeof(Number)), type_, n.rank, 7, comm_, request);
    }

    MPI_Comm comm_;
    MPI_Datatype type_;
    cudaStream_t stream_;
    std::vector<Neighbour<Number>> neighbours_;
    std::vector<MPI_Request> requests_;
};

void exchangeLoop(MPI_Comm comm, MPI_Datatype bytes, int left, int right, int local, int steps) {
    cudaStream_t stream;
    double* values = nullptr;
    AssertCuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    AssertCuda(cudaMalloc(&values, (local + 64) * sizeof(double)));
    AssertCuda(cudaMemsetAsync(values, 0, (local + 64) * sizeof(double), stream));
    {
        GhostExchange<double> exchange(comm, bytes, stream);
        std::vector<int> low(32), high(32);
        for (int i = 0; i < 32; ++i) {
            low[i] = i;
            high[i] = local - 32 + i;
        }
        exchange.addNeighbour(left, low, local);
        exchange.addNeighbour(right, high, local + 32);
        for (int s = 0; s < steps; ++s) {
            exchange.start(values);
            exchange.finish(values);
        }
    }
    AssertCuda(cudaFree(values));
    AssertCuda(cudaStreamDestroy(stream));
}
