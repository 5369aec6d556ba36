//! The common parser of quantities: a decimal number, optional white space, a unit from a table.

use std::fmt;

/// Error for a text that is not a quantity with a unit. `Display` prints the problem and advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitError {
    /// The text that is not a quantity.
    text: String,
    /// Description of the error.
    problem: String,
    /// Advice on how to write the quantity.
    hint: String,
}

impl UnitError {
    /// Return the error that `text` is not a quantity: `problem` is the reason, `hint` the advice.
    pub(crate) fn new(text: &str, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            text: text.to_owned(),
            problem: problem.into(),
            hint: hint.into(),
        }
    }

    /// Return the problem with the text, without the advice.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// Return the advice on how to write the quantity.
    pub fn hint(&self) -> &str {
        &self.hint
    }
}

impl fmt::Display for UnitError {
    /// Write the text, the problem and the advice.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}; {}", self.text, self.problem, self.hint)
    }
}

impl std::error::Error for UnitError {}

/// An exact decimal: `digits * 10^exponent`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Decimal {
    digits: u128,
    exponent: i32,
}

impl Decimal {
    /// Return `self * numerator / denominator` as an integer, if the value is an integer and fits.
    pub(crate) fn scaled(self, numerator: u128, denominator: u128) -> Result<u64, Inexact> {
        if self.digits == 0 {
            return Ok(0);
        }
        let mut value = self
            .digits
            .checked_mul(numerator)
            .ok_or(Inexact::TooLarge)?;
        let mut divisor = denominator;
        let power = 10u128.checked_pow(self.exponent.unsigned_abs());
        match (self.exponent >= 0, power) {
            (true, Some(p)) => value = value.checked_mul(p).ok_or(Inexact::TooLarge)?,
            (true, None) => return Err(Inexact::TooLarge),
            (false, Some(p)) => divisor = divisor.checked_mul(p).ok_or(Inexact::Fraction)?,
            (false, None) => return Err(Inexact::Fraction),
        }
        if value % divisor != 0 {
            return Err(Inexact::Fraction);
        }
        u64::try_from(value / divisor).map_err(|_| Inexact::TooLarge)
    }

    /// Return the nearest floating-point number.
    pub(crate) fn as_f64(self) -> f64 {
        format!("{}e{}", self.digits, self.exponent)
            .parse()
            .unwrap_or(f64::INFINITY)
    }
}

/// Reason why a decimal number does not convert to an integer of 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inexact {
    /// The number has a fractional part.
    Fraction,
    /// The number does not fit into 64 bits.
    TooLarge,
}

/// Split `text`, such as `3 MB`, into its number and its unit. Errors name the quantity `what` and give the text
/// `example` as advice.
pub(crate) fn split<'a>(
    text: &'a str,
    what: &str,
    example: &str,
) -> Result<(Decimal, &'a str), UnitError> {
    let trimmed = text.trim();
    let fail = |problem: String| {
        Err(UnitError::new(
            text,
            problem,
            format!("write {what} as a number and a unit, for example \"{example}\""),
        ))
    };
    if trimmed.starts_with('-') {
        return fail(format!("{what} cannot be negative"));
    }
    let end = number_length(trimmed);
    let (number, unit) = trimmed.split_at(end);
    let Some(decimal) = parse_decimal(number) else {
        return fail("no number at the start".to_owned());
    };
    let unit = unit.trim_start();
    if unit.is_empty() {
        return fail("the unit is missing".to_owned());
    }
    Ok((decimal, unit))
}

/// Return the length of the number at the start of `text`, in bytes.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut end = 0;
    while end < bytes.len() && (bytes[end].is_ascii_digit() || bytes[end] == b'.') {
        end += 1;
    }
    // An exponent counts only if digits follow the `e`, so that "1 e.." or "3 /ms" keep their unit.
    if end > 0 && end < bytes.len() && (bytes[end] | 32) == b'e' {
        let mut stop = end + 1;
        if stop < bytes.len() && (bytes[stop] == b'+' || bytes[stop] == b'-') {
            stop += 1;
        }
        let first_digit = stop;
        while stop < bytes.len() && bytes[stop].is_ascii_digit() {
            stop += 1;
        }
        if stop > first_digit {
            end = stop;
        }
    }
    end
}

