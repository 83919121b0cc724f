//! Sentences on one line, of a length that fits where they go. Pure.
//!
//! Names, values and answers of others have any length and any character, and are quoted in what people read.

/// Characters of a whole message: an eighth of what a condition takes, and more than anybody reads.
pub const WHOLE: usize = 4096;

/// Characters of what somebody else says within a message: the advice behind it has room.
pub const QUOTED: usize = 1024;

/// `text` on one line, without characters that move or hide what stands beside them, cut to `longest` characters.
#[must_use]
pub fn line(text: &str, longest: usize) -> String {
    let mut line = String::with_capacity(text.len().min(longest));
    for (count, letter) in visible(text.trim()).enumerate() {
        if count == longest {
            line.push('…');
            break;
        }
        line.push(letter);
    }
    line
}

/// The letters of `text`, with one space for each run of others.
fn visible(text: &str) -> impl Iterator<Item = char> {
    let mut before = ' ';
    text.chars().filter_map(move |letter| {
        let shown = if is_hidden(letter) { ' ' } else { letter };
        let is_kept = !is_hidden(letter) || before != ' ';
        before = if is_kept { shown } else { before };
        is_kept.then_some(shown)
    })
}

/// Control characters, line breaks beside them, and what turns the direction of text.
fn is_hidden(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_becomes_one_line() {
        assert_eq!(line("no\r\n  such\thost\n", 100), "no   such host");
        assert_eq!(line("Foo\u{1b}[2J\u{9b}2J \u{202e}bar\u{2028}", 100), "Foo [2J 2J bar");
        assert_eq!(line("as it  is: ä", 100), "as it  is: ä");
    }

    #[test]
    fn it_is_cut_by_characters_and_says_so() {
        assert_eq!(line(&"ä".repeat(5), 5), "ä".repeat(5));
        assert_eq!(line(&"ä".repeat(6), 5), format!("{}…", "ä".repeat(5)));
    }
}
