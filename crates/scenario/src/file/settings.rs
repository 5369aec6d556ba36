//! The values of all fields of an experiment or of one point, with defaults for fields that are not set.

use crate::fields::field::{Default, Field, Only};
use crate::fields::schema::Schema;
use crate::file::error::{Origin, Problem};
use crate::file::setting::{Layer, Setting};
use crate::file::tree::{is_in, last, parse_value, shown};
use crate::value::described::Description;
use crate::value::{Value, alternatives};
use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

/// The values of all fields of an experiment or of one point.
#[derive(Debug, Clone)]
pub struct Settings {
    schema: Arc<Schema>,
    /// Value of each field that is set, by key. Other fields have their defaults.
    set: BTreeMap<Arc<str>, Setting>,
    /// Position in the file of each table that the file contains. Errors about missing fields show its line.
    tables: BTreeMap<String, Origin>,
}

impl Settings {
    /// Create settings in which every field has its default and no field is set.
    pub(crate) fn new(schema: Arc<Schema>) -> Self {
        Self {
            schema,
            set: BTreeMap::new(),
            tables: BTreeMap::new(),
        }
    }

    /// Return the schema: all fields that the file may have.
    pub(crate) fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Return the user's names of the named tables, such as `[workload.jobs.NAME]`, in the order of the file.
    pub fn names(&self) -> &[String] {
        self.schema.names()
    }

    /// Record that the file contains the table `path`.
    pub(crate) fn open_table(&mut self, path: &str, origin: Origin) {
        self.tables.entry(path.to_owned()).or_insert(origin);
    }

    /// Set a field. The value replaces values of lower layers for the same field, for fields of a shorthand,
    /// and for alternative fields.
    ///
    /// # Errors
    /// If the same layer has already set the field or an alternative to it. Among overrides, the last one
    /// counts instead.
    pub(crate) fn put(&mut self, setting: &Setting) -> Result<(), Problem> {
        for key in setting.field.decides() {
            if let Some(other) = self.set.get(key) {
                if other.layer == setting.layer && setting.layer != Layer::Override {
                    return Err(decided_twice(setting, other));
                }
                self.set.remove(key);
            }
        }
        if setting.field.sets.is_empty() {
            self.set.insert(setting.field.key.clone(), setting.clone());
        }
        for key in &setting.field.sets {
            let field = self.schema.field(key).unwrap_or(&setting.field).clone();
            let expanded = Setting {
                field,
                ..setting.clone()
            };
            self.set.insert(key.as_str().into(), expanded);
        }
        Ok(())
    }

    /// Set the field `key` to this TOML value, as if the file set it.
    pub(crate) fn give(&mut self, key: &str, value: &str, origin: Origin) -> Result<(), Problem> {
        let field = self.schema.field(key).cloned();
        let (Some(field), Some(node)) = (field, parse_value(value, origin)) else {
            unreachable!("{value} is a value of the field {key}")
        };
        self.put(&Setting::read(&field, &node, Layer::File)?)
    }

    /// Store a value of a field. It replaces only an earlier value of the same field.
    pub(crate) fn keep(&mut self, setting: &Setting) {
        self.set.insert(setting.field.key.clone(), setting.clone());
    }

    /// Remove the value of the field `key`, so that its default applies.
    pub(crate) fn remove(&mut self, key: &str) {
        self.set.remove(key);
    }

    /// Return the value of the field `key` if it is set; `None` if only a default exists.
    pub fn given(&self, key: &str) -> Option<&Setting> {
        self.set.get(key)
    }

    /// Return the value of the field `key`: the value that is set, or else the default.
    fn setting(&self, key: &str) -> Option<&Setting> {
        self.set.get(key).or_else(|| self.schema.default(key))
    }

    /// Return the value of the field `key` as text, whether it is set or the default.
    pub fn words(&self, key: &str) -> Option<String> {
        self.setting(key).map(Setting::text)
    }

