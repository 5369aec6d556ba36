//! Lists of routes, line by line.

use super::error::{NAMED_MAX, RouteError};
use super::route::{LAYERS_MAX, Route};
use crate::graph::{Word, words};
use crate::switches::Form;
use crate::switches::neighbors::Neighbors;
use std::collections::HashMap;

/// Characters of a word that an error shows.
const WORD_MAX: usize = 60;

/// The switches of a form by their names.
struct Names<'f> {
    form: &'f Form,
    switches: u32,
    /// None if each is called by its number.
    numbers: Option<HashMap<String, u32>>,
}

impl<'f> Names<'f> {
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

    fn of(&self, name: &str) -> Option<u32> {
        match &self.numbers {
            Some(numbers) => numbers.get(name).copied(),
            // "01" is no name of switch 1.
            None => {
                let number = name.parse().ok().filter(|&number| number < self.switches);
                number.filter(|number: &u32| number.to_string() == name)
            }
        }
    }

    fn find(&self, name: &str, line: usize) -> Result<u32, RouteError> {
        self.of(name).ok_or_else(|| RouteError::Unknown {
            line,
            name: name.chars().take(WORD_MAX).collect(),
            first: self.form.shown(0),
        })
    }

    fn number(&self, number: u32, line: usize) -> Result<u32, RouteError> {
        match self.numbers {
            None if number < self.switches => Ok(number),
            _ => self.find(&number.to_string(), line),
        }
    }

    /// The first and the last number of a word that is a run of them and no name.
    fn run(&self, word: &Word) -> Option<(u32, u32)> {
        let (first, last) = word.text.split_once('-').filter(|_| !word.quoted)?;
        let ends = first.parse().ok().zip(last.parse().ok())?;
        self.of(&word.text).is_none().then_some(ends)
    }
}

/// A list as it is read.
pub(super) struct Reader<'f> {
    names: Names<'f>,
    beside: Neighbors,
    pub routes: Vec<Route>,
    /// By the switch and the destination whether there is a route; by itself, one for all others.
    given: Vec<bool>,
}

impl<'f> Reader<'f> {
    pub fn new(form: &'f Form) -> Self {
        let names = Names::new(form);
        Self {
            beside: Neighbors::new(&form.wiring(0)).sorted(),
            routes: Vec::new(),
            given: vec![false; (names.switches as usize).pow(2)],
            names,
        }
    }

    pub fn line(&mut self, line: usize, text: &str) -> Result<(), RouteError> {
        let (words, rest) = words(text).map_err(|problem| RouteError::Line { line, problem })?;
        let found = words.len() + usize::from(rest.is_some());
        let (at, to, next, layer) = match &words[..] {
            _ if found == 0 => return Ok(()),
            [at, to, next] if found == 3 => (at, to, next, 0),
            [at, to, next, layer] if found == 4 => (at, to, next, layer_of(layer, line)?),
            _ => return Err(RouteError::Words { line, found }),
        };
        let at = self.names.find(&at.text, line)?;
        let mut route = Route {
            at,
            to: None,
            next: at,
            layer,
            line: line as u32,
        };
        let run = match (to.quoted, to.text.as_str()) {
            (false, "*") => None,
            _ => Some(self.names.run(to)),
        };
        let one = match run {
            Some(None) => Some(self.names.find(&to.text, line)?),
            _ => None,
        };
        let name = |switch: u32| self.names.form.shown(switch);
        if one == Some(at) {
            return Err(RouteError::Itself {
                line,
                name: name(at),
            });
        }
        route.next = self.names.find(&next.text, line)?;
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
        match (run.flatten(), one) {
            (Some((first, last)), _) if first > last => {
                return Err(RouteError::Backwards { line, first, last });
            }
            (Some((first, last)), _) => {
                if first == last && self.names.number(first, line)? == at {
                    return Err(RouteError::Itself {
                        line,
                        name: name(at),
                    });
                }
                for number in first..=last {
                    let to = self.names.number(number, line)?;
                    if to != at {
                        self.add(&route, Some(to))?;
                    }
                }
            }
            (None, to) => self.add(&route, to)?,
        }
        Ok(())
    }

    /// Adds a route to a destination, to the last one if that goes on with it.
    fn add(&mut self, route: &Route, to: Option<u32>) -> Result<(), RouteError> {
        let place = route.at * self.names.switches + to.unwrap_or(route.at);
        if std::mem::replace(&mut self.given[place as usize], true) {
            return Err(RouteError::Twice {
                line: route.line as usize,
                from: self.names.form.shown(route.at),
                to: to.map_or("*".to_owned(), |to| self.names.form.shown(to)),
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

/// A layer, as a number or as `layer=1`.
fn layer_of(word: &Word, line: usize) -> Result<u16, RouteError> {
    let number = word.text.strip_prefix("layer=").unwrap_or(&word.text);
    let layer = number.parse().ok().filter(|&layer| layer < LAYERS_MAX);
    layer.ok_or_else(|| RouteError::Layer {
        line,
        word: word.text.chars().take(WORD_MAX).collect(),
    })
}
