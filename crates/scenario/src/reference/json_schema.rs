//! JSON Schema of scenario files. Editors use it to complete and check the files.
//!
//! The parser refuses everything that the schema refuses, with one exception: dotted keys in quotation marks
//! that are only a part of a key and stand within a table. The parser also checks conditions on the machine
//! as a whole and, in files with a sweep, conditions between fields. The schema does not.

use crate::fields::field::{Default, Field, Only};
use crate::fields::named::{ANY, ANY_IN_WORDS};
use crate::fields::registry::Formats;
use crate::fields::schema::Schema;
use crate::fields::tables::Form;
use crate::file::error::Origin;
use crate::file::setting::written;
use crate::file::tree::{last, parse_value};
use crate::reference::field_list::in_words;
use crate::sweep::axis;
use crate::sweep::failure_axis;
use crate::value::Choice;
use crate::value::json::NAME;
use serde_json::{Map, Value, json};
use std::sync::Arc;

impl Formats {
    /// Return the JSON Schema, draft 2020-12, of a scenario file.
    pub fn json_schema(&'static self) -> Value {
        let mut definitions = Map::new();
        for schema in self.schemas() {
            let of_file = OfFile {
                form: schema.form,
                rows: schema.rows_of_any().collect(),
                schemas: self.schemas(),
            };
            for row in &of_file.rows {
                let name = of_file.name_of(row);
                if row.sweepable() {
                    definitions.insert(axis_of(&name), axis(row, &refer_to(&name)));
                }
                definitions.insert(name, definition(row));
            }
            definitions.insert(
                schema.form.name.to_owned(),
                of_file.schema(&self.kind_field(), self.is_second(schema.form)),
            );
        }
        let forms = self.forms().map(|form| refer_to(form.name));
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Scenario of isthmus",
            // Use alternatives, which editors support; few support conditions.
            "oneOf": forms.collect::<Vec<_>>(),
            "$defs": definitions,
        })
    }
}

/// Builder of the JSON Schema of scenario files of one form (one kind of machine, with or without named
/// tables).
struct OfFile<'s> {
    form: &'s Form,
    rows: Vec<&'s Field>,
    /// The schemas of all forms of scenario files.
    schemas: &'s [Arc<Schema>],
}

impl OfFile<'_> {
    /// Return the name of a field's definition in the JSON Schema. It is the plain key if all forms of file
    /// have the same field.
    fn name_of(&self, row: &Field) -> String {
        let has = |schema: &Arc<Schema>| schema.field(&row.key).is_some_and(|f| **f == *row);
        if self.schemas.iter().all(has) {
            return row.key.to_string();
        }
        format!("{}.{}", self.form.name, row.key.replace(ANY, ANY_IN_WORDS))
    }

    /// Return the JSON Schema of files of this form. With `needs_tables`, a file must have named tables,
    /// since another form of the same kind covers files without them.
    fn schema(&self, kind_field: &Field, needs_tables: bool) -> Value {
        let form = self.form;
        let field = |row: &Field| refer_to(&self.name_of(row));
        let axis = |row: &Field| refer_to(&axis_of(&self.name_of(row)));
        let swept: Vec<&Field> = self
            .rows
            .iter()
            .copied()
            .filter(|row| row.sweepable())
            .collect();
        let mut variant = Table::of(&swept, field).with_whole_keys(&swept, field);
        variant
            .fields
            .push(("label".to_owned(), json!({"type": ["string", "number"]})));
        let mut sweep = Table::of(&swept, axis).with_whole_keys(&swept, axis);
        if let Some(faults) = form.tables.faults {
            let failures = failures(&faults.words);
            sweep.put(failure_axis::KEY, failures.clone());
            sweep.fields.push((failure_axis::KEY.to_owned(), failures));
        }
        let mut sweep = sweep.schema(form);
        sweep["patternProperties"][format!("^(?!(machine|workload)$){NAME}$")] = json!({
            "type": "array",
            "minItems": 1,
            "items": variant.schema(form),
        });
        let mut file = Table::of(&self.rows, field).schema(form);
        file["properties"]["sweep"] = sweep;
        file["required"] = json!(["version", "name", "machine"]);
        if let Some(named) = form.tables.named.filter(|_| needs_tables) {
            file["allOf"] = json!([present(named.table, &json!(true))]);
        }
        let machine = &mut file["properties"]["machine"];
        machine["required"] = json!(["kind"]);
        machine["properties"]["kind"] = json!({
            "description": format!("{}.", kind_field.meaning),
            "const": form.kind,
        });
        // Skip the conditions in files with a sweep: an axis may set a required field or a selector.
        file["if"] = json!({"required": ["sweep"]});
        file["else"] = json!({"allOf": conditions(form, &self.rows)});
        file
    }
}

