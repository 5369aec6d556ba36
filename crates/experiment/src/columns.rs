//! Histogram bins and channel utilisations of many points, converted from JSON to the columns of tables.
//!
//! A result of ten thousand points has millions of bins and channels. A reader of the result keeps these
//! lists as JSON text, and calls this module to parse them in parallel.

use crate::result::Bins;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::iter::repeat_n;
use std::mem;
use std::panic::resume_unwind;
use std::thread::{self, Builder};
use thiserror::Error;

/// Error for a JSON list that does not contain valid bins or channels.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct Misfit {
    /// Position of the invalid list in the argument of the failed call, from 0.
    pub at: usize,
    /// Description of the error.
    pub problem: String,
}

impl Misfit {
    /// Create an error with the text `problem` for the JSON list at position `at`.
    fn new(at: usize, problem: impl ToString) -> Self {
        Self {
            at,
            problem: problem.to_string(),
        }
    }
}

/// Columns of a table of histogram bins: the bins of the first histogram, then those of the second, and so
/// on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BinColumns {
    /// Number of bins of each histogram; all other columns have one entry for each bin.
    pub lengths: Vec<i64>,
    /// Lower bound of each bin, in steps of its histogram (cycles of the simulation).
    pub lower: Vec<i64>,
    /// Upper bound of each bin, in steps of its histogram (cycles of the simulation).
    pub upper: Vec<i64>,
    /// Number of observations in each bin.
    pub count: Vec<i64>,
}

impl BinColumns {
    /// Remove and return all lower and upper bounds, each multiplied by the step of its histogram (the length
    /// of one cycle).
    ///
    /// # Panics
    /// Panics if the number of `steps` differs from the number of histograms.
    pub fn take_bounds(&mut self, steps: &[f64]) -> (Vec<f64>, Vec<f64>) {
        assert_eq!(steps.len(), self.lengths.len(), "a step for each");
        let each = || {
            let of_each = steps.iter().zip(&self.lengths);
            of_each.flat_map(|(&step, &length)| repeat_n(step, length as usize))
        };
        let scaled = |bounds: &mut Vec<i64>| {
            let bounds = mem::take(bounds).into_iter().zip(each());
            bounds.map(|(bound, step)| bound as f64 * step).collect()
        };
        (scaled(&mut self.lower), scaled(&mut self.upper))
    }

    /// Append the histogram bins of JSON lists of [`Bins`], which are parsed in parallel.
    ///
    /// # Errors
    /// A list has no bins or invalid ones. In that case nothing is added.
    pub fn add(&mut self, lists: &[&[u8]]) -> Result<(), Misfit> {
        let given: Vec<Bins> = parse_lists(lists)?;
        for (at, bins) in given.iter().enumerate() {
            check(bins).map_err(|problem| Misfit::new(at, problem))?;
        }
        let as_i64 = |number: u64| number as i64; // checked: none is larger
        for bins in given {
            self.lengths.push(bins.count.len() as i64);
            self.lower.extend(bins.lower.into_iter().map(as_i64));
            self.upper.extend(bins.upper.into_iter().map(as_i64));
            self.count.extend(bins.count.into_iter().map(as_i64));
        }
        Ok(())
    }
}

/// Return an error if a histogram is invalid: its bins must be in rising order and must not be empty.
fn check(bins: &Bins) -> Result<(), String> {
    let (lower, upper, count) = (bins.lower.len(), bins.upper.len(), bins.count.len());
    if lower == 0 || lower != upper || upper != count {
        return Err(format!(
            "{lower} lower bounds, {upper} upper bounds, {count} counts; expected as many of each, and one or \
             more"
        ));
    }
    let mut end = 0;
    let mut total: u64 = 0;
    for (i, (&lower, &upper)) in bins.lower.iter().zip(&bins.upper).enumerate() {
        if upper <= lower {
            return Err(format!(
                "bin {i} ends at {upper}; expected more than {lower}, where it begins"
            ));
        }
        if lower < end {
            return Err(format!(
                "bin {i} begins at {lower}; expected {end} or more, where the one before ends"
            ));
        }
        let count = bins.count[i];
        if count == 0 {
            return Err(format!(
                "bin {i} has a count of 0; expected 1 or more, as empty bins are left out"
            ));
        }
        total = total.saturating_add(count);
        end = upper;
    }
    if end > i64::MAX as u64 || total > i64::MAX as u64 {
        return Err("expected bounds, and all counts together, below 2^63".to_owned());
    }
    Ok(())
}

/// The utilisation of a channel as parsed from JSON: the fields of [`ChannelUse`](crate::result::ChannelUse). All
/// fields must be present.
#[derive(Debug, Deserialize)]
struct Use<'a> {
    /// Name of the kind of channel. It is borrowed from the JSON text unless it contains escapes.
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(deserialize_with = "Option::deserialize")]
    from: Option<i64>,
    #[serde(deserialize_with = "Option::deserialize")]
    to: Option<i64>,
    utilisation: f64,
    #[serde(deserialize_with = "Option::deserialize")]
    highest: Option<f64>,
    busy: f64,
    #[serde(deserialize_with = "Option::deserialize")]
    busiest: Option<f64>,
    #[serde(deserialize_with = "Option::deserialize")]
    held_us: Option<f64>,
    #[serde(deserialize_with = "Option::deserialize")]
    analytic: Option<f64>,
}

