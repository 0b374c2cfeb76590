// Self-play driver of a small board game. Boards and scores live in managed memory, so the
// search on the CPU and the evaluator on the GPU share the same structures.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#define CHECKED(x)                                                                     \
    do {                                                                               \
        cudaError_t e_ = (x);                                                          \
        if (e_ != cudaSuccess) {                                                       \
            std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e_));              \
            std::exit(1);                                                              \
        }                                                                              \
    } while (0)

constexpr int kSide = 9;
constexpr int kFields = kSide * kSide;
constexpr int kChunk = 16;

struct Board {
    signed char field[kFields];
};

__global__ void evaluate(const Board* board, const float* weights, float* score, int first,
                         int count, int side_to_move) {
    const int move = first + blockIdx.x;
    if (int(blockIdx.x) >= count) return;
    __shared__ float sum;
    if (threadIdx.x == 0) sum = 0.f;
    __syncthreads();
    for (int f = threadIdx.x; f < kFields; f += blockDim.x) {
        const float stone = f == move ? float(side_to_move) : float(board->field[f]);
        atomicAdd(&sum, stone * side_to_move * weights[move * kFields + f]);
    }
    __syncthreads();
    if (threadIdx.x == 0) score[move] = board->field[move] == 0 ? sum : -1e30f;
}

class Evaluator {
public:
    Evaluator() {
        CHECKED(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        CHECKED(cudaMallocManaged(&board_, sizeof(Board)));
        CHECKED(cudaMallocManaged(&score_, kFields * sizeof(float)));
        CHECKED(cudaMallocManaged(&weights_, kFields * kFields * sizeof(float)));
        std::fill_n(board_->field, kFields, static_cast<signed char>(0));
        for (int i = 0; i < kFields * kFields; ++i) weights_[i] = float(std::rand() % 201 - 100);
    }

    ~Evaluator() {
        cudaStreamSynchronize(stream_);
        cudaFree(board_);
        cudaFree(score_);
        cudaFree(weights_);
        cudaStreamDestroy(stream_);
    }

    Evaluator(const Evaluator&) = delete;
    Evaluator& operator=(const Evaluator&) = delete;

    // Scores all moves of `side` in chunks of the size the evaluator was tuned for.
    void score_moves(int side) {
        for (int first = 0; first < kFields; first += kChunk) {
            const int count = std::min(kChunk, kFields - first);
            evaluate<<<count, 64, 0, stream_>>>(board_, weights_, score_, first, count, side);
            CHECKED(cudaGetLastError());
        }
    }

    const float* scores() const { return score_; }
    Board& board() { return *board_; }

    void wait() { CHECKED(cudaStreamSynchronize(stream_)); }

private:
    cudaStream_t stream_ = nullptr;
    Board* board_ = nullptr;
    float* score_ = nullptr;
    float* weights_ = nullptr;
};

static int best_move(const Evaluator& eval) {
    const float* s = eval.scores();
    const int best = static_cast<int>(std::max_element(s, s + kFields) - s);
    return s[best] > -1e29f ? best : -1;
}

static int play(Evaluator& eval, bool verbose) {
    eval.wait();
    std::fill_n(eval.board().field, kFields, static_cast<signed char>(0));
    int side = 1;
    int plies = 0;
    while (plies < kFields) {
        eval.score_moves(side);
        const int move = best_move(eval);
        if (move < 0) break;
        eval.board().field[move] = static_cast<signed char>(side);
        if (verbose) std::printf("%3d: %c%d\n", plies, 'a' + move % kSide, 1 + move / kSide);
        side = -side;
        ++plies;
    }
    return plies;
}

int main(int argc, char** argv) {
    const int games = argc > 1 ? std::atoi(argv[1]) : 10;
    Evaluator eval;
    long plies = 0;
    for (int g = 0; g < games; ++g) plies += play(eval, g == 0);
    std::printf("%d games, %ld plies\n", games, plies);
    return 0;
}
