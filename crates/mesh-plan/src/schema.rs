//! JSON Schema of the two kinds of file, for editors: made from the table of [`crate::shape`], so that it knows exactly the
//! keys that the reader does.
//!
//! It says less than planning refuses: whether a name is declared, or a need can be met, no schema can tell.

use serde_json::{Map, Value, json};

use crate::shape::{MANIFEST, MESH, Place, Shape};

/// The dialect that editors read.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The schema of `mesh.yaml`.
#[must_use]
pub fn mesh() -> Value {
    whole(&MESH, "A mesh description", &["mesh"])
}

/// The schema of a `module.yaml`.
#[must_use]
pub fn manifest() -> Value {
    whole(&MANIFEST, "A module's manifest", &["module"])
}

fn whole(place: &Place, title: &str, required: &[&str]) -> Value {
    let mut schema = of_place(place);
    schema.insert("$schema".to_owned(), json!(DIALECT));
    schema.insert("title".to_owned(), json!(title));
    schema.insert("required".to_owned(), json!(required));
    Value::Object(schema)
}

fn of_place(place: &Place) -> Map<String, Value> {
    let keys = place.keys.iter().map(|key| {
        let mut schema = of(&key.holds);
        schema.insert("description".to_owned(), json!(key.about));
        (key.name.to_owned(), Value::Object(schema))
    });
    let keys: Map<String, Value> = keys.collect();
    // An empty place says nothing, as an empty map does.
    let schema = json!({"type": ["object", "null"], "additionalProperties": false, "properties": keys});
    object(schema)
}

fn of(shape: &Shape) -> Map<String, Value> {
    let text = json!(["string", "number", "boolean"]);
    object(match shape {
        Shape::Text => json!({"type": text}),
        Shape::Any => json!({"type": ["string", "number", "boolean", "array"], "items": {"type": text}}),
        Shape::Boolean => json!({"type": "boolean"}),
        Shape::Integer(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
        Shape::Port => {
            let placeholder = json!({"type": "string", "pattern": "\\$\\{config\\..+\\}"});
            json!({"anyOf": [{"const": "auto"}, {"type": "integer", "minimum": 1, "maximum": 65535}, placeholder]})
        }
        Shape::Word(words) => json!({"enum": words}),
        Shape::Place(place) => return of_place(place),
        Shape::Named(value) => json!({"type": ["object", "null"], "additionalProperties": of(value)}),
        Shape::List(item) => json!({"type": ["array", "null"], "items": of(item)}),
        Shape::OneOrMore(item) => json!({"anyOf": [of(item), {"type": "array", "items": of(item)}]}),
    })
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every key of every place, with what it is for.
    fn keys(schema: &Value, path: &str, out: &mut Vec<String>) {
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            assert!(!inner["description"].as_str().unwrap_or_default().is_empty(), "{path}.{name}");
            out.push(format!("{path}.{name}"));
            keys(inner, &format!("{path}.{name}"), out);
        }
        for below in ["additionalProperties", "items"] {
            if schema[below].is_object() {
                keys(&schema[below], path, out);
            }
        }
    }

    #[test]
    fn the_schema_knows_every_key_and_what_it_is_for() {
        let mut all = Vec::new();
        keys(&mesh(), "mesh", &mut all);
        keys(&manifest(), "module", &mut all);
        for key in [
            "mesh.nodes.address",
            "module.run.prepare.creates",
            "module.provides.gives.from",
            "module.run.stop_signal",
        ] {
            assert!(all.iter().any(|known| known == key), "{key} is not in {all:?}");
        }
        assert_eq!(manifest()["properties"]["ports"]["additionalProperties"]["anyOf"][0]["const"], "auto");
    }
}