/// Columns of a table of channel utilisations: the channels of the first point, then those of the second, and
/// so on. Missing numbers are NaN, missing node numbers are negative.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChannelColumns {
    /// Number of channels of each point; the other columns of numbers have one entry for each channel.
    pub lengths: Vec<i64>,
    /// Names of the kinds of channel, without repetition; the column `kind` refers to them.
    pub kinds: Vec<String>,
    /// Maps the name of a kind of channel to its position in `kinds`.
    places: HashMap<String, u32>,
    /// Kind of each channel, as a position in `kinds`.
    pub kind: Vec<u32>,
    /// Number of the PE, node or I/O node at which the channel begins.
    pub from: Vec<i64>,
    /// Number of the PE, node or I/O node at which the channel ends.
    pub to: Vec<i64>,
    /// Utilisation of each channel. The fields have the same meaning as in
    /// [`ChannelUse`](crate::result::ChannelUse).
    pub utilisation: Vec<f64>,
    /// For rows that contain the mean of all channels of a kind: the utilisation of the channel of the kind with
    /// the highest utilisation.
    pub highest: Vec<f64>,
    /// Share of the time for which each channel was occupied, 0 to 1.
    pub busy: Vec<f64>,
    /// For rows that contain the mean of all channels of a kind: the share of the time, 0 to 1, for which the
    /// busiest channel of the kind was occupied.
    pub busiest: Vec<f64>,
    /// Mean time for which one message occupied each channel, in us.
    pub held_us: Vec<f64>,
    /// Utilisation of each channel according to the analytic model.
    pub analytic: Vec<f64>,
}

impl ChannelColumns {
    /// Add JSON lists that contain a list of channels for each point. The outer lists are parsed in parallel.
    ///
    /// # Errors
    /// An item is not a list of channels. In that case nothing is added.
    pub fn add(&mut self, lists: &[&[u8]]) -> Result<(), Misfit> {
        let given: Vec<Vec<Use<'_>>> = parse_lists(lists)?;
        for (at, uses) in given.iter().enumerate() {
            let places = uses.iter().flat_map(|each| [each.from, each.to]).flatten();
            if let Some(place) = places.into_iter().find(|place| *place < 0) {
                return Err(Misfit::new(
                    at,
                    format!("{place}; expected a place, 0 or more"),
                ));
            }
        }
        for uses in given {
            self.lengths.push(uses.len() as i64);
            for each in uses {
                let kind = self.kind_number(&each.kind);
                self.kind.push(kind);
                self.from.push(each.from.unwrap_or(-1));
                self.to.push(each.to.unwrap_or(-1));
                self.utilisation.push(each.utilisation);
                self.highest.push(each.highest.unwrap_or(f64::NAN));
                self.busy.push(each.busy);
                self.busiest.push(each.busiest.unwrap_or(f64::NAN));
                self.held_us.push(each.held_us.unwrap_or(f64::NAN));
                self.analytic.push(each.analytic.unwrap_or(f64::NAN));
            }
        }
        Ok(())
    }

    /// Return the position of `kind` in `kinds`. Add the name if it is new.
    fn kind_number(&mut self, kind: &str) -> u32 {
        if let Some(&place) = self.places.get(kind) {
            return place;
        }
        let place = self.kinds.len() as u32;
        self.kinds.push(kind.to_owned());
        self.places.insert(kind.to_owned(), place);
        place
    }
}

/// Parse JSON lists, each in its own thread, and return the items of all lists in order.
fn parse_lists<'a, T: Deserialize<'a> + Send>(lists: &[&'a [u8]]) -> Result<Vec<T>, Misfit> {
    let (first, others) = lists.split_first().unwrap_or((&(b"[]" as &[u8]), &[]));
    thread::scope(|scope| {
        let threads: Vec<_> = (others.iter())
            .map(|&list| {
                (
                    list,
                    Builder::new().spawn_scoped(scope, || parse_items(list)),
                )
            })
            .collect();
        let mut items = parse_items(first)?;
        for (list, thread) in threads {
            // If no thread could start, parse the list in this one.
            let found = match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(_) => parse_items(list),
            };
            items.append(&mut found.map_err(|misfit| Misfit {
                at: items.len() + misfit.at,
                ..misfit
            })?);
        }
        Ok(items)
    })
}

/// Parse a JSON list and return its items. An error names the first invalid item.
fn parse_items<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<Vec<T>, Misfit> {
    serde_json::from_slice(json).map_err(|error| {
        let items: Vec<&RawValue> = serde_json::from_slice(json).unwrap_or_default();
        let wrong = items.iter().enumerate().find_map(|(at, item)| {
            let error = serde_json::from_str::<T>(item.get()).err()?;
            Some(Misfit::new(at, error))
        });
        wrong.unwrap_or_else(|| Misfit::new(0, error))
    })
}
