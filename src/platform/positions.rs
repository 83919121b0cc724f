//! Where the keys of a YAML text stand. Pure.
//!
//! A second decoding beside the typed one: the types stay free of positions, and only a file that is refused pays for
//! it.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned, with_deserializer_from_str};

use super::finding::Position;

/// The position of each key and of each member of a list, by its path: `images.starters.java.command[1]`.
#[derive(Debug, Default)]
pub(super) struct Positions(BTreeMap<String, Position>);

impl Positions {
    /// Those of `text`; none where it is no YAML.
    pub(super) fn in_text(text: &str) -> Self {
        let mut positions = BTreeMap::new();
        let root = Node { path: String::new(), positions: &mut positions };
        match with_deserializer_from_str(text, |deserializer| root.deserialize(deserializer)) {
            Ok(()) => Self(positions),
            Err(_) => Self::default(),
        }
    }

    /// The position of that path, or of the nearest one above it that the text holds.
    pub(super) fn nearest(&self, path: &str) -> Option<Position> {
        let mut path = path;
        loop {
            if let Some(position) = self.0.get(path) {
                return Some(*position);
            }
            path = path.get(..path.rfind(['.', '['])?)?;
        }
    }
}

impl Position {
    /// `None` for a location that the parser does not know.
    pub(super) fn at(location: Location) -> Option<Self> {
        let position = Self { line: location.line(), column: location.column() };
        (position.line > 0).then_some(position)
    }
}

/// Writes down the positions of everything below one value.
struct Node<'a> {
    path: String,
    positions: &'a mut BTreeMap<String, Position>,
}

impl Node<'_> {
    fn insert(&mut self, path: &str, location: Location) {
        if let Some(position) = Position::at(location) {
            self.positions.insert(path.to_owned(), position);
        }
    }

    fn below(&mut self, path: String) -> Node<'_> {
        Node { path, positions: self.positions }
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let dot = if self.path.is_empty() { "" } else { "." };
            let path = format!("{}{dot}{}", self.path, key.value);
            self.insert(&path, key.referenced);
            map.next_value_seed(self.below(path))?;
        }
        Ok(())
    }

    // No list of the file holds mappings, so nothing below a member has a path.
    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        let mut index = 0_usize;
        while let Some(member) = list.next_element::<Spanned<IgnoredAny>>()? {
            let path = format!("{}[{index}]", self.path);
            self.insert(&path, member.referenced);
            index += 1;
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
