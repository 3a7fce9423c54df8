// Kernels that ruin the context they run in. Each is enqueued on a stream of its own; true where that worked.
#ifndef CORANK_TESTS_FAULTS_GPU_FAULTS_H_
#define CORANK_TESTS_FAULTS_GPU_FAULTS_H_

namespace corank::testing {

bool WriteOutOfBounds(int after_milliseconds);
bool FailAssertion();
bool RunIllegalInstruction();
/// On every multiprocessor, for ever.
bool SpinForEver();

}  // namespace corank::testing

#endif  // CORANK_TESTS_FAULTS_GPU_FAULTS_H_
