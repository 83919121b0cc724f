//! Kubernetes quantities, as far as their amounts must be known or compared. Pure.
//!
//! Grammar and rounding: `k8s.io/apimachinery/pkg/api/resource.Quantity` (decimal and binary suffixes, exponents,
//! rounding up). The API server stores thousandths at the finest for what we compare.

/// Whether two quantities mean the same amount (`500m` = `0.5`, `1Gi` = `1024Mi`). Texts that are no quantities are
/// equal only to themselves.
#[must_use]
pub fn is_equal(a: &str, b: &str) -> bool {
    a == b || parse_milli(a).is_some_and(|amount| Some(amount) == parse_milli(b))
}

/// The amount in thousandths, rounded up; `None` where the text is no quantity or is too large.
#[must_use]
pub fn parse_milli(text: &str) -> Option<i128> {
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-'))).unwrap_or(text.len());
    let (number, suffix) = text.split_at_checked(end)?;
    let (base, exponent) = scale(suffix)?;
    let (digits, decimals) = parse_decimal(number)?;
    let factor = i128::from(base).checked_pow(exponent.unsigned_abs())?;
    let divisor = 10_i128.checked_pow(decimals)?;
    let (numerator, divisor) = if exponent >= 0 {
        (digits.checked_mul(factor)?.checked_mul(1000)?, divisor)
    } else {
        (digits.checked_mul(1000)?, divisor.checked_mul(factor)?)
    };
    Some(numerator.div_euclid(divisor) + i128::from(numerator.rem_euclid(divisor) != 0))
}

/// The digits as one number, and how many of them stand behind the point.
fn parse_decimal(number: &str) -> Option<(i128, u32)> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let decimals = u32::try_from(fraction.len()).ok()?;
    let digits = format!("{whole}{fraction}").parse().ok()?;
    Some((digits, decimals))
}

/// Base and exponent of a suffix.
fn scale(suffix: &str) -> Option<(u32, i32)> {
    let known = match suffix {
        "" => (10, 0),
        "n" => (10, -9),
        "u" => (10, -6),
        "m" => (10, -3),
        "k" => (10, 3),
        "M" => (10, 6),
        "G" => (10, 9),
        "T" => (10, 12),
        "P" => (10, 15),
        "E" => (10, 18),
        "Ki" => (2, 10),
        "Mi" => (2, 20),
        "Gi" => (2, 30),
        "Ti" => (2, 40),
        "Pi" => (2, 50),
        "Ei" => (2, 60),
        exponent => (10, exponent.strip_prefix(['e', 'E'])?.parse().ok()?),
    };
    Some(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_compared_by_value() {
        let same = [
            ("0.5", "500m"),
            ("1", "1000m"),
            ("1Gi", "1024Mi"),
            ("1k", "1000"),
            ("1e3", "1k"),
            ("0.0005", "1m"),
        ];
        for (a, b) in same {
            assert!(is_equal(a, b), "{a} = {b}");
        }
        let other = [("1G", "1Gi"), ("500m", "5"), ("1Ki", "1k"), ("", "0"), ("abc", "1")];
        for (a, b) in other {
            assert!(!is_equal(a, b), "{a} != {b}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in ["", "Gi", "1 Gi", "1.2.3", "--1", "1mi", "e3", "1e", "1e99999", "\u{663}"] {
            assert_eq!(parse_milli(text), None, "{text:?}");
        }
    }
}
