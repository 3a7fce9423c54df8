// Kernels that ruin the context they run in. Each is enqueued on its own stream. Returns whether that worked.
#ifndef CORANK_TESTS_FAULTS_GPU_FAULTS_H_
#define CORANK_TESTS_FAULTS_GPU_FAULTS_H_

namespace corank::testing {

bool WriteOutOfBounds(int after_milliseconds);
bool FailAssertion();
bool RunIllegalInstruction();
/// Runs on every multiprocessor, forever.
bool SpinForEver();

}  // namespace corank::testing

#endif  // CORANK_TESTS_FAULTS_GPU_FAULTS_H_
