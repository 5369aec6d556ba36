//! Reader of lists of routes, line by line.

use super::error::{NAMED_MAX, RouteError};
use super::route::{LAYERS_MAX, Route};
use crate::graph::{Word, words};
use crate::switches::Form;
use crate::switches::neighbors::Neighbors;
use std::collections::HashMap;

/// Maximum number of characters of a word in an error message.
const WORD_MAX: usize = 60;

/// The switches of a network, found by name.
struct Names<'f> {
    form: &'f Form,
    switches: u32,
    /// The number of each switch by name; `None` if the name of each switch is its number.
    numbers: Option<HashMap<String, u32>>,
}

impl<'f> Names<'f> {
    /// Return a table that finds the switches of the network `form` by their names.
    fn new(form: &'f Form) -> Self {
        let switches = form.switch_count();
        let own = (0..switches).all(|switch| form.name(switch) == switch.to_string());
        let names = (0..switches).map(|switch| (form.name(switch), switch));
        Self {
            form,
            switches,
            numbers: (!own).then(|| names.collect()),
        }
    }

    /// Return the number of the switch with this name; `None` if there is none.
    fn of(&self, name: &str) -> Option<u32> {
        match &self.numbers {
            Some(numbers) => numbers.get(name).copied(),
            // Without names, a switch is named by its number in the shortest form: "1", but not
            // "01".
            None => {
                let number = name.parse().ok().filter(|&number| number < self.switches);
                number.filter(|number: &u32| number.to_string() == name)
            }
        }
    }

    /// Return the number of the switch with this name, or an error for line `line`.
    fn find_switch(&self, name: &str, line: usize) -> Result<u32, RouteError> {
        self.of(name).ok_or_else(|| RouteError::Unknown {
            line,
            name: name.chars().take(WORD_MAX).collect(),
            first: self.form.shortened_name(0),
        })
    }

    /// Return a number if a switch has it, or an error for line `line`.
    fn check_number(&self, number: u32, line: usize) -> Result<u32, RouteError> {
        match self.numbers {
            None if number < self.switches => Ok(number),
            _ => self.find_switch(&number.to_string(), line),
        }
    }

    /// Return the first and last number if a word is a range of numbers and not a name.
    fn range(&self, word: &Word) -> Option<(u32, u32)> {
        let (first, last) = word.text.split_once('-').filter(|_| !word.quoted)?;
        let ends = first.parse().ok().zip(last.parse().ok())?;
        self.of(&word.text).is_none().then_some(ends)
    }
}

/// Reader of a list of routes, with the routes read so far.
pub(super) struct Reader<'f> {
    names: Names<'f>,
    beside: Neighbors,
    pub routes: Vec<Route>,
    /// Whether the list has a route, for each pair of switch and destination. An entry whose switch
    /// and destination are equal stands for a route to all other destinations.
    has_route: Vec<bool>,
}

impl<'f> Reader<'f> {
    /// Return a reader for a list of routes of the network `form`, before it has read any line.
    pub fn new(form: &'f Form) -> Self {
        let names = Names::new(form);
        Self {
            beside: Neighbors::new(&form.wiring(0)).sorted(),
            routes: Vec::new(),
            has_route: vec![false; (names.switches as usize).pow(2)],
            names,
        }
    }

    /// Read one line of the list.
    pub fn read_line(&mut self, line: usize, text: &str) -> Result<(), RouteError> {
        let (words, rest) = words(text).map_err(|problem| RouteError::Line { line, problem })?;
        let found = words.len() + usize::from(rest.is_some());
        let (at, to, next, layer) = match &words[..] {
            _ if found == 0 => return Ok(()),
            [at, to, next] if found == 3 => (at, to, next, 0),
            [at, to, next, layer] if found == 4 => (at, to, next, layer_of(layer, line)?),
            _ => return Err(RouteError::Words { line, found }),
        };
        let at = self.names.find_switch(&at.text, line)?;
        let mut route = Route {
            at,
            to: None,
            next: at,
            layer,
            line: line as u32,
        };
        let range = match (to.quoted, to.text.as_str()) {
            (false, "*") => None,
            _ => Some(self.names.range(to)),
        };
        let one = match range {
            Some(None) => Some(self.names.find_switch(&to.text, line)?),
            _ => None,
        };
        let name = |switch: u32| self.names.form.shortened_name(switch);
        if one == Some(at) {
            return Err(RouteError::Itself {
                line,
                name: name(at),
            });
        }
        route.next = self.names.find_switch(&next.text, line)?;
        if self.beside.link(at, route.next).is_none() {
            let beside = self.beside.of(at);
            return Err(RouteError::NoCable {
                line,
                from: name(at),
                next: name(route.next),
                beside: beside
                    .iter()
                    .take(NAMED_MAX + 1)
                    .map(|&other| name(other))
                    .collect(),
            });
        }
        match (range.flatten(), one) {
            (Some((first, last)), _) if first > last => {
                return Err(RouteError::Backwards { line, first, last });
            }
            (Some((first, last)), _) => {
                if first == last && self.names.check_number(first, line)? == at {
                    return Err(RouteError::Itself {
                        line,
                        name: name(at),
                    });
                }
                for number in first..=last {
                    let to = self.names.check_number(number, line)?;
                    if to != at {
                        self.add(&route, Some(to))?;
                    }
                }
            }
            (None, to) => self.add(&route, to)?,
        }
        Ok(())
    }

    /// Add a route to a destination, or extend the last route if the destination continues its
    /// range.
    fn add(&mut self, route: &Route, to: Option<u32>) -> Result<(), RouteError> {
        let place = route.at * self.names.switches + to.unwrap_or(route.at);
        if std::mem::replace(&mut self.has_route[place as usize], true) {
            return Err(RouteError::Twice {
                line: route.line as usize,
                from: self.names.form.shortened_name(route.at),
                to: to.map_or("*".to_owned(), |to| self.names.form.shortened_name(to)),
            });
        }
        let last = self
            .routes
            .last_mut()
            .filter(|last| last.line == route.line);
        match (last.and_then(|last| last.to.as_mut()), to) {
            (Some((_, last)), Some(to)) if *last + 1 == to => *last = to,
            _ => self.routes.push(Route {
                to: to.map(|to| (to, to)),
                ..route.clone()
            }),
        }
        Ok(())
    }
}

/// Return the layer of a route, from a word that is a number or `layer=` and a number.
fn layer_of(word: &Word, line: usize) -> Result<u16, RouteError> {
    let number = word.text.strip_prefix("layer=").unwrap_or(&word.text);
    let layer = number.parse().ok().filter(|&layer| layer < LAYERS_MAX);
    layer.ok_or_else(|| RouteError::Layer {
        line,
        word: word.text.chars().take(WORD_MAX).collect(),
    })
}
