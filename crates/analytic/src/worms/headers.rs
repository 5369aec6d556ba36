//! Header latency of each class of worms: channels on the route, and the waits for them.

use super::network::Network;
use super::solve::Solved;

/// Mean header latency of the worms of a class, in cycles.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HeaderLatency {
    /// Worms of the class per cycle, at a load of 1.
    pub rate: f64,
    /// Mean number of channels on the route.
    pub channels: f64,
    /// Mean sum of the waits of a worm for the channels of its route after the first one.
    pub waits: f64,
    /// Mean wait of a worm for the first channel of its route.
    pub source: f64,
}

impl Network {
    /// Return the mean header latencies of the classes 0 to `classes` - 1.
    pub fn headers(&self, solved: &Solved, classes: usize) -> Vec<HeaderLatency> {
        let mut ahead = vec![(1.0, 0.0); self.steps.len()];
        for &channel in &self.order {
            for &number in &self.steps_on[channel as usize] {
                let step = &self.steps[number as usize];
                let (mut channels, mut waits) = (1.0, 0.0);
                for (&(probability, next), &slot) in
                    step.next.iter().zip(&self.slots_of[number as usize])
                {
                    let (more, later) = ahead[next as usize];
                    channels += probability * more;
                    if probability > 0.0 {
                        waits += probability * (solved.wait(slot, next).mean + later);
                    }
                }
                ahead[number as usize] = (channels, waits);
            }
        }
        let mut found = vec![HeaderLatency::default(); classes];
        for (start, &slot) in self.starts.iter().zip(&self.slot_of_start) {
            if start.rate > 0.0 {
                let (channels, waits) = ahead[start.step as usize];
                let sum = &mut found[start.class];
                sum.rate += start.rate;
                sum.channels += start.rate * channels;
                sum.waits += start.rate * waits;
                sum.source += start.rate * solved.wait(slot, start.step).mean;
            }
        }
        for sum in found.iter_mut().filter(|sum| sum.rate > 0.0) {
            sum.channels /= sum.rate;
            sum.waits /= sum.rate;
            sum.source /= sum.rate;
        }
        found
    }
}
