//! Roman numerals.

const SYMBOLS: [(u16, &str); 13] = [
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
];

/// Writes a number from 1 to 3999 as a Roman numeral; there is none for others.
pub fn to_roman(number: u16) -> Option<String> {
    if !(1..=3999).contains(&number) {
        return None;
    }
    let mut rest = number;
    let mut numeral = String::new();
    for (value, symbol) in SYMBOLS {
        while rest >= value {
            numeral.push_str(symbol);
            rest -= value;
        }
    }
    Some(numeral)
}

#[cfg(test)]
mod tests {
    use super::to_roman;

    #[test]
    fn subtracts_where_romans_did() {
        assert_eq!(to_roman(1994).as_deref(), Some("MCMXCIV"));
        assert_eq!(to_roman(3888).as_deref(), Some("MMMDCCCLXXXVIII"));
    }

    #[test]
    fn has_no_numeral_beyond_its_range() {
        assert_eq!(to_roman(0), None);
        assert_eq!(to_roman(4000), None);
    }
}