    /// Return the layer (default, file, override and so on) that sets the value of the field `key`.
    pub fn layer(&self, key: &str) -> Layer {
        self.given(key)
            .map_or(Layer::Default, |setting| setting.layer)
    }

    /// Return the origin of the field or table `key`, or else of the nearest table around it.
    pub fn origin(&self, key: &str) -> Origin {
        if let Some(setting) = self.set.get(key) {
            return setting.origin;
        }
        let mut tables = std::iter::successors(Some(key), |path| Some(path.rsplit_once('.')?.0));
        let table = tables.find_map(|path| self.tables.get(path));
        table.copied().unwrap_or(Origin::Whole)
    }

    /// Return a problem with the value of the field `key`.
    pub fn problem(
        &self,
        key: &str,
        problem: impl Into<String>,
        hint: impl Into<String>,
    ) -> Problem {
        Problem::new(key, self.origin(key), problem, hint)
    }

    /// Return whether `field` has an effect: its condition (certain values of another field) holds, and so do the
    /// conditions of that field.
    pub fn applies(&self, field: &Field) -> bool {
        self.violated_condition(field).is_none()
    }

    /// Return the violated condition because of which `field` has no effect; `None` if it has an effect. A condition
    /// requires certain words as the value of another field, the selector. Also return the selector's value, and the
    /// layer (default, file, override and so on) that sets it.
    fn violated_condition<'f>(&'f self, field: &'f Field) -> Option<(&'f Only, String, Layer)> {
        let only = field.only.as_ref()?;
        let selector = self.schema.field(&only.selector);
        if let Some(violated_condition) =
            selector.and_then(|selector| self.violated_condition(selector))
        {
            return Some(violated_condition);
        }
        let (word, layer) = self.word(&only.selector);
        (!only.choices.contains(&word.as_str())).then_some((only, word, layer))
    }

    /// Return the value of the field `key` as text, and the layer (default, file, override and so on) that
    /// sets it.
    fn word(&self, key: &str) -> (String, Layer) {
        let setting = self.setting(key);
        match setting.and_then(|own| Some((own.value.as_::<String>()?, own.layer))) {
            Some((word, layer)) => (word.clone(), layer),
            None => self.derived_word(key),
        }
    }

    /// Return the default value of the field `key` that follows from other fields, as text, and the layer that sets
    /// these fields. The text is empty if no default follows.
    fn derived_word(&self, key: &str) -> (String, Layer) {
        if let Some(Default::Following(following)) = self.schema.field(key).map(|f| &f.default) {
            let decided = |(leader, word): &(String, &'static str)| {
                Some((self.set.get(leader.as_str())?.layer, *word))
            };
            if let Some((layer, word)) = following.given.iter().find_map(decided) {
                return (word.to_owned(), layer);
            }
            let (leading, layer) = self.word(&following.selector);
            let mut words = following.words.iter();
            if let Some((_, word)) = words.find(|(leader, _)| *leader == leading) {
                return ((*word).to_owned(), layer);
            }
        }
        (String::new(), Layer::Default)
    }

    /// Return whether `field` has no effect because of an override.
    pub(crate) fn overruled(&self, field: &Field) -> bool {
        let violated_condition = self.violated_condition(field);
        violated_condition.is_some_and(|(_, _, layer)| layer == Layer::Override)
    }

    /// Check the fields whose keys `which` accepts: required fields must be set, and fields that are set must
    /// have an effect.
    pub(crate) fn check_fields(&self, which: impl Fn(&str) -> bool) -> Result<(), Problem> {
        for field in self.schema.fields().iter().filter(|f| which(&f.key)) {
            match self.set.get(&field.key) {
                Some(setting) => match self.violated_condition(field) {
                    // A value without effect is an error, except if a later layer has changed the field that the
                    // condition names.
                    Some((.., layer)) if layer > setting.layer => {}
                    Some((only, word, _)) => return Err(self.no_effect(field, only, &word)),
                    None => {}
                },
                None if field.default == Default::Required => self.check_present(field)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Return the error that `field` has no effect, because the field that its condition names has the value
    /// `word`.
    fn no_effect(&self, field: &Field, only: &Only, word: &str) -> Problem {
        let selector = &only.selector;
        let choices = alternatives(&only.choices);
        self.problem(
            &field.key,
            format!("it has no effect with {selector} = {}", shown(word)),
            format!("remove it, or set {selector} = {choices}"),
        )
    }

    /// Check that a required field is set if the field applies.
    fn check_present(&self, field: &Field) -> Result<(), Problem> {
        let absent = |table: &String| !self.has_table(table);
        if !self.applies(field) || field.within.as_ref().is_some_and(absent) {
            return Ok(());
        }
        let mut need = "it is missing".to_owned();
        if let Some(Only { selector, .. }) = &field.only {
            let word = shown(&self.text(selector));
            need.push_str(&format!(", and {selector} = {word} needs it"));
        }
        let (key, example) = (last(&field.key), field.example());
        let hint = format!("write, for example, {key} = {example}");
        Err(self.problem(&field.key, need, hint))
    }

    /// Return whether the optional table `path` is present in the file or its overrides.
    pub fn has_table(&self, path: &str) -> bool {
        self.tables.contains_key(path) || self.set.keys().any(|key| is_in(path, key))
    }
}

/// Access to values by their Rust type. The description of a field gives it one type, so a wrong type is a
/// bug in this crate, not an error in a file. A result is `None` only if the field has no value and no
/// default.
impl Settings {
    /// Return the value of the field `key`; `None` if it has no value.
    pub fn held_if_any<T: Description + Clone>(&self, key: &str) -> Option<T> {
        let value = &self.setting(key)?.value;
        let held = value.as_().cloned();
        Some(held.unwrap_or_else(|| wrong_type(key)))
    }

    /// Return the value, of any type, of the field `key`, which must have a value.
    pub(crate) fn value(&self, key: &str) -> &Value {
        self.setting(key)
            .map_or_else(|| missing_value(key), |setting| &setting.value)
    }

    /// Return the value of the field `key`, which must always have a value in complete settings.
    pub fn held<T: Description + Clone>(&self, key: &str) -> T {
        self.held_if_any(key).unwrap_or_else(|| missing_value(key))
    }

    /// Return the enum variant that the word of the field `key` names; `None` if the field has no value. The
    /// words of the field must be the names of the variants.
    pub fn variant_if_any<T: FromStr>(&self, key: &str) -> Option<T> {
        let word = self.text(key);
        (!word.is_empty()).then(|| word.parse().unwrap_or_else(|_| wrong_type(key)))
    }

    /// Return the enum variant that the word of the field `key` names. The field must always have a value in
    /// complete settings.
    pub fn variant<T: FromStr>(&self, key: &str) -> T {
        self.variant_if_any(key)
            .unwrap_or_else(|| missing_value(key))
    }

    /// Return the value of the field `key` as text. The value may be a word that follows from other fields.
    pub fn text(&self, key: &str) -> String {
        self.word(key).0
    }
}

/// Return the error that the file, or another layer, sets the same quantity twice.
fn decided_twice(setting: &Setting, other: &Setting) -> Problem {
    let key = &*setting.field.key;
    if key != &*other.field.key {
        let problem = format!("it is also decided by {}", other.field.key);
        return Problem::new(key, setting.origin, problem, "give one of the two");
    }
    let problem = match setting.layer {
        Layer::Axis => "two axes give it a value",
        _ => "it is given twice",
    };
    Problem::new(key, setting.origin, problem, "give it once")
}

/// Panic because the field `key` has another type than `T`.
fn wrong_type<T>(key: &str) -> T {
    unreachable!("the table gives {key} another type")
}

/// Panic because the field `key` has no value.
fn missing_value<T>(key: &str) -> T {
    unreachable!("{key} has neither value nor default after the check for completeness")
}