/// Parse a decimal number with an optional exponent. Return `None` if it is invalid or too long.
fn parse_decimal(number: &str) -> Option<Decimal> {
    let (mantissa, exponent) = match number.find(['e', 'E']) {
        Some(at) => (&number[..at], number[at + 1..].parse::<i32>().ok()?),
        None => (number, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    if whole.len() + fraction.len() > 36 || exponent.abs() > 60 {
        return None;
    }
    let digits = format!("{whole}{fraction}").parse().ok()?;
    let exponent = exponent - i32::try_from(fraction.len()).ok()?;
    Some(Decimal { digits, exponent })
}

/// Return numerator and denominator of `unit` from a table of `(name, numerator, denominator)`.
pub(crate) fn scale(
    text: &str,
    unit: &str,
    what: &str,
    table: &[(&str, u128, u128)],
) -> Result<(u128, u128), UnitError> {
    table
        .iter()
        .find(|(name, ..)| *name == unit)
        .map(|&(_, numerator, denominator)| (numerator, denominator))
        .ok_or_else(|| {
            let names: Vec<&str> = table.iter().map(|&(name, ..)| name).collect();
            let meant = match near(unit, &names) {
                Some(name) => format!("did you mean `{name}`? Otherwise "),
                None => String::new(),
            };
            UnitError::new(
                text,
                format!("`{unit}` is not a unit of {what}"),
                format!("{meant}use one of {}", names.join(", ")),
            )
        })
}

/// Return the valid unit that users often write as the invalid `unit`, if exactly one exists: `Gb/s` and
/// `Gbps` are `Gbit/s`, `GBps` is `GB/s`, `KB` is `kB`.
fn near<'a>(unit: &str, names: &[&'a str]) -> Option<&'a str> {
    let unit = unit
        .trim()
        .replace(['µ', 'μ'], "u")
        .replace("bits", "bit")
        .replace("bps", "b/s")
        .replace("Bps", "B/s")
        .replace("/sec", "/s");
    let bits = match unit.find("b/") {
        // Read a small `b` in a bandwidth as bits.
        Some(at) => format!("{}bit/{}", &unit[..at], &unit[at + 2..]),
        None => unit.clone(),
    };
    for spelt in [&unit, &bits] {
        if let Some(name) = names.iter().find(|name| *name == spelt) {
            return Some(name);
        }
    }
    // Ignore upper and lower case, and return the unit if exactly one matches.
    let mut alike = names.iter().filter(|name| name.eq_ignore_ascii_case(&bits));
    match (alike.next(), alike.next()) {
        (Some(name), None) => Some(name),
        _ => None,
    }
}

/// Parse a quantity with a unit and return it in its base unit `base`, as an integer. Fail if it is no whole number of
/// base units or does not fit into 64 bits.
pub(crate) fn exact(
    text: &str,
    what: &str,
    example: &str,
    base: &str,
    table: &[(&str, u128, u128)],
) -> Result<u64, UnitError> {
    let (number, unit) = split(text, what, example)?;
    let (numerator, denominator) = scale(text, unit, what, table)?;
    number
        .scaled(numerator, denominator)
        .map_err(|reason| match reason {
            Inexact::Fraction => UnitError::new(
                text,
                format!("not a whole number of {base}"),
                format!("{what} is held exactly, as an integer of {base}"),
            ),
            Inexact::TooLarge => UnitError::new(
                text,
                "too large",
                format!("{what} must stay below 2^64 {base}"),
            ),
        })
}

#[cfg(test)]
mod tests {
    use crate::{Bandwidth, Bytes, Rate, Time};
    use std::fmt::Debug;
    use std::str::FromStr;

    /// Return the unit that the error suggests for `text`.
    fn meant<T>(text: &str) -> Option<String>
    where
        T: FromStr<Err = super::UnitError> + Debug,
    {
        let hint = text.parse::<T>().unwrap_err().hint().to_owned();
        let (_, rest) = hint.split_once("did you mean `")?;
        Some(rest.split_once('`')?.0.to_owned())
    }

    /// Checks that the error for a misspelled unit, such as `Gbps`, suggests the valid one.
    #[test]
    fn misspelled_units_have_a_suggestion() {
        for (text, unit) in [
            ("200 Gb/s", "Gbit/s"),
            ("200 Gbps", "Gbit/s"),
            ("200Gbits/s", "Gbit/s"),
            ("100 mb/s", "Mbit/s"),
            ("25 GBps", "GB/s"),
            ("25 GB/sec", "GB/s"),
            ("25 Gb/sec", "Gbit/s"),
            ("25 KB/s", "kB/s"),
            ("1 b/s", "bit/s"),
        ] {
            assert_eq!(meant::<Bandwidth>(text).as_deref(), Some(unit), "{text}");
        }
        assert_eq!(meant::<Bytes>("4 KB").as_deref(), Some("kB"));
        assert_eq!(meant::<Bytes>("4 mib").as_deref(), Some("MiB"));
        assert_eq!(meant::<Time>("4 µs").as_deref(), Some("us"));
        assert_eq!(meant::<Rate>("4 /MS").as_deref(), Some("/ms"));
    }

    /// Checks that the error for a unit that resembles no valid one suggests none.
    #[test]
    fn units_of_another_dimension_have_no_suggestion() {
        for text in ["20 MB", "3 /ms", "3 furlongs", "3 xB/s"] {
            assert_eq!(meant::<Bandwidth>(text), None, "{text}");
        }
        assert_eq!(meant::<Time>("3 months"), None);
    }
}
