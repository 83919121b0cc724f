//! `$(NAME)` in the value of a variable, as the kubelet reads it (`third_party/forked/golang/expansion`). Pure.

use super::names;
use crate::platform::GO_MEM_LIMIT;
use egapp_api::v1alpha1::EnvVar;

/// Variables of the operator's whose values only the kubelet knows, so that no value can be joined with them.
pub const FROM_THE_POD: [&str; 2] = [names::POD_NAME, GO_MEM_LIMIT];

/// A part of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'a> {
    /// Stands for itself.
    Text(&'a str),
    /// Stands for the value of the variable of that name.
    Reference(&'a str),
}

/// Names of the variables that a value refers to.
pub fn references(value: &str) -> impl Iterator<Item = &str> {
    pieces(value).into_iter().filter_map(|piece| match piece {
        Piece::Reference(name) => Some(name),
        Piece::Text(_) => None,
    })
}

/// Whether the value of a variable refers to the variable itself.
#[must_use]
pub fn refers_to_itself(variable: &EnvVar) -> bool {
    variable.value.iter().flat_map(|value| references(value)).any(|name| name == variable.name)
}

/// The value of the variable `name` with `former`, which it replaces, wherever it refers to itself.
#[must_use]
pub fn joined(name: &str, value: &str, former: &str) -> String {
    let former = || {
        pieces(former).into_iter().map(|piece| match piece {
            // It found no variable of the name before itself either.
            Piece::Reference(itself) if itself == name => format!("$$({name})"),
            piece @ (Piece::Text(_) | Piece::Reference(_)) => written(piece),
        })
    };
    let pieces = pieces(value).into_iter().map(|piece| match piece {
        Piece::Reference(itself) if itself == name => former().collect(),
        piece @ (Piece::Text(_) | Piece::Reference(_)) => written(piece),
    });
    pieces.collect()
}

/// The piece in a form that means the same whatever stands beside it.
fn written(piece: Piece<'_>) -> String {
    match piece {
        Piece::Text(text) => text.replace('$', "$$"),
        Piece::Reference(name) => format!("$({name})"),
    }
}

fn pieces(mut value: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    while let Some((text, rest)) = value.split_once('$') {
        pieces.push(Piece::Text(text));
        let (piece, rest) = if let Some(rest) = rest.strip_prefix('$') {
            (Piece::Text("$"), rest)
        } else if let Some((name, rest)) = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            (Piece::Reference(name), rest)
        } else {
            (Piece::Text("$"), rest)
        };
        pieces.push(piece);
        value = rest;
    }
    pieces.push(Piece::Text(value));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(value: &str) -> Vec<&str> {
        references(value).collect()
    }

    #[test]
    fn references_are_found_as_the_kubelet_finds_them() {
        assert_eq!(found("$(A) x$(B)$(C)"), ["A", "B", "C"]);
        assert_eq!(found("$$(A) $$$(B) $ (C) $(D"), ["B"]);
        assert_eq!(found("$($(A) $() a$"), ["$(A", ""]);
    }

    #[test]
    fn a_value_is_joined_with_the_one_that_it_replaces_and_with_nothing_that_stands_beside_it() {
        assert_eq!(joined("A", "$(A) -Dx=$(B)", "-server"), "-server -Dx=$(B)");
        assert_eq!(joined("A", "$$(A) $(A)", "$(C)"), "$$(A) $(C)");
        assert_eq!(joined("A", "$(A)(B) c)", "1$"), "1$$(B) c)", "no new reference comes about");
        assert_eq!(joined("A", "$(A) c)", "$(b"), "$$(b c)");
        assert_eq!(joined("A", "<$(A)>", "$(A)"), "<$$(A)>");
    }
}