/// Return the name of the JSON Schema definition of a sweep's axis over a field. The field's own definition is called
/// `name`.
fn axis_of(name: &str) -> String {
    format!("{name}.axis")
}

/// Return a JSON Schema that refers to the definition `name`.
fn refer_to(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

/// Return the JSON Schema of one field, with its description.
fn definition(row: &Field) -> Value {
    let mut schema = row.holds.info().json;
    let missing = match &row.default {
        Default::Derived(words) | Default::Absent(words) => Some((*words).to_owned()),
        Default::Following(following) => Some(in_words(following)),
        _ => None,
    };
    let mut description = format!("{}.", row.meaning);
    if let Some(missing) = missing {
        description.push_str(&format!(
            " If not given: {}.",
            missing.replace(ANY, ANY_IN_WORDS)
        ));
    }
    schema["description"] = description.into();
    schema["title"] = row.label.as_str().into();
    if let Default::Value(text) = row.default
        && let Some(value) = default(text)
    {
        schema["default"] = value;
    }
    schema
}

/// Return the JSON Schema of a sweep's axis over a field.
fn axis(row: &Field, field: &Value) -> Value {
    let mut range = json!({
        "type": "object",
        "properties": {"from": field, "to": field},
        "required": ["from", "to"],
        "additionalProperties": false,
    });
    for option in axis::range() {
        range["properties"][last(&option.key)] = option.holds.info().json;
    }
    let mut forms = vec![
        json!({"type": "array", "items": field, "minItems": 1}),
        range,
    ];
    let words = row.holds.info().axis_words;
    if !words.is_empty() {
        forms.push(json!({"enum": words}));
    }
    json!({"anyOf": forms})
}

/// Return the JSON Schema of a sweep's axis over failures of parts of the machine.
fn failures(words: &'static Choice) -> Value {
    let options = failure_axis::options(words);
    let options = options
        .iter()
        .map(|row| (last(&row.key).to_owned(), definition(row)));
    let options: Map<String, Value> = options.collect();
    json!({
        "description": format!("{}.", failure_axis::MEANING),
        "anyOf": [
            {"enum": words.0},
            {
                "type": "object",
                "properties": options,
                "minProperties": 1,
                "additionalProperties": false,
            },
        ],
    })
}

/// Convert the default value of a field from TOML text to JSON; `None` if the text is not a TOML value.
fn default(text: &str) -> Option<Value> {
    let node = parse_value(text, Origin::Whole)?;
    serde_json::to_value(written(&node)).ok()
}

/// Builder of the JSON Schema of a table: its fields and subtables.
#[derive(Default)]
struct Table {
    /// JSON Schemas of the fields, by name of the field.
    fields: Vec<(String, Value)>,
    /// JSON Schemas of the fields whose names match a regular expression.
    patterns: Vec<(String, Value)>,
    /// Builders of the subtables, by name of the table.
    tables: Vec<(String, Table)>,
}

impl Table {
    /// Return the builder of the table that contains the fields `rows`, with its subtables. The function `of`
    /// returns the JSON Schema of a field.
    fn of(rows: &[&Field], of: impl Fn(&Field) -> Value) -> Self {
        let mut root = Self::default();
        for row in rows {
            root.put(&row.key, of(row));
        }
        root
    }

    /// Add a field to the subtable to which its dotted key belongs.
    fn put(&mut self, key: &str, field: Value) {
        let Some((part, rest)) = key.split_once('.') else {
            self.fields.push((key.to_owned(), field));
            return;
        };
        let at = self.tables.iter().position(|(name, _)| name == part);
        let at = at.unwrap_or_else(|| {
            self.tables.push((part.to_owned(), Self::default()));
            self.tables.len() - 1
        });
        self.tables[at].1.put(rest, field);
    }

    /// Also accept the fields under their whole dotted keys in quotation marks.
    fn with_whole_keys(mut self, rows: &[&Field], of: impl Fn(&Field) -> Value) -> Self {
        for row in rows {
            if row.key.contains(ANY) {
                let key = row.key.replace('.', r"\.").replace(ANY, NAME);
                self.patterns.push((format!("^{key}$"), of(row)));
            } else {
                self.fields.push((row.key.to_string(), of(row)));
            }
        }
        self
    }

    /// Return the JSON Schema of the table.
    fn schema(self, form: &Form) -> Value {
        let mut properties: Map<String, Value> = self.fields.into_iter().collect();
        let mut patterns: Map<String, Value> = self.patterns.into_iter().collect();
        let mut schema = json!({"type": "object", "additionalProperties": false});
        for (name, table) in self.tables {
            let table = table.schema(form);
            if name == ANY {
                patterns.insert(format!("^{NAME}$"), table);
                if let Some(named) = &form.tables.named {
                    schema["propertyNames"] = json!({"not": {"enum": named.taken}});
                    schema["maxProperties"] = named.most.into();
                }
            } else if let Some(short) = properties.remove(&name) {
                properties.insert(name, json!({"anyOf": [short, table]}));
            } else {
                properties.insert(name, table);
            }
        }
        schema["properties"] = properties.into();
        if !patterns.is_empty() {
            schema["patternProperties"] = patterns.into();
        }
        schema
    }
}

/// Return JSON Schemas that require or exclude fields depending on other fields, for files without a sweep.
fn conditions(form: &Form, rows: &[&Field]) -> Vec<Value> {
    let (named, fixed): (Vec<&Field>, Vec<&Field>) =
        rows.iter().partition(|row| row.key.contains(ANY));
    let mut conditions = conditions_of(form, &fixed, "");
    if let Some(table) = &form.tables.named {
        let path = format!("{}.{ANY}.", table.table);
        let each = json!({"additionalProperties": {"allOf": conditions_of(form, &named, &path)}});
        conditions.push(present(table.table, &each));
    }
    conditions
}

/// Return JSON Schemas that require or exclude fields whose keys begin with `path`, depending on other fields.
fn conditions_of(form: &Form, rows: &[&Field], path: &str) -> Vec<Value> {
    let any = json!(true);
    let below = |key: &str| key.strip_prefix(path).unwrap_or(key).to_owned();
    let given = |key: &str| present(&below(key), &any);
    let preset = form.tables.presets.map(|presets| given(presets.key));
    let mut conditions = Vec::new();
    for row in rows {
        let mut needs = Vec::new();
        let mut when = Vec::new();
        if let Some(only) = &row.only {
            let selector = rows.iter().find(|other| *other.key == *only.selector);
            let stated = selector.and_then(|selector| match selector.default {
                Default::Value(text) => default(text),
                _ => None,
            });
            let (holds, contradicts) = words(only, &below(&only.selector));
            conditions.push(json!({"if": given(&row.key), "then": {"not": contradicts}}));
            let unless_given = preset.iter().cloned().chain([given(&only.selector)]);
            let unless_given: Vec<Value> = unless_given.collect();
            let by_default = stated.map(|word| only.choices.iter().any(|choice| word == *choice));
            match by_default {
                Some(true) => when.push(json!({
                    "anyOf": [holds, {"not": {"anyOf": unless_given}}],
                })),
                Some(false) => {
                    needs.push(json!({"anyOf": unless_given}));
                    when.push(holds);
                }
                None => when.push(holds),
            }
        }
        if !needs.is_empty() {
            conditions.push(json!({"if": given(&row.key), "then": {"allOf": needs}}));
        }
        if row.default == Default::Required {
            when.extend(row.within.as_deref().map(given));
            conditions.push(json!({"if": {"allOf": when}, "then": given(&row.key)}));
        }
        for other in row
            .alternatives
            .iter()
            .filter(|other| *other.as_str() > *row.key)
        {
            let both = [given(&row.key), given(other)];
            conditions.push(json!({"not": {"allOf": both}}));
        }
    }
    for condition in &mut conditions {
        if condition["if"]["allOf"]
            .as_array()
            .is_some_and(Vec::is_empty)
        {
            *condition = condition["then"].take();
        }
    }
    conditions
}

/// Return two JSON Schemas about the field `selector` of a table: it has one of the words of the condition `only`; it
/// has another word.
fn words(only: &Only, selector: &str) -> (Value, Value) {
    let words = json!({"enum": only.choices});
    let others = json!({"not": words});
    (present(selector, &words), present(selector, &others))
}

/// Return the JSON Schema of a table in which the field `key` is present and matches `held`.
fn present(key: &str, held: &Value) -> Value {
    let (first, rest) = match key.split_once('.') {
        Some((first, rest)) => (first, present(rest, held)),
        None => (key, held.clone()),
    };
    json!({"type": "object", "required": [first], "properties": {first: rest}})
}
