use std::{fmt::Write, fs, path::Path};

/// The report is a file of the project: who reads it later sees what the last
/// test run wrote.
#[test]
fn report() {
    let mut report = String::new();
    for number in [1, 4, 9, 1994, 3999] {
        writeln!(report, "{number} {}", roman::to_roman(number).unwrap()).unwrap();
    }
    fs::write(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("report.txt"),
        report,
    )
    .unwrap();
}
