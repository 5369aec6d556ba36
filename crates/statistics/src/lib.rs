//! Warm-up, confidence intervals, saturation verdict, histograms.
