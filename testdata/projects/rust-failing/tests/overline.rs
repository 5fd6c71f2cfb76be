#[test]
fn writes_large_numbers_with_overlines() {
    assert_eq!(
        roman::to_roman(5000).as_deref(),
        Some("V\u{305}"),
        "overlines are not written yet"
    );
}
