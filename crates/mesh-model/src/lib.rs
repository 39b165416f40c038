//! The nouns of mesh: names, keys, manifests, descriptions, placeholders, plans, refusals and wire shapes.
