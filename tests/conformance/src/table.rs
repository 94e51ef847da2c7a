//! The table of known differences, as a document has it.

use crate::story::Fact;

/// A row of the table: what a server does instead of what S3 does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The server.
    pub server: String,
    /// The story.
    pub story: String,
    /// The fact.
    pub what: String,
    /// What S3 does.
    pub expected: String,
    /// What the server does.
    pub seen: String,
}

/// The rows of the table in a Markdown document: those with six cells, of which the second names a story.
pub fn differences(document: &str) -> Vec<Difference> {
    let rows = document.lines().filter_map(|line| {
        let cells = line.trim().strip_prefix('|')?.strip_suffix('|')?;
        let cells: Vec<&str> = cells
            .split('|')
            .map(|cell| cell.trim().trim_matches('`'))
            .collect();
        let [server, story, what, expected, seen, _why] = cells.as_slice() else {
            return None;
        };
        crate::STORIES.contains(story).then(|| Difference {
            server: (*server).to_owned(),
            story: (*story).to_owned(),
            what: (*what).to_owned(),
            expected: (*expected).to_owned(),
            seen: (*seen).to_owned(),
        })
    });
    rows.collect()
}

/// What in the table and what was seen don't fit together: differences that no row explains, rows that don't show any more or that were
/// written for something else. Each is a line for people; for a new difference it is the row that the table lacks.
pub fn compare(server: &str, facts: &[Fact], table: &[Difference]) -> Vec<String> {
    let mut wrong = Vec::new();
    let rows: Vec<&Difference> = table.iter().filter(|row| row.server == server).collect();
    for fact in facts {
        let row = rows
            .iter()
            .find(|row| row.story == fact.story && row.what == fact.what);
        let differs = fact.seen != fact.expected;
        let (story, what, expected, seen) = (fact.story, fact.what, &fact.expected, &fact.seen);
        match row {
            None if differs => wrong.push(format!("| {server} | `{story}` | {what} | {expected} | {seen} | ? |")),
            Some(_) if !differs => wrong.push(format!(
                "{server}: {story}: {what}: {seen}, as S3 does; the table says {:?}",
                row.map(|row| &row.seen)
            )),
            Some(row) if row.seen != *seen || row.expected != *expected => wrong.push(format!(
                "{server}: {story}: {what}: {seen:?} in place of {expected:?}; the table has {:?} in place of {:?}",
                row.seen, row.expected
            )),
            _ => {}
        }
    }
    for row in rows {
        let told = facts
            .iter()
            .any(|fact| fact.story == row.story && fact.what == row.what);
        if !told {
            wrong.push(format!(
                "{server}: {}: {}: no story says this",
                row.story, row.what
            ));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
| server | story | what | S3 | there | why |
| --- | --- | --- | --- | --- | --- |
| Ceph | `a_put_if_absent` | over what is visible | 412 PreconditionFailed | ok | it ignores it |
";

    fn fact(seen: &str) -> Fact {
        Fact {
            story: "a_put_if_absent",
            what: "over what is visible",
            expected: "412 PreconditionFailed".to_owned(),
            seen: seen.to_owned(),
        }
    }

    #[test]
    fn each_difference_has_its_row_and_each_row_its_difference() {
        let table = differences(TABLE);
        assert_eq!(table.len(), 1);
        assert_eq!(compare("Ceph", &[fact("ok")], &table), [""; 0]);
        // Ceph mends it; or does something else; or the story is told no more.
        assert_eq!(
            compare("Ceph", &[fact("412 PreconditionFailed")], &table).len(),
            1
        );
        assert_eq!(compare("Ceph", &[fact("500")], &table).len(), 1);
        assert_eq!(compare("Ceph", &[], &table).len(), 1);
        // The row isn't for others.
        let of_other = compare("MiniStack", &[fact("ok")], &table);
        assert_eq!(
            of_other,
            ["| MiniStack | `a_put_if_absent` | over what is visible | 412 PreconditionFailed | ok | ? |"]
        );
        assert_eq!(
            compare("MiniStack", &[fact("412 PreconditionFailed")], &table),
            [""; 0]
        );
    }
}
