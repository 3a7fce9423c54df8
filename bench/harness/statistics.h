// Medians and spreads of repeated measurements.
#ifndef CORANK_BENCH_HARNESS_STATISTICS_H_
#define CORANK_BENCH_HARNESS_STATISTICS_H_

#include <vector>

namespace corank::bench {

/// A summary of repeated measurements. All 0 without samples.
struct Summary {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
  int samples = 0;
};

/// The quantile q (0 to 1) of the samples, linear between neighbours; 0 without samples.
double Quantile(std::vector<double> samples, double q);

Summary Summarize(const std::vector<double>& samples);

}  // namespace corank::bench

#endif  // CORANK_BENCH_HARNESS_STATISTICS_H_
